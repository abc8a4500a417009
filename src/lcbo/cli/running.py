"""Commands that evaluate: run, resume, check, compare."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import lcbo
from lcbo.cli import arguments as given
from lcbo.cli import screen
from lcbo.errors import ArgumentError, StoreError
from lcbo.reporting.format import summary
from lcbo.text import duration

if TYPE_CHECKING:
    from lcbo.optimizer.result import Result
    from lcbo.problem import Problem
    from lcbo.store.stored_run import StoredRun
    from lcbo.types import Array

_STORE = "File of the run, PROBLEM.db by default; a run found there is continued."
Store = Annotated[Path | None, typer.Option(metavar="RUN", help=_STORE)]
_DEFAULT = ["lcbo", "scbo", "cobyqa"]
Jobs = Annotated[int | None, typer.Option(help="Runs at a time; by default one per core.", min=1)]
Methods = Annotated[list[str], typer.Option(metavar="NAME...", help="Names out of `lcbo methods`.")]
Out = Annotated[Path | None, typer.Option(metavar="FOLDER", help="By default PROBLEM-comparison.")]
Seeds = Annotated[int, typer.Option(help="Runs of every method, from seeds 0, 1, ...", min=1)]
Repeats = Annotated[int, typer.Option(help="Number of evaluations; two or more show the noise.", min=1)]
_YES = "Do not ask whether to run the command of a file that somebody else wrote."
Yes = Annotated[bool, typer.Option("--yes", help=_YES)]
Total = Annotated[int | None, typer.Option(help="New total number of evaluations.", min=1)]


@given.examples(
    "lcbo run truss25 --budget 300",
    "lcbo run problem.toml",
    "lcbo run problem.toml --store run.db --budget 500 --workers 4 --timeout 600",
    "lcbo run truss25 --noise 0.1 --method lcbo-paper --seed 3",
    "lcbo run gp_sample --variant d=20 --option explore=5",
    "lcbo run problem.toml --data earlier.csv",
)
def run(
    problem: given.Target,
    store: Store = None,
    budget: given.Budget = None,
    method: given.Method = None,
    seed: given.Seed = None,
    option: given.Options = None,
    variant: given.Variant = None,
    noise: given.Noise = None,
    confidence: given.Confidence = None,
    workers: given.Workers = None,
    timeout: given.Timeout = None,
    retries: given.Retries = None,
    max_failure_rate: given.FailureRate = None,
    time_limit: given.TimeLimit = None,
    target: given.Goal = None,
    data: given.Data = None,
    device: given.Device = "cpu",
    json: given.Json = False,
) -> None:
    """Optimize a problem file or a named problem; the run's file keeps every evaluation."""
    task = given.read_task(problem, variant, noise, seed)
    options = given.pairs("--option", option)
    stated = {"budget": budget, "method": method, "seed": seed, "confidence": confidence}
    arguments = task.arguments(options=options, **stated)
    if task.problem.fun is None:
        path = shlex.quote(problem)
        words = f"none; lcbo new run.db {path} is for ask and tell"
        raise ArgumentError(problem, "a table [command], or function =", words)
    if arguments["budget"] is None:
        raise ArgumentError("--budget", "a number of evaluations, here or as budget in [run]", "none")
    file = store or Path(f"{task.name}.db")
    limits = {"max_failure_rate": max_failure_rate, "time_limit": time_limit, "target": target}
    evaluation = task.evaluation(workers=workers, timeout=timeout, retries=retries, **limits)
    task.problem.source = {**(task.problem.source or {}), "evaluation": evaluation}
    words = f"going on with {file}" if file.exists() else f"kept in {file}"
    screen.remark(f"{task.name}: {summary(task.problem)}; {words}")
    if data is not None:
        arguments["data"] = data
    work = partial(lcbo.minimize, task.problem, store=file, device=device, **arguments, **evaluation)
    _finish(work, file, json, arguments["budget"])


