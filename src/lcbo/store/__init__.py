"""A run in one durable file."""
