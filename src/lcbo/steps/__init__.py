"""Exploitation: where to go from the current iterate. Plain arrays in and out; no GP is seen here."""
