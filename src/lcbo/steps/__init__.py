"""Exploitation: from what the model says at the iterate to the next one. Plain arrays; no GP is seen here."""
