"""LCBO, the paper's method and our default."""
