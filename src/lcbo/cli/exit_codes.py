"""Exit codes of the commands, beside 0 for success and 2 for a wrong command line."""

ERROR, NOT_FEASIBLE, NOTHING, INTERRUPTED = 1, 3, 4, 130
