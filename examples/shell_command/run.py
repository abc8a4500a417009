"""A shell script as the simulator: parameters on its command line, outcomes found in what it prints."""

from pathlib import Path

import lcbo

if __name__ == "__main__":
    simulate = lcbo.Command(
        run=["./simulate.sh", "{{ width:.6f }}", "{{ height:.6f }}"],
        files=["simulate.sh"],  # copied into the working directory of every evaluation
        patterns={
            "weight": r"weight = (\S+)",
            "stress": r"stress = (\S+)",
            "deflection": r"deflection = (\S+)",
        },
        folder=Path(__file__).parent,
        workdir=str(Path.cwd() / "evaluations"),
    )
    result = lcbo.minimize(
        simulate,
        bounds={"width": (0.02, 0.2), "height": (0.05, 0.4)},
        constraints=["stress <= 120", "deflection <= 5"],
        objective="weight",
        budget=40,
        deterministic=True,
        timeout=60,  # seconds for one evaluation
    )
    print(result.message)
    print(f"weight {result.fun:.2f} kg, stress {result.constr['stress']:.1f} MPa")
    print(f"width {result.x[0]:.4f} m, height {result.x[1]:.4f} m")
