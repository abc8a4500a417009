"""The 25-bar truss: minimize its weight, print the design and draw it (`make demo`)."""

import argparse
from pathlib import Path

import lcbo

parser = argparse.ArgumentParser(description="Minimize the weight of the 25-bar truss and show the design.")
parser.add_argument("--out", type=Path, default=Path(), help="folder for the two pictures")
parser.add_argument("--budget", type=int, default=1000, help="evaluations in all")
arguments = parser.parse_args()

problem = lcbo.problems.make("truss25")
limits = " and ".join(map(str, problem.constraints))
print(f"25-bar truss: {problem.dim} areas, {problem.objective}, subject to {limits}.")
result = lcbo.minimize(problem, budget=arguments.budget)

areas = [f"{name:<5}{value:.4f}" for name, value in zip(problem.variables, result.x, strict=True)]
for first in range(0, len(areas), 5):
    print("  ".join(areas[first : first + 5]))
print(f"{'constraint':<13}  {'value':>11}  {'slack':>8}  {'multiplier':>10}")
for constraint in problem.constraints:
    value, multiplier = result.constr[constraint.name], result.multipliers.get(constraint.name, 0.0)
    slack, verdict = constraint.slack(value), "holds" if constraint.holds(value) else "violated"
    print(f"{constraint!s:<13}  {value:>11.6g}  {slack:>8.4g}  {multiplier:>10.4g}  {verdict}")
print(f"{problem.objective.name} = {result.fun:.6g} after {result.nfev} evaluations. {result.message}")

arguments.out.mkdir(parents=True, exist_ok=True)
convergence, design = (arguments.out / f"truss25-{name}.png" for name in ("convergence", "design"))
lcbo.plot_convergence(result, convergence, reference=problem.best_known.value, label="weight [lb]")
problem.plot(result.x, design)
print(f"Pictures: {convergence} and {design}")
