"""
The lightest truss
==================

A space truss of 25 bars carries two load cases. Every bar has a cross-section of its own: 25 variables, one
weight, and two limits on what a finite-element analysis returns, the largest displacement and the largest
stress. The problem comes with the library, and with its best known answer.
"""

import matplotlib.pyplot as plt
import numpy as np

import lcbo

truss = lcbo.problems.make("truss25")
result = lcbo.minimize(truss, budget=400, progress=False)
print(result.message)
print(f"weight {result.fun:.2f} lb, best known {truss.best_known.value:.2f} lb")

# %%
# Every evaluation, feasible or not, and the best feasible weight so far. After the initial design the run
# walks along the limits: about half of its evaluations are a little outside.

convergence = lcbo.plot_convergence(result, reference=truss.best_known.value, label="weight [lb]")

# %%
# The design: the thicker a bar, the larger its cross-section.

design = truss.plot(result.x)

# %%
# Where the weight goes, beside the areas of the best known design.

order = np.argsort(result.x)[::-1]
fig, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
ax.bar(np.arange(25) - 0.2, result.x[order], 0.4, color="#1f6fb4", label="this run")
ax.bar(np.arange(25) + 0.2, truss.best_known.x[order], 0.4, color="#e0a030", label="best known")
ax.set_xticks(range(25), [truss.variables[i] for i in order], rotation=90, fontsize=8)
ax.set(ylabel="area [in²]", title="cross-sections, largest first")
ax.legend(frameon=False)
plt.show()
