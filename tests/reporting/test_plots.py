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
