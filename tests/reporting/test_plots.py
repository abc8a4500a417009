import sys

import pytest

import lcbo
from lcbo.reporting.plots import plot_run

pytestmark = pytest.mark.usefixtures("uniform")


def test_convergence_picture_is_written_without_pyplot(tmp_path, monkeypatch):
    result = lcbo.minimize(
        lambda x: (x.sum(), [0.5 - x[0]]), [(0, 1)] * 2, ["c <= 0"], budget=20, method="uniform"
    )
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it now fails
    path = tmp_path / "run.png"
    lcbo.plot_convergence(result, path, reference=0.5, label="sum")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_picture_of_a_run_that_failed_says_so(tmp_path):
    path = tmp_path / "run.db"
    with pytest.raises(lcbo.TooManyFailuresError):
        lcbo.minimize(lambda _: 1 / 0, [(0, 1)] * 2, ["c <= 0"], "f", budget=20, store=path, method="sobol")
    figure = plot_run(lcbo.open_run(path))
    (axes,) = figure.axes  # there is no slack to draw
    assert axes.get_title() == "sobol: nothing succeeded after 10 evaluations"
    assert "no evaluation has succeeded" in [text.get_text() for text in axes.texts]
    assert axes.get_legend().get_texts()[-1].get_text() == "failed"


def test_legend_hides_no_point(tmp_path):
    names = [f"stress_in_a_member_with_a_long_name_{i}" for i in range(9)]
    result = lcbo.minimize(
        lambda x: (x.sum(), [0.5 - x[0]] * 9), [(0, 1)] * 2, [f"{name} <= 0" for name in names], "f",
        budget=8, method="sobol", store=tmp_path / "run.db",
    )  # fmt: skip
    assert result.nfev == 8
    figure = plot_run(lcbo.open_run(tmp_path / "run.db"))
    figure.canvas.draw()
    for axes in figure.axes:
        legend = axes.get_legend()
        assert legend.get_window_extent().x0 >= axes.get_window_extent().x1
        assert all(
            text.get_text().endswith("<= 0") for text in legend.get_texts() if "str" in text.get_text()
        )


def test_sensitivities_picture_names_outcomes_variables_and_costs(tmp_path):
    result = lcbo.minimize(
        lambda x: {"cost $": float(x[0] + 2 * x[1]), "room": float(1.5 - x[0] - x[1])},
        {"a": (0, 1), "b_$": (0, 2), "fixed": (1, 1)},
        ["room <= 0"],
        objective="cost $",
        budget=30,
        deterministic=True,
        rng=0,
        progress=False,
    )
    figure = lcbo.plot_sensitivities(result, tmp_path / "slopes.png")
    assert (tmp_path / "slopes.png").read_bytes().startswith(b"\x89PNG")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[0].startswith(r"cost \$")
    assert titles[1].startswith("room\nlimit costs ")
    assert {label.get_text() for label in figure.axes[0].get_yticklabels()} == {"a", r"b_\$"}
    changes = sorted(bar.get_width() for bar in figure.axes[0].patches)
    assert changes == pytest.approx([0.01, 0.04], rel=0.05)  # a hundredth of 1, and twice one of 2


def test_sensitivities_picture_needs_a_model():
    result = lcbo.minimize(lambda x: (x.sum(), []), [(0, 1)] * 2, budget=5, method="uniform")
    with pytest.raises(lcbo.ArgumentError, match="an answer with sensitivities"):
        lcbo.plot_sensitivities(result)
