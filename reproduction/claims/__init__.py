"""What the paper claims, and what the runs say of it."""
