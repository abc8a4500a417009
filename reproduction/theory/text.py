"""The fixed text of the theory page: what was run, and how we read it."""

INTRODUCTION = """# The theorem and the mechanism in numbers

Written by `python -m reproduction theory` and `python -m reproduction mechanism2d` from the files in
`reproduction/results/theory`; n is the number of draws or seeds behind a number, and numbers in brackets are
quartiles.
"""

RESIDUALS = """## KKT residuals of `lcbo-theory`

Draws of `gp_sample(kind="equality")` with one equality (m = 1), seeds 0, 1, ...; noise of standard
deviation 0.1; true fixed hyperparameters, no standardization, window, box or normalization; b1 = k, b2 = d
k², rho_k = k^(1/4), eta_k = k^(-1/2) / (2 L_m). L_m = L_grad_f + B_c L_grad_c + B_grad_c² is estimated on
each draw by climbing from 1024 random points with exact first and second derivatives. The start is the best
of the method's d initial points. r_s and r_f use the true gradients at x_{k+1} and lambda_{k+1} = rho_k
c(x_{k+1}), and are averaged over k = 1 .. K as in the theorem. n counts oracle calls, m + 1 per evaluation.

The model keeps all data. That is affordable because the exploration batch is chosen greedily among points
on the axes and with repeats (`explorer="axes"`): repeats are merged, so the 23,000 evaluations of 20
iterations in 8 variables make a model of about 700 distinct points. Beside every run stands the same
recursion with exact gradients from the same start: no estimation error, and cheap enough for large K.
Because the theorem's steps turned out to be tiny, everything was run a second time with steps ten times as
long, outside the theorem.
"""

RESIDUAL_READING = """**Reading.** With the theorem's own step the averages hardly change within K = 20, and
no estimation error is to blame: exact gradients do the same, and `lcbo-theory` stays within a few per cent
of them (column "over exact"). The constant is to blame. L_m bounds the curvature of the penalized objective
by a sum of suprema over the whole cube, so in 20 iterations an iterate moves by a few hundredths of the
cube's side. The theorem speaks from K~ = 70 gamma^(-8/3) L_m^(4/3) on, thousands of iterations even with
the largest gamma that holds along the path. At K = 20 it says nothing, and K~ iterations are out of reach.
So these runs neither confirm nor contradict the rates in K and n; they show that batches of k and d k² make
the gradients good enough. With steps ten times as long r_s does fall within 20 iterations, about as
K^(-1/2) in two variables and more slowly in more, and still in step with exact gradients.

With exact gradients the rate can be seen. Over the last decade of K the average of r_s falls faster than
K^(-1/2) once a run has settled, as K^(-1): r_s itself is then summable. r_f falls more slowly: the penalty
leaves c = lambda / rho_k, so that r_f = lambda² k^(-1/2), and that part of the bound is tight. The
exponents of r_f scatter around -1/2 because many runs are still on their way; where r_f was below that
level before, its average does not fall yet.

Growth with d. The bound's estimation term grows as d, and its constants L_m and gamma may grow too. At K =
20 r_s hardly grows, because the lengthscales of these draws grow as sqrt(d) and keep gradients equally
long. With exact gradients at large K r_s grows faster than d, by slower convergence; r_f does not grow.
"""

ERRORS = """## Error functions

sigma = 0.1, lengthscale and outputscale 1. E(b) is the least trace found over designs of b points, an upper
bound of the infimum. Slopes are fitted over b >= 4 d.
"""

ERROR_READING = """**Reading.** e(b) agrees with the model to rounding. (The paper's proof loses kappa0 in
the denominator; kappa0 sigma² / (sigma² + b kappa0) has the same order.) E(b) falls faster than its bound
sigma d^(3/2) b^(-1/2), which is that of forward differences: bias h² against noise sigma² / (b h²). Points
on both sides cancel one order more. For Matérn-5/2 that is h³ against sigma² / (b h²), hence b^(-3/5), as
measured; for the infinitely smooth RBF kernel designs of higher and higher order approach b^(-1). The bound
holds and is not tight: with b2 = d k² the gradient errors are summable for both kernels, where the proof
has logarithms.
"""

MECHANISM = """## A walk around a disc

min 10 |(x1, x2) - a|² + sum of (x_i - 1/2)² over the other variables; the disc of radius 0.33 around (1/2,
1/2) is forbidden, a = (0.62, 0.5) lies in it. Downhill leads into the disc from everywhere; along the
boundary the objective falls all the way to the optimum on the right. Every method gets the same initial
design, uniform in a box of side 0.1 at 150 degrees, the same noise and the same budget. Drawn are seed 0
and SCBO's median run by its final value, first in the plane of a problem with 20 variables, then with these
two variables alone.
"""

WALK_READING = """**Reading.** In 20 variables with noise SCBO's median run does what the paper describes:
the box shrinks at the boundary without a success, restarts, and shrinks again, while `lcbo` walks round on
every seed. But curvature alone does not do it. Without noise SCBO never restarts here and arrives too,
later than `lcbo`. With noise the box shrinks around a lucky observation: a point inside the disc that
looked feasible and good, and that no honest observation beats (last column). LCBO has no incumbent to be
fooled by; it steps by the model's mean, which averages.

In two variables a trust region does not stall. It restarts six or seven times in 120 evaluations, mostly
after it has arrived, and is the best method with noise: a restarted box of side 0.8 covers most of the plane,
and Thompson sampling soon finds the way. `lcbo-paper` comes round more slowly everywhere.
"""
