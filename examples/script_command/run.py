"""A Python script as the simulator, in two worker processes: JSON in, JSON out, and it may fail."""

import sys
from pathlib import Path

import lcbo

if __name__ == "__main__":
    simulate = lcbo.Command(
        run=[sys.executable, "simulate.py"],
        files=["simulate.py"],
        output="outcomes.json",  # parameters.json is written unless something else takes the parameters
        folder=Path(__file__).parent,
        workdir=str(Path.cwd() / "evaluations"),
        keep="failed",  # the files of failed evaluations stay
    )
    result = lcbo.minimize(
        simulate,
        bounds={"outer": (0.02, 0.2), "wall": (0.001, 0.04)},
        constraints=["stress <= 180", "buckling >= 2"],
        objective="mass",
        budget=40,
        deterministic=True,
        workers=2,
        timeout=60,
    )
    print(result.message)
    print(f"{result.nfail} of {result.nfev} evaluations failed")
    for reason in sorted({text.splitlines()[0] for text in result.history.failed if text}):
        print("  ", reason)
    print(f"mass {result.fun:.2f} kg, buckling factor {result.constr['buckling']:.2f}")
