"""Local constrained Bayesian optimization."""
