"""Runs of an experiment: specs, cells, the runner, results."""
