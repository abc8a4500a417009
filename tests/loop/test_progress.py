import io
import re
import sys
import types

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


def test_notebook_gets_one_line_that_is_written_anew(optimizer, monkeypatch):
    """With IPython alone: the bar of rich would need ipywidgets, and say nothing without."""
    shown = []

    class Handle:
        def update(self, content, raw):
            assert raw
            shown.append(content["text/plain"])

    def display(content, raw, display_id):
        assert raw
        assert display_id
        shown.append(content["text/plain"])
        return Handle()

    module = types.ModuleType("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(stderr=stderr, force_jupyter=True))
    monkeypatch.setattr(progress.NotebookLine, "PAUSE", 0.0)
    with ProgressBar(optimizer, True, Stopping()) as bar:
        bar.update()
        optimizer.tell(optimizer.ask()[0].id, {"f": 2.0, "c": -1.0})
        bar.update()
    assert shown[0] == "uniform · 0 of 30 · step 0.1"
    assert shown[-1].startswith("uniform · 1 of 30 · best 2 · step 0.1")
    monkeypatch.setattr(progress.NotebookLine, "PAUSE", 1e9)
    count = len(shown)
    with ProgressBar(optimizer, True, Stopping()) as bar:
        bar.update()
        bar.update()
    assert len(shown) == count + 2  # the first and the last
