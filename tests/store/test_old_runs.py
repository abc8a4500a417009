"""Run files written by version 0.1 (commit 10897cf) continue, with the points that version went on with.

The default is another method now: its old run opens and goes on, elsewhere.
"""

import json
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lcbo import Optimizer, StoreError, StoreWarning
from lcbo.methods.classical.scipy_solvers import Cobyqa
from lcbo.methods.protocol import Proposal

GOLDEN = Path(__file__).parents[1] / "golden"


def outcomes(x: np.ndarray) -> dict[str, float]:
    return {"f": float(np.sum((x - 0.7) ** 2)), "c": float(np.mean(x)), "g": float(x[0] - x[1])}


def ended(method: str, folder: Path) -> list[tuple[int, list[float]]]:
    """Go on with an old run until its budget is spent; return what was asked for."""
    path = folder / "run.db"
    shutil.copy(GOLDEN / f"run_10897cf_{method}.sqlite", path)
    points = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)  # written by other versions
        with Optimizer.open(path) as optimizer:
            while batch := optimizer.pending or optimizer.ask():
                candidate = batch[0]
                points.append((candidate.id, candidate.x.tolist()))
                if candidate.id % 7 == 5:
                    optimizer.tell(candidate.id, failed="diverged")
                else:
                    optimizer.tell(candidate.id, outcomes(candidate.x))
            assert np.isfinite(optimizer.result().x).all()
    return points


@pytest.mark.parametrize("method", ["lcbo-paper", "cei", "scbo", "cobyqa"])
def test_old_run_goes_on_as_the_old_code_did(method: str, quick_folder: Path) -> None:
    points = ended(method, quick_folder)
    expected = json.loads((GOLDEN / f"run_10897cf_{method}.json").read_text())
    assert [id for id, _ in points] == [id for id, _ in expected]
    # Equal bit for bit where it was written; other processors round otherwise. The run of cei climbs by
    # L-BFGS, which has another line search now: it ends at the same maxima to what 20 steps resolve.
    close = 1e-6 if method == "cei" else 1e-7
    found, wanted = (np.array([x for _, x in each]) for each in (points, expected))
    if method == "lcbo-paper":  # its last three are corners of the box around the iterate before them, all
        for each in (found, wanted):  # of which teach the same: rounding says which come first
            each[9:] = np.abs(each[9:] - each[8])
        assert np.isclose(wanted[9:], 0.1).all()
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=close)


def test_run_of_another_processor_is_repeated_to_rounding(quick_folder: Path) -> None:
    """COBYQA resumes by repeating its calls; its proposals may differ in the last digits, not by more."""
    path = quick_folder / "run.db"
    for shift, fits in ((1e-12, True), (1e-5, False)):
        shutil.copy(GOLDEN / "run_10897cf_cobyqa.sqlite", path)
        with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
            warnings.simplefilter("ignore", StoreWarning)
            ask = Cobyqa.ask
            patch.setattr(Cobyqa, "ask", lambda *a, ask=ask, by=shift: [moved(p, by) for p in ask(*a)])
            if fits:
                Optimizer.open(path).close()
            else:
                with pytest.raises(StoreError, match="did not repeat them"):
                    Optimizer.open(path)


def moved(proposal: Proposal, by: float) -> Proposal:
    return replace(proposal, u=proposal.u + by)


def test_old_run_of_the_default_goes_on(quick_folder: Path) -> None:
    points = ended("lcbo", quick_folder)
    expected = json.loads((GOLDEN / "run_10897cf_lcbo.json").read_text())
    assert [id for id, _ in points] == [id for id, _ in expected]
    # What was in the queue when the file was written is asked for as it is.
    assert points[0][1] == expected[0][1]
    x = np.array([x for _, x in points])
    assert np.all((x >= 0.0) & (x <= 1.0))
