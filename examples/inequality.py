"""A cantilever of five segments: least volume with stress and tip deflection within limits.

The function returns the objective and the constrained quantities of one simulation, by name and in
natural units; the limits are stated as text.
"""

import numpy as np

import lcbo

LOAD, LENGTH, MODULUS = 50_000.0, 5.0, 2.0e11  # N, m, Pa
EDGES = np.linspace(0.0, LENGTH, 6)  # segment borders, clamp at 0


def simulate(x):
    """Volume [m^3], largest bending stress [MPa] and tip deflection [mm] of widths and heights."""
    width, height = x[:5], x[5:]
    inertia = width * height**3 / 12
    moment = LOAD * (LENGTH - EDGES[:-1])
    arm = (LENGTH - EDGES) ** 3
    return {
        "volume": float(np.sum(width * height) * LENGTH / 5),
        "stress": float(np.max(moment * height / (2 * inertia)) / 1e6),
        "deflection": float(np.sum(LOAD * (arm[:-1] - arm[1:]) / (3 * MODULUS * inertia)) * 1e3),
    }


if __name__ == "__main__":
    result = lcbo.minimize(
        simulate,
        bounds={f"w{i}": (0.01, 0.05) for i in range(1, 6)} | {f"h{i}": (0.3, 0.65) for i in range(1, 6)},
        constraints=["stress <= 140", "deflection <= 27"],
        objective="volume",
        budget=150,
        deterministic=True,
    )
    print(result.message)
    print(f"volume {result.fun:.5f} m^3, {result.constr}")
    print("widths ", np.round(result.x[:5], 4))
    print("heights", np.round(result.x[5:], 4))
    print(
        "one more MPa or mm would save",
        {name: f"{value:.2g} m^3" for name, value in result.multipliers.items()},
    )
