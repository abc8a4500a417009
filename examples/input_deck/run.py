"""A solver with an input deck: a template is filled in, the outcomes are found in its listing."""

import sys
from pathlib import Path

import lcbo

if __name__ == "__main__":
    solve = lcbo.Command(
        run=[sys.executable, "solver.py", "frame.inp"],
        templates={"frame.inp": "frame.inp"},  # file to write: template beside this script
        files=["solver.py"],
        output="frame.out",
        patterns={  # the last match counts: the drift of the last iteration
            "mass": r"TOTAL MASS\s*=\s*(\S+)",
            "stress": r"MAXIMUM STRESS\s*=\s*(\S+)",
            "drift": r"DRIFT =\s*(\S+)",
        },
        folder=Path(__file__).parent,
        workdir=str(Path.cwd() / "evaluations"),
    )
    result = lcbo.minimize(
        solve,
        bounds={name: (5e-4, 3e-3) for name in ("A1", "A2", "A3")},
        constraints=["stress <= 160e6", "drift <= 6.0"],
        objective="mass",
        budget=80,
        deterministic=True,
    )
    print(result.message)
    print(f"mass {result.fun:.2f} kg, drift {result.constr['drift']:.3f} mm")
    print("areas", *(f"{area * 1e4:.2f} cm^2" for area in result.x))
