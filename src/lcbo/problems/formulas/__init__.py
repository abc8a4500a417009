"""Benchmarks given by formulas."""
