"""Sequential quadratic programming on a model: BayeSQP."""
