"""Closed-form Gaussian processes over all outputs at once."""
