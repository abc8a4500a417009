"""Global Bayesian optimization: CEI and EPBO."""
