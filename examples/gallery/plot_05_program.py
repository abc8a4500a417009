"""
A program with an input deck
============================

The simulator is a program: it reads a deck with numbers in fixed columns and writes a listing. A template is
filled in, the program runs in a directory of its own, and patterns find the outcomes in the listing. All
files are written here, so that this page is complete; :doc:`/howto/program` tells it slowly.
"""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import lcbo

folder = Path(tempfile.mkdtemp())
(folder / "frame.inp").write_text("""** portal frame, areas in columns 11-20 (m^2)
SECTION   {{ left:10.4E }}
SECTION   {{ beam:10.4E }}
SECTION   {{ right:10.4E }}
LOAD      1.2000E+05
END
""")
(folder / "solver.py").write_text("""
import sys
cards = [line for line in open(sys.argv[1]) if not line.startswith("**")]
areas = [float(card[10:20]) for card in cards if card.startswith("SECTION")]
load = next(float(card[10:20]) for card in cards if card.startswith("LOAD"))
members = list(zip(areas, (3.0, 4.0, 3.0), (0.7, 1.0, 0.5)))
with open("frame.out", "w") as out:
    print("TOTAL MASS     =", sum(7850 * a * l for a, l, _ in members), file=out)
    print("MAXIMUM STRESS =", max(share * load / a for a, _, share in members) / 1e6, file=out)
    print("DRIFT          =", sum(s * load * l / (2.1e11 * a) for a, l, s in members) * 1e3, file=out)
""")

# %%
# What you would type, the template, what to copy, where the outcomes are:

solve = lcbo.Command(
    run=[sys.executable, "solver.py", "frame.inp"],
    templates={"frame.inp": "frame.inp"},
    files=["solver.py"],
    output="frame.out",
    patterns={
        "mass": r"TOTAL MASS\s*=\s*(\S+)",
        "stress": r"MAXIMUM STRESS\s*=\s*(\S+)",
        "drift": r"DRIFT\s*=\s*(\S+)",
    },
    folder=folder,
    workdir=str(folder / "evaluations"),
)
result = lcbo.minimize(
    solve,
    bounds={name: (5e-4, 3e-3) for name in ("left", "beam", "right")},
    constraints=["stress <= 160", "drift <= 6"],
    objective="mass",
    budget=40,
    deterministic=True,
    progress=False,
)
print(result.message)
print(f"mass {result.fun:.2f} kg,", *(f"{name} {value:.3f}" for name, value in result.constr.items()))

# %%
# The frame with its members drawn as thick as they are, and every run of the program.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
corners = np.array([(0, 0), (0, 3), (4, 3), (4, 0)])
box = {"facecolor": "white", "edgecolor": "0.7", "boxstyle": "round"}
for i, area in enumerate(result.x):
    left.plot(*corners[i : i + 2].T, color="#1f6fb4", lw=area * 6e3, solid_capstyle="round")
    left.annotate(
        f"{area * 1e4:.1f} cm²", corners[i : i + 2].mean(axis=0), ha="center", va="center", bbox=box
    )
left.set(xlim=(-0.8, 4.8), ylim=(-0.4, 3.6), aspect="equal", title="areas of the answer")
left.axis("off")
history = result.history
right.plot(history.outcomes["mass"], ".", color="0.7", label="evaluated")
right.step(range(len(history)), history.best_feasible, color="#1f6fb4", where="post", label="best feasible")
right.set(xlabel="runs of the program", ylabel="mass [kg]", title="every run")
right.legend(frameon=False)
plt.show()