@given.examples(
    "lcbo resume run.db",
    "lcbo resume run.db --budget 2000 --workers 4",
    "lcbo resume run.db --max-failure-rate 0.9",
)
def resume(
    run: given.RunFile,
    budget: Total = None,
    workers: given.Workers = None,
    timeout: given.Timeout = None,
    retries: given.Retries = None,
    max_failure_rate: given.FailureRate = None,
    time_limit: given.TimeLimit = None,
    target: given.Goal = None,
    device: given.Device = "cpu",
    yes: Yes = False,
    json: given.Json = False,
) -> None:
    """Continue a run where it stopped, with the workers and limits that were given to `lcbo run`."""
    from lcbo.evaluation.command.problem_file import RunSpec
    from lcbo.loop.minimize import resume as go_on
    from lcbo.problem.sources import from_recipe

    stored = lcbo.open_run(run)
    source, at = stored.meta["source"] or {}, stored.status
    if stored.problem.fun is None and ("command" in source or "function" in source):
        from_recipe(source, stored.meta["problem"])  # raises the reason why it cannot be rebuilt
    if stored.problem.fun is None:
        raise ArgumentError(
            str(run),
            "a run of a named problem or of a command",
            "one whose function is not in the file; use lcbo ask and tell, or lcbo.minimize(..., store=...)",
        )
    task = RunSpec(run.stem, stored.problem, source.get("evaluation", {}))
    limits = {"max_failure_rate": max_failure_rate, "time_limit": time_limit, "target": target}
    evaluation = task.evaluation(workers=workers, timeout=timeout, retries=retries, **limits)
    _confirm(stored, yes)
    screen.remark(f"{run}: going on after {at.ended} evaluations")
    budget = budget or at.budget
    work = partial(go_on, run, budget=budget, device=device, **evaluation)
    _finish(work, run, json, budget)


def _confirm(run: StoredRun, yes: bool) -> None:
    """Show what a run file will execute, and ask where somebody else may have written it."""
    from lcbo.evaluation.command.problem_file import executed
    from lcbo.store.origin import strange

    words = executed(run.meta["source"] or {})
    if words is None:
        return
    screen.remark(f"{run.path}: evaluates by {words}")
    why = strange(run.path, run.meta.get("origin"))
    if why is None or yes:
        return
    if not sys.stdin.isatty():
        raise StoreError(f"{run.path}: {why}; --yes runs what it says all the same")
    if not typer.confirm(f"{why[:1].upper()}{why[1:]}. Run it?"):
        raise typer.Exit(given.ERROR)


def _finish(work: Callable[[], Result], file: Path, json: bool, budget: int | None) -> None:
    """Run until the end or Ctrl-C, print the answer and exit with its code."""
    from lcbo.loop.stopping import TOO_MANY_FAILED

    path = shlex.quote(str(file))
    try:
        result = work()
    except KeyboardInterrupt:
        begun = f"continue with: lcbo resume {path}" if file.exists() else "nothing was evaluated yet"
        screen.remark(f"lcbo: interrupted; {begun}")
        raise typer.Exit(given.INTERRUPTED) from None
    screen.show_answer(lcbo.open_run(file).problem, result, json)
    if result.reason == "interrupted":
        screen.remark(f"lcbo: interrupted; continue with: lcbo resume {path}")
        raise typer.Exit(given.INTERRUPTED)
    if result.reason.startswith(TOO_MANY_FAILED):
        screen.remark(f"lcbo: {result.reason}; go on with: lcbo resume {path} --max-failure-rate 1")
        raise typer.Exit(given.FAILURES)
    more = f" --budget {2 * budget}" if budget else ""
    screen.remark(f"More: lcbo report {path} · lcbo resume {path}{more}")
    if not result.success:
        raise typer.Exit(given.NOT_FEASIBLE)


