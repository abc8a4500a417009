"""Draws from a Gaussian process."""
