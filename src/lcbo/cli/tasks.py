"""The problem of a command line, read from a file or by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lcbo
from lcbo.errors import ArgumentError
from lcbo.evaluation.command.problem_file import Task, read_problem_file
from lcbo.problem import Problem

_PER_VARIABLE = 40  # evaluations of a named problem, unless the user says how many


def read_task(target: str, variant: Mapping[str, Any], noise: float | None, seed: int | None) -> Task:
    """Return the task of a problem file or of a named benchmark.

    Args:
        target: path of a problem file, or the name of a benchmark.
        variant: arguments of a benchmark.
        noise: noise level of a benchmark, ``None`` for none.
        seed: of the run, which is also the noise's.
    """
    named = target.lower() in lcbo.problems.names()
    if not named and not target.endswith(".toml") and not Path(target).is_file():
        names = ", ".join(lcbo.problems.names())
        raise ArgumentError("PROBLEM", f"a problem file (problem.toml) or one of {names}", repr(target))
    if not named:
        for option, given in (("--variant", bool(variant)), ("--noise", noise is not None)):
            if given:
                raise ArgumentError(option, "a named problem beside it", f"the file {target}")
        return read_problem_file(target)
    problem: Problem = lcbo.problems.make(target, **variant)
    settings = {"budget": _PER_VARIABLE * problem.dim}
    if noise is not None:
        problem = lcbo.problems.make(target, **variant).noisy(rng=seed or 0, sd=noise)
    return Task(target.lower(), problem, settings)