@given.examples(
    "lcbo check problem.toml", "lcbo check problem.toml --repeats 3", "lcbo check truss25 --noise 0.1"
)
def check(
    problem: given.Target, repeats: Repeats = 1, variant: given.Variant = None, noise: given.Noise = None
) -> None:
    """Evaluate the start, or the middle of the box, and explain what was returned."""
    from lcbo.evaluation.evaluate import evaluate
    from lcbo.optimizer.plan.setup import read_start
    from lcbo.types import Evaluation

    task = given.read_task(problem, variant, noise, seed=None)
    asked, fun, returned = task.problem, task.problem.fun, list[Any]()
    if fun is None:
        raise ArgumentError(task.name, "a table [command] to evaluate with", "none")
    where = "the start" if task.start is not None else "the middle of the box"
    x = asked.middle if task.start is None else read_start(task.start, asked)[0]
    screen.say(f"{task.name}: {summary(asked)}", f"Evaluating {where}:", screen.design(asked, x), "")

    def watched(x: Array, **seed: int) -> Any:
        returned.append(fun(x, **seed))
        return returned[-1]

    asked.fun = watched
    seen, seconds, failed = [], [], 0
    for id in range(repeats):
        candidate = Evaluation(id, x, asked.space.to_unit(x), "init", 0)
        ended = evaluate(asked, candidate, numbered=False).evaluation
        if ended.failed is None:
            seen.append(dict(ended.outcomes))
            seconds.append(ended.record.seconds or 0.0)
            continue
        failed += 1
        if failed == 1:
            took = duration(ended.record.seconds or 0.0)
            screen.say(f"The evaluation failed after {took}: {ended.failed}", "")
            if ended.record.traceback:
                screen.say(ended.record.traceback.rstrip(), "")
    if not seen:
        raise typer.Exit(given.ERROR)
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
    if failed:
        screen.say(f"{failed} of {repeats} failed; a run records failures and goes on.")
    if len(seen) > 1:
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


@given.examples(
    "lcbo compare problem.toml --methods lcbo scbo cobyqa --seeds 5 --jobs 2 --out comparison",
    "lcbo compare truss25 --budget 200 --noise 0.1",
    "lcbo compare gp_sample --variant d=10 --methods lcbo cobyla",
)
def compare(
    problem: given.Target,
    methods: Methods = _DEFAULT,
    seeds: Seeds = 3,
    budget: given.Budget = None,
    jobs: Jobs = None,
    out: Out = None,
    variant: given.Variant = None,
    noise: given.Noise = None,
) -> None:
    """Run several methods on one problem; the same command again goes on, more seeds or methods add runs."""
    from lcbo.compare.comparison import Comparison
    from lcbo.compare.figure import draw_figure
    from lcbo.compare.runner import Progress
    from lcbo.compare.runner import compare as run_all
    from lcbo.compare.score import score_table
    from lcbo.evaluation.pool import available_cores
    from lcbo.methods import registry

    wanted = [registry.spec(name).name for name in dict.fromkeys(methods)]
    task = given.read_task(problem, variant, noise, seed=None)
    budget = budget or task.settings.get("budget")
    if budget is None:
        raise ArgumentError("--budget", "evaluations of a run, here or as budget in [run]", "none")
    folder = out or Path(f"{task.name}-comparison")
    comparison = Comparison.begin(folder, task, budget=budget, noise=noise or 0.0)
    runs = comparison.plan(wanted, seeds)
    there = len(Progress(runs).done)
    screen.remark(f"{task.name}: {summary(task.problem)}; {there} of {len(runs)} runs are in {folder}")
    try:
        progress = run_all(runs, jobs=jobs or available_cores(), console=Console(file=sys.stderr))
    except KeyboardInterrupt:
        screen.remark(f"lcbo: interrupted; everything is in {folder}, the same command goes on")
        raise typer.Exit(given.INTERRUPTED) from None
    for line in progress.troubles():
        screen.remark(line)
    objective = comparison.problem.objective
    found = score_table(comparison.scores(), objective.sign)
    if not found.empty:
        found.to_csv(folder / "comparison.csv", index=False)
        draw_figure(comparison, folder / "comparison.png")
        goal = "largest" if objective.maximize else "smallest"
        screen.say(f"{goal} feasible {objective.name} after {budget} evaluations:")
        rows = [
            [screen.plain(method), *(screen.number(value, missing="none") for value in values)]
            for method, *values in found.itertuples(index=False)
        ]
        screen.say(screen.table([str(name).replace("_", " ") for name in found], rows))
        screen.remark(f"Table: {folder / 'comparison.csv'} · figure: {folder / 'comparison.png'}")
    if progress.failed or found.empty:
        raise typer.Exit(given.ERROR)
    if not found["feasible"].any():
        raise typer.Exit(given.NOT_FEASIBLE)
