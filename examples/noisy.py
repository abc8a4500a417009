"""A noisy, sometimes failing simulation: what the model recommends and how sure it is.

The best observed value of a noisy run is too good to be true. The answer is the point the model
recommends, with the probability that it is feasible; the best observation stands beside it.
"""

import numpy as np

import lcbo

NOISE = np.random.default_rng(1)


def truth(x):
    """Noise-free loss and temperature."""
    return float(np.sum((x - 0.7) ** 2)), float(np.sum(x) / 8)


def simulate(x):
    """One noisy measurement; one in twenty crashes, which the run survives."""
    if NOISE.random() < 0.05:
        raise RuntimeError("the solver diverged")
    loss, temperature = truth(x)
    return {
        "loss": loss + 0.02 * NOISE.standard_normal(),
        "temperature": temperature + 0.01 * NOISE.standard_normal(),
    }


if __name__ == "__main__":
    result = lcbo.minimize(
        simulate,
        bounds=[(0.0, 1.0)] * 8,
        constraints=["temperature <= 0.5"],
        objective="loss",
        noise={"loss": 0.02, "temperature": 0.01},
        budget=200,
    )
    print(result.message)
    print(f"{result.nfail} of {result.nfev} evaluations failed")
    print(f"model at the answer: loss {result.fun:.4f}, temperature {result.constr['temperature']:.4f}")
    print("truth at the answer: loss {:.4f}, temperature {:.4f} (optimum 0.32)".format(*truth(result.x)))
    print(f"best observed loss {result.fun_observed:.4f}: biased to the good side")
    print(result.history.to_frame().tail())
