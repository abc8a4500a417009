"""Calling the user's function: here, in worker processes, on executors, as a command."""
