"""A cantilever of five segments: least volume with stresses and tip deflection within limits.

The function returns the objective and the constrained quantities of one simulation, by name and in
natural units; the limits are stated as text.
"""

import numpy as np

import lcbo

LOAD, LENGTH, MODULUS = 50_000.0, 5.0, 2.0e11  # N, m, Pa
EDGES = np.linspace(0.0, LENGTH, 6)  # segment borders, clamp at 0


def simulate(x):
    """Volume [m^3], tip deflection [mm] and bending stresses [MPa] of widths and heights."""
    width, height = x[:5], x[5:]
    inertia = width * height**3 / 12
    moment = LOAD * (LENGTH - EDGES[:-1])
    arm = (LENGTH - EDGES) ** 3
    return {
        "volume": float(np.sum(width * height) * LENGTH / 5),
        "deflection": float(np.sum(LOAD * (arm[:-1] - arm[1:]) / (3 * MODULUS * inertia)) * 1e3),
    } | {f"stress{i}": value for i, value in enumerate(moment * height / (2e6 * inertia), start=1)}


if __name__ == "__main__":
    result = lcbo.minimize(
        simulate,
        bounds={f"w{i}": (0.01, 0.05) for i in range(1, 6)} | {f"h{i}": (0.3, 0.65) for i in range(1, 6)},
        constraints=["deflection <= 27"] + [f"stress{i} <= 140" for i in range(1, 6)],
        objective="volume",
        budget=150,
        deterministic=True,
    )
    print(result.message)
    print(f"volume {result.fun:.5f} m^3")
    for name, value in result.constr.items():
        print(f"{name:10} {value:8.3f}   one more unit would save {result.multipliers[name]:.2g} m^3")
    print("widths ", np.round(result.x[:5], 4))
    print("heights", np.round(result.x[5:], 4))
