"""
A hundred variables, forty limits
=================================

A water network: 100 pipes from a reservoir to 40 customers. Each pipe has a diameter to choose, thicker ones
cost more, and every customer must get enough pressure. One "simulation" returns the cost and the pressure
drop at all 40 customers: 41 models at once.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import lcbo

# A tree drawn at random: every new node hangs on the nearest one that has room; 40 leaves are customers.
rng = np.random.default_rng(3)
points, parent = [np.zeros(2)], [0]
while len(points) < 101:
    place = rng.uniform(-1, 1, 2)
    room = [i for i in range(len(points)) if parent.count(i) < 3]
    nearest = min(room, key=lambda i: float(np.linalg.norm(points[i] - place)))
    points.append(place)
    parent.append(nearest)
nodes, parent = np.array(points), np.array(parent)
leaves = [i for i in range(101) if i not in parent[1:]][:40]
paths = [[] for _ in leaves]
for path, leaf in zip(paths, leaves, strict=True):
    while leaf:
        path.append(leaf - 1)
        leaf = parent[leaf]
flow = np.array([sum(pipe in path for path in paths) for pipe in range(100)]) + 0.2
length = np.linalg.norm(nodes[1:] - nodes[parent[1:]], axis=1)


def simulate(x):
    """Cost of the pipes and pressure drop at every customer."""
    drop = 0.02 * length * flow**2 / x**5
    return {"cost": float(length @ x**1.5)} | {
        f"p{j}": float(drop[path].sum()) for j, path in enumerate(paths)
    }


start = np.full(100, 2.0)
print(f"{len(leaves)} customers; at the start the cost is {simulate(start)['cost']:.1f}")
result = lcbo.minimize(
    simulate,
    bounds=[(0.4, 3.0)] * 100,
    constraints=[f"p{j} <= 1" for j in range(len(leaves))],
    objective="cost",
    budget=600,
    x0=start,
    deterministic=True,
    progress=False,
)
print(result.message)
near = sum(value > 0.95 for value in result.constr.values())
print(f"cost {result.fun:.1f}; {near} customers within 5 % of their limit")

# %%
# The network before and after: pipes as thick as they are, customers colored by how much of their pressure is
# used up. Thick pipes near the reservoir, thin ones at the ends.

fig, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for ax, x, title in zip(axes, (start, result.x), ("start", "answer"), strict=True):
    lines = np.stack([nodes[1:], nodes[parent[1:]]], axis=1)
    ax.add_collection(LineCollection(lines, linewidths=1.6 * x, colors="#7f9dbb"))
    used = [simulate(x)[f"p{j}"] for j in range(len(leaves))]
    dots = ax.scatter(
        *nodes[leaves].T, c=used, cmap="YlOrRd", vmin=0, vmax=1, s=45, zorder=3, edgecolor="0.3"
    )
    ax.plot(0, 0, "s", color="black", ms=11)
    ax.set(title=f"{title}: cost {simulate(x)['cost']:.1f}", aspect="equal", xticks=[], yticks=[])
fig.colorbar(dots, ax=axes, label="pressure used, 1 is the limit", shrink=0.8)

# %%
# Every evaluation, and the best feasible cost so far.

convergence = lcbo.plot_convergence(result, label="cost")
plt.show()
