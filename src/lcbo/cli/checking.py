"""The command check: evaluate once or more and report values, types, duration and noise."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from lcbo.cli import screen
from lcbo.cli.arguments import ERROR, Noise, Target, Variant, examples, read_task
from lcbo.errors import ArgumentError
from lcbo.reporting.format import summary
from lcbo.text import duration

if TYPE_CHECKING:
    from lcbo.problem import Problem
    from lcbo.types import Array

Repeats = Annotated[int, typer.Option(help="Number of evaluations; two or more show the noise.", min=1)]


@examples("lcbo check problem.toml", "lcbo check problem.toml --repeats 3", "lcbo check truss25 --noise 0.1")
def check(problem: Target, repeats: Repeats = 1, variant: Variant = None, noise: Noise = None) -> None:
    """Evaluate the start, or the middle of the box, and explain what was returned."""
    from lcbo.evaluation.evaluate import evaluate

    task = read_task(problem, variant, noise, seed=None)
    asked, fun, returned = task.problem, task.problem.fun, list[Any]()
    if fun is None:
        raise ArgumentError(task.name, "a table [command] to evaluate with", "none")
    where = "the start" if task.start is not None else "the middle of the box"
    x = 0.5 * (asked.lb + asked.ub) if task.start is None else task.start
    screen.say(f"{task.name}: {summary(asked)}", f"Evaluating {where}:", screen.design(asked, x), "")

    def watched(x: Array) -> Any:
        returned.append(fun(x))
        return returned[-1]

    asked.fun = watched
    seen, seconds = [], []
    for _ in range(repeats):
        evaluation, record = evaluate(asked, x)
        seconds.append(record.seconds or 0.0)
        seen.append(evaluation.outcomes)
        if evaluation.failed is not None:
            screen.say(f"The evaluation failed after {duration(seconds[-1])}: {evaluation.failed}")
            if evaluation.traceback:
                screen.say("", evaluation.traceback.rstrip())
            raise typer.Exit(ERROR)
    mapped = isinstance(returned[0], Mapping)
    kinds = {str(name): type(value).__name__ for name, value in returned[0].items()} if mapped else {}
    screen.say(_outcomes(asked, seen, kinds), "")
    unused = [name for name in kinds if name not in asked.outcomes]
    if unused:
        screen.say(f"Returned and not used: {', '.join(unused)}.")
    holds = asked.feasible({name: fmean(outcomes[name] for outcomes in seen) for name in asked.outcomes})
    screen.say("All constraints hold there." if holds else "Not all constraints hold there; that is fine.")
    mean, budget = fmean(seconds), task.settings.get("budget")
    spent = f"; {budget} of them take about {duration(mean * budget)} one after the other" if budget else ""
    screen.say(f"An evaluation took {duration(mean)}{spent}.")
    if repeats > 1:
        differs = any(outcomes != seen[0] for outcomes in seen)
        screen.say(_NOISE[differs, asked.deterministic])
    elif not asked.deterministic:
        screen.say("Is it noisy? --repeats 3 tells; if not, state deterministic = true.")


_NOISE = {  # by whether repeated evaluations differ and whether the problem is stated as deterministic
    (True, True): "The problem is stated as deterministic, but repeated evaluations differ: "
    "state noise instead.",
    (True, False): "Repeated evaluations differ: there is noise.",
    (False, True): "Repeated evaluations agree, as stated.",
    (False, False): "Repeated evaluations agree to the last digit: state deterministic = true.",
}


def _outcomes(problem: Problem, seen: list[dict[str, float]], kinds: dict[str, str]) -> Table:
    """Return a table of every outcome: value, type, noise, what is asked of it and whether that holds."""
    rows, repeated = [], len(seen) > 1
    for name in problem.outcomes:
        values = [outcomes[name] for outcomes in seen]
        mean = fmean(values)
        noise = [screen.number(stdev(values), 3)] if repeated else []
        row = [screen.plain(name), screen.number(mean), screen.plain(kinds.get(name, "")), *noise]
        if name == problem.objective.name:
            goal = "maximized" if problem.objective.maximize else "minimized"
            rows.append([*row, screen.plain(goal), screen.number(None), screen.plain("")])
        for c in problem.constraints:
            if c.name == name:
                room = float(c.slack(mean))
                rows.append([*row, screen.plain(c), screen.number(room, 4), screen.verdict(room)])
    names = ["outcome", "value", "type", *["noise sd"] * repeated, "use", "slack", ""]
    return screen.table(names, rows)
