"""Experiments: specs of problems x methods x seeds, a resumable runner, results, metrics and figures."""
