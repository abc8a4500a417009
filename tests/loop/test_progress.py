import io
import re

import pytest
from rich.console import Console

import lcbo
from lcbo import Optimizer, Problem
from lcbo.loop import progress
from lcbo.loop.progress import ProgressBar
from lcbo.loop.stopping import Stopping

pytestmark = pytest.mark.usefixtures("uniform")


def simulate(x):
    return {"f": float(x @ x), "c": float(0.2 - x[0])}


@pytest.fixture
def optimizer():
    return Optimizer(Problem([(0.0, 1.0)] * 2, ["c <= 0"], "f", deterministic=True), "uniform", budget=30)


def test_state_tells_what_matters(optimizer, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = ProgressBar(optimizer, False, Stopping())
    assert bar.state() == ["step 0.1"]
    first, second, *_ = optimizer.ask(10)
    now[0] += 30.0
    optimizer.tell(first.id, {"f": 2.0, "c": 1.0})
    assert bar.state() == ["violation 1 sd", "step 0.1", "2/min", "14 min 30 s left"]
    optimizer.tell(second.id, {"f": 0.125, "c": -1.0})
    optimizer.tell(2, failed="no licence")
    assert bar.state(7, 8) == ["best 0.125", "step 0.1", "1 failed", "7/8 busy", "6/min", "4 min 30 s left"]


def test_time_limit_is_the_time_left_where_it_comes_first(optimizer, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = ProgressBar(optimizer, False, Stopping(time_limit=70.0))
    candidate, *_ = optimizer.ask()
    now[0] += 10.0
    optimizer.tell(candidate.id, simulate(candidate.x))
    assert bar.state()[-2:] == ["6/min", "1 min 0 s left"]


def test_terminal_gets_a_bar_and_a_pipe_nothing(monkeypatch):
    def shown(terminal):
        text = io.StringIO()
        monkeypatch.setattr(
            progress, "Console", lambda **_: Console(file=text, force_terminal=terminal, width=200)
        )
        lcbo.minimize(simulate, [(0.0, 1.0)] * 2, ["c <= 0"], "f", budget=8, method="uniform")
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text.getvalue())

    bar = shown(terminal=True)
    assert "8/8" in bar
    assert re.search(r"best \d", bar)
    assert "/min" in bar
    assert shown(terminal=False) == ""
