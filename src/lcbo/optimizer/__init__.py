"""The ask/tell optimizer, its records and its answer."""
