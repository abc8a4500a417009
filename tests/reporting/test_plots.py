import sys

import pytest

import lcbo

pytestmark = pytest.mark.usefixtures("uniform")


def test_convergence_picture_is_written_without_pyplot(tmp_path, monkeypatch):
    result = lcbo.minimize(
        lambda x: (x.sum(), [0.5 - x[0]]), [(0, 1)] * 2, ["c <= 0"], budget=20, method="uniform"
    )
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it now fails
    path = tmp_path / "run.png"
    lcbo.plot_convergence(result, path, reference=0.5, label="sum")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_sensitivities_picture_names_outcomes_variables_and_costs(tmp_path):
    result = lcbo.minimize(
        lambda x: {"cost $": float(x[0] + 2 * x[1]), "room": float(1.0 - x[0] - x[1])},
        {"a": (0, 1), "b_$": (0, 2), "fixed": (1, 1)},
        ["room <= 0"],
        objective="cost $",
        budget=30,
        deterministic=True,
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
