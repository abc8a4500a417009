"""
A noisy laboratory, by ask and tell
===================================

Six knobs of a reactor, a yield to raise, an impurity to keep low; every measurement scatters, and now and
then a sample is lost. The optimizer proposes experiments (``ask``) and learns what came out (``tell``), in
batches of three and in any order.
"""

import matplotlib.pyplot as plt
import numpy as np

import lcbo

noise = np.random.default_rng(1)


def truth(x):
    """Yield and impurity without noise, in per cent."""
    return 92.0 - 60.0 * np.sum((x - 0.65) ** 2), 1.0 + 4.0 * np.mean(x) ** 2 + 1.5 * x[0] * x[1]


def experiment(x):
    """One measurement, or ``None`` where the sample was lost."""
    if noise.random() < 0.06:
        return None
    value, impurity = truth(x)
    return {
        "yield": value + 1.0 * noise.standard_normal(),
        "impurity": impurity + 0.05 * noise.standard_normal(),
    }


problem = lcbo.Problem(
    {name: (0.0, 1.0) for name in ("temperature", "pressure", "flow", "catalyst", "acid", "time")},
    constraints=["impurity <= 2.5"],
    objective=lcbo.Objective("yield", maximize=True),
)
optimizer = lcbo.Optimizer(problem, budget=120, rng=0)
while candidates := optimizer.ask(3):
    for candidate in reversed(candidates):  # they may come back in any order
        outcomes = experiment(candidate.x)
        if outcomes is None:
            optimizer.tell(candidate.id, failed="sample lost")
        else:
            optimizer.tell(candidate.id, outcomes)
result = optimizer.result()
print(result.message)

# %%
# The best *observed* yield is lucky: the truth at that point is lower, and it may not even be feasible. The
# answer is the best point that is feasible with a probability of 0.9, decided by repeated experiments.

value, impurity = truth(result.x)
print(f"answer: the model says {result.fun:.1f} %, the truth is {value:.1f} %, impurity {impurity:.2f}")
lucky = truth(result.x_observed)
print(f"best observed: {result.fun_observed:.1f} % seen, {lucky[0]:.1f} % true, impurity {lucky[1]:.2f}")

# %%
# Every experiment in the plane of the two outcomes, colored by when it was made.

frame = result.history.to_frame()
frame = frame[frame.failed == ""]
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
dots = ax.scatter(frame["impurity"], frame["yield"], c=frame.index, cmap="viridis", s=22)
ax.axvspan(2.5, 3.5, color="#f3b8ae", alpha=0.6, lw=0)
ax.plot(impurity, value, "*", color="black", ms=16, label="answer, in truth")
ax.plot(lucky[1], lucky[0], "X", color="#c0392b", ms=11, label="best observed, in truth")
ax.set(xlabel="impurity [%]", ylabel="yield [%]", xlim=(1.3, 3.3), ylim=(40, None))
ax.set_title("experiments in the plane of yield and impurity; red is too impure")
ax.legend(frameon=False, loc="lower right")
fig.colorbar(dots, label="experiment")
plt.show()
