"""External simulators: commands, their templates and output, problem files."""
