"""Figures are drawn from whatever is there, and say what is not."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.claims.metrics import restarts
from reproduction.figures.appearance import STYLES
from reproduction.figures.figures import FIGURES, draw_figures
from reproduction.figures.panel import Series, apart, common_seeds, limits, missing_text, series_of


def words(figure):
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    return " ".join([*texts, *(axes.get_title(loc="left") for axes in figure.axes)])


def test_figures_of_nothing_say_so(lab):
    lab.want("main", "truss-case1", "scbo", 3)
    results = lab.read()
    for name, draw in FIGURES.items():
        said = words(draw(results))
        assert "no runs yet" in said or "not run" in said, name


@pytest.mark.slow
def test_every_figure_is_written_from_incomplete_results(lab, tmp_path):
    events = [{"kind": "start", "length": 0.8, "iteration": 0, "evaluations": 10}]
    events += [{"kind": "restart", "length": 0.8, "iteration": 2, "evaluations": 20}]
    for task, label in itertools.product(
        ["truss-case1", "synthetic-25", "beam"], ["lcbo-paper", "scbo", "epbo"]
    ):
        bad = label == "epbo"
        lab.run("main", task, label, 0, [None, None, None] if bad else [None, 500.0, 480.0], events=events)
        lab.run("main", task, label, 1, [None, None, None] if bad else [600.0, 550.0, 480.0])
    lab.want("main", "truss-case1", "cei", 3)
    lab.run("components", "truss-case1", "no-local-gp", 0, [600.0, 500.0])
    lab.run("batch", "synthetic-25", "mini-batch", 0, [None, -1.0, -2.0])
    results = lab.read()
    paths = draw_figures(results, tmp_path / "figures")
    assert [path.stem for path in paths] == list(FIGURES)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
    progress = words(FIGURES["real"](results))
    assert "not run on these seeds yet: cei" in progress
    assert "epbo: none feasible" in progress
    assert "Truss, load case 1, d = 25, n = 2" in progress


def test_all_lines_of_a_panel_have_the_same_seeds(lab):
    for label, seeds in {"scbo": 4, "hdsafebo": 4, "epbo": 1, "lcbo": 4, "cmaes": 2}.items():
        for seed in range(seeds):
            lab.run("main", "beam", label, seed, [1.0])
    results = lab.read()
    labels = ["scbo", "hdsafebo", "epbo", "lcbo", "cmaes"]
    seeds = common_seeds(results, [("main", "beam", label) for label in labels])
    assert seeds == [0, 1, 2, 3], "two strong lines of four runs are more than three of one"
    lines = series_of(results, "main", "beam", labels, seeds=seeds)
    assert [(line.text, line.n) for line in lines] == [("scbo", 4), ("hdsafebo", 4), ("lcbo", 4)]
    assert missing_text(labels, lines) == "not run on these seeds yet: epbo, cmaes"


def test_limits_hold_medians_and_never_collapse(lab):
    lab.run("main", "beam", "lcbo", 0, [None, 300.0, 200.0])
    lab.run("main", "beam", "flat", 0, [7.0, 7.0, 7.0])
    lab.run("main", "beam", "never", 0, [None, None, None])
    results = lab.read()
    lines = {line.label: line for line in series_of(results, "main", "beam", ["lcbo", "flat", "never"])}
    low, high = limits([lines["lcbo"]], 160.0, log=True)
    assert 150.0 < low < 160.0
    assert 300.0 < high < 320.0
    low, high = limits([lines["flat"]], None)
    assert low < 7.0 < high
    assert limits([lines["never"]], None) == (0.0, 1.0)
    assert isinstance(lines["never"], Series)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=10))
def test_names_keep_their_order_and_distance(wanted):
    step = 0.1
    places = apart(wanted, step)
    in_order = [places[i] for i in sorted(range(len(wanted)), key=lambda i: wanted[i])]
    assert all(b - a >= step - 1e-9 for a, b in itertools.pairwise(in_order))
    assert in_order[0] >= 0.0
    assert in_order[-1] <= 1.0 + 1e-9


def test_names_far_apart_stay_where_they_are():
    assert apart([0.9, 0.1, 0.5], 0.1) == pytest.approx([0.9, 0.1, 0.5])
    assert apart([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])


def test_methods_of_the_paper_are_strong_and_have_colors_of_their_own():
    strong = ["lcbo-authors", "lcbo-paper", "scbo", "hdsafebo", "cei-plain", "epbo"]
    assert len({STYLES[label].color for label in strong}) == 6
    assert all(STYLES[label].strong for label in strong)
    assert not any(STYLES[label].strong for label in ("lcbo", "cei", "scbo-original", "cobyqa", "sobol"))


def test_restart_statistics(lab):
    def event(kind, evaluations):
        return {"kind": kind, "length": 0.8, "iteration": 1, "evaluations": evaluations}

    lab.run("main", "truss-case1", "scbo", 0, [1.0], events=[event("restart", 300), event("restart", 700)])
    lab.run("main", "truss-case1", "scbo", 1, [1.0], events=[event("start", 25), event("restart", 400)])
    lab.run("main", "truss-case1", "scbo", 2, [1.0], events=[event("start", 25), event("failure", 400)])
    found = restarts(lab.read(), "truss-case1", "scbo")
    assert found.counts.to_dict() == {0: 2, 1: 1, 2: 0}
    assert (found.first.median, found.first.low, found.first.n) == (400.0, 350.0, 3)
    assert math.isinf(found.second.median)
