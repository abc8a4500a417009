"""
What moves what: slopes at the answer
=====================================

An answer comes with its surroundings: the slope of every outcome by every variable, what each limit costs,
and how sure all of it is. Nothing is evaluated for it; it is what the run has learned.
"""

import matplotlib.pyplot as plt
import numpy as np

import lcbo

reducer = lcbo.problems.make("speed_reducer")
result = lcbo.minimize(reducer.noisy(sd=0.01, rng=0), budget=160, progress=False)
print(result.message)
print(result.stationarity)

# %%
# The picture that the library draws: slopes with standard errors of the objective and of the limits that
# matter, per range of each variable, and what every limit costs.

slopes = lcbo.plot_sensitivities(result)

# %%
# The numbers behind it, as a table one can work with: here how well the slopes of the weight were learned
# through the noise, beside exact ones by finite differences of the noise-free problem.

frame = result.sensitivities.to_frame()
print(frame.head(8))

# %%

name = reducer.objective.name
low, high = np.array(reducer.bounds).T
inward = 1e-6 * np.where(result.x > (low + high) / 2, low - high, high - low)
here = reducer.evaluate(result.x)[name]
exact = np.array([(reducer.evaluate(result.x + e)[name] - here) / e.sum() for e in np.diag(inward)])
slope, error = result.sensitivities.slopes[0], result.sensitivities.errors[0]  # row 0 is the objective
fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
at, scale = np.arange(len(low)), high - low
ax.errorbar(
    at, slope * scale, 2 * error * scale, fmt="o", color="#1f6fb4", capsize=4, label="learned, two errors"
)
ax.plot(at, exact * scale, "_", color="black", ms=22, mew=2, label="exact")
ax.axhline(0.0, color="0.8", lw=1, zorder=0)
ax.set_xticks(at, reducer.variables)
ax.set_ylabel(f"change of {name} over the range")
ax.set_title(f"slopes of {name} at the answer, learned through noise")
ax.legend(frameon=False)
plt.show()
