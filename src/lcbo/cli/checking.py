"""The command check: evaluate once or more and report values, types, duration and noise."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rich.table import Table

from lcbo.cli import screen
from lcbo.errors import ArgumentError
from lcbo.evaluation.command.problem_file import Task
from lcbo.evaluation.evaluate import evaluate
from lcbo.problem import Problem
from lcbo.reporting.format import summary
from lcbo.text import duration
from lcbo.types import Array, Evaluation


def check_task(task: Task, repeats: int) -> bool:
    """Evaluate a task's start ``repeats`` times, print a report, and return whether it worked."""
    problem = task.problem
    if problem.fun is None:
        raise ArgumentError(task.name, "a table [command] to evaluate with", "none")
    where = "the start" if task.start is not None else "the middle of the box"
    x = np.array(0.5 * (problem.lb + problem.ub)) if task.start is None else task.start
    screen.say(f"{task.name}: {summary(problem)}", f"Evaluating {where}:", screen.design(problem, x), "")
    returned: list[Any] = []
    problem.fun = _watched(problem.fun, returned)
    seen, seconds = [], []
    for id in range(repeats):
        candidate = Evaluation(id, x, problem.space.to_unit(x), "init", 0)
        ended = evaluate(problem, candidate, numbered=False).evaluation
        seconds.append(ended.record.seconds or 0.0)
        if ended.failed is not None:
            screen.say(f"The evaluation failed after {duration(seconds[-1])}: {ended.failed}")
            if ended.record.traceback:
                screen.say("", ended.record.traceback.rstrip())
            return False
        seen.append(dict(ended.outcomes))
    screen.say(_outcomes(problem, seen, returned[0]), "")
    _explain(task, seen, seconds, returned[0])
    return True


def _watched(fun: Callable[[Array], Any], returned: list[Any]) -> Callable[[Array], Any]:
    """Return the function; it appends what it returns to a list."""

    def watched(x: Array) -> Any:
        returned.append(fun(x))
        return returned[-1]

    return watched


def _outcomes(problem: Problem, seen: list[dict[str, float]], returned: Any) -> Table:
    """Return a table of every outcome: value, type, noise, what is asked of it and whether that holds."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("outcome", overflow="fold")
    table.add_column("value", justify="right")
    table.add_column("type")
    if len(seen) > 1:
        table.add_column("noise sd", justify="right")
    table.add_column("use", overflow="fold")
    table.add_column("slack", justify="right")
    table.add_column("")
    for name in problem.outcomes:
        values = [outcomes[name] for outcomes in seen]
        mean = statistics.fmean(values)
        kind = type(returned[name]).__name__ if isinstance(returned, Mapping) else ""
        head = [screen.plain(name), screen.number(mean), screen.plain(kind)]
        if len(seen) > 1:
            head.append(screen.number(statistics.stdev(values), 3))
        if name == problem.objective.name:
            goal = "maximized" if problem.objective.maximize else "minimized"
            table.add_row(*head, screen.plain(goal))
        for c in problem.constraints:
            if c.name == name:
                room = float(c.slack(mean))
                table.add_row(*head, screen.plain(c), screen.number(room, 4), screen.verdict(room))
    return table


def _explain(task: Task, seen: list[dict[str, float]], seconds: list[float], returned: Any) -> None:
    """Print what a user should know before spending a budget."""
    problem = task.problem
    if isinstance(returned, Mapping):
        unused = [str(name) for name in returned if name not in problem.outcomes]
        if unused:
            screen.say(f"Returned and not used: {', '.join(unused)}.")
    feasible = problem.feasible({name: statistics.fmean(o[name] for o in seen) for name in problem.outcomes})
    screen.say("All constraints hold there." if feasible else "Not all constraints hold there; that is fine.")
    mean, budget = statistics.fmean(seconds), task.settings.get("budget")
    spent = f"; {budget} of them take about {duration(mean * budget)} one after the other" if budget else ""
    screen.say(f"An evaluation took {duration(mean)}{spent}.")
    if len(seen) == 1:
        if not problem.deterministic:
            screen.say("Is it noisy? --repeats 3 tells; if not, state deterministic = true.")
        return
    differs = any(outcomes != seen[0] for outcomes in seen)
    if differs and problem.deterministic:
        screen.say(
            "The problem is stated as deterministic, but repeated evaluations differ: state noise instead."
        )
    elif differs:
        screen.say("Repeated evaluations differ: there is noise.")
    elif problem.deterministic:
        screen.say("Repeated evaluations agree, as stated.")
    else:
        screen.say("Repeated evaluations agree to the last digit: state deterministic = true.")
