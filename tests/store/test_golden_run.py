"""A run file written once with schema 1: it must open for ever and say the same."""

import json
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

import lcbo
from lcbo import Optimizer, Problem, Record, StoreWarning

GOLDEN = Path(__file__).parents[1] / "golden"
FACTS = ("problem", "method", "options", "x0", "data", "seed", "fingerprint")
OPTIONS = {"landing": NormalDist().cdf(0.5)}  # as a margin of 0.5 in the file is read today
RUN, SAID = GOLDEN / "run_schema_1.sqlite", GOLDEN / "run_schema_1.json"


def write(path: Path) -> None:
    """Write such a file; the golden one was made by this and is never made again."""
    problem = Problem(
        {"width": (0.1, 2.0), "depth": (1.0, 5.0), "fixed": (3.0, 3.0), "angle": (-1.0, 1.0)},
        ["stress <= 4", lcbo.Constraint("balance", eq=0.0, tol=0.2)],
        lcbo.Objective("power", maximize=True),
        noise={"stress": 0.01},
    )

    def outcomes(x: np.ndarray) -> dict[str, float]:
        w, d, _, a = x
        return {"power": w * d - a**2, "stress": w**2 + d / 2, "balance": a - 0.3 * w}

    data = [(np.array([1.0, 2.0, 3.0, 0.0]), {"power": 2.0, "stress": 2.0, "balance": -0.3})]
    with Optimizer(
        problem, budget=26, x0=[0.5, 2.0, 3.0, 0.1], data=data, rng=11, options=OPTIONS, store=path
    ) as optimizer:
        while batch := optimizer.pending or optimizer.ask():
            candidate, values = batch[0], outcomes(batch[0].x)
            how = Record(f"w{candidate.id % 3}", 1.7e9 + candidate.id, 0.5, "", 1)
            if candidate.id == 7:
                optimizer.tell(7, failed="diverged", record=Record("w1", 1.7e9, 9.0, "Traceback: x", 2))
                optimizer.late(replace(candidate, status="done", outcomes=values))
            elif candidate.id == 9:
                optimizer.tell(9, {"power": values["power"]})
                optimizer.tell(9, {"stress": values["stress"]}, final=True)
            else:
                optimizer.tell(candidate.id, values, record=how)
    with Optimizer.open(path, budget=30) as optimizer:
        while batch := optimizer.pending or optimizer.ask():
            optimizer.tell(batch[0].id, outcomes(batch[0].x))


def said(path: Path) -> dict[str, object]:
    """Return what a run file says, apart from models."""
    run = lcbo.open_run(path)
    best = run.log.best
    assert best is not None
    history = run.history.astype(object).where(run.history.notna(), None)
    return {
        "history": json.loads(json.dumps(history.reset_index().to_dict("records"))),
        "best": [best.id, best.x.tolist(), dict(best.outcomes)],
        "asked": run.trace["asked"].tolist(),
        "steps": run.trace["step"].tolist(),
        "late": [[e.id, dict(e.outcomes)] for e in run.entries if getattr(e, "late", False)],
        "meta": {
            key: run.meta[key]
            for key in ("problem", "method", "options", "x0", "data", "seed", "fingerprint")
        },
    }


def expected() -> dict[str, Any]:
    """Return what the golden run said when it was written, with today's names of its options."""
    then: dict[str, Any] = json.loads(SAID.read_text())
    assert then["meta"]["options"] == {"margin": 0.5}
    then["meta"]["options"] = OPTIONS
    return then


def test_golden_run_says_the_same() -> None:
    assert said(RUN) == expected()
    status = lcbo.open_run(RUN).status
    assert (status.method, status.budget, status.asked, status.ended) == ("lcbo", 30, 30, 30)
    assert (status.failed, status.pending, status.writer) == (1, 0, None)


def test_golden_run_has_an_answer() -> None:
    result = lcbo.open_run(RUN).result()
    best = expected()["best"]
    np.testing.assert_array_equal(result.x_observed, best[1])
    assert result.nfev == 30
    assert result.nfail == 1


def test_golden_run_goes_on(quick_folder: Path) -> None:
    path = quick_folder / "run.db"
    shutil.copy(RUN, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)  # written by other versions
        with Optimizer.open(path, budget=36) as optimizer:
            while batch := optimizer.pending or optimizer.ask():
                optimizer.tell(batch[0].id, {"power": 1.0, "stress": 1.0, "balance": 0.0})
    assert lcbo.open_run(path).status.ended == 36


def test_file_written_now_is_read_as_the_golden_one(quick_folder: Path) -> None:
    write(quick_folder / "run.db")
    now, then = said(quick_folder / "run.db"), expected()
    assert now["meta"] == then["meta"]
    assert [list(row) for row in now["history"]] == [list(row) for row in then["history"]]
