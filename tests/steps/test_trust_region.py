"""The bookkeeping of a trust region against a table written by hand."""

from __future__ import annotations

import pytest

from lcbo.steps.trust_region import Region, Rules

TABLE_1 = (0.8, 2.0**-7, 1.6)


@pytest.mark.parametrize(
    ("dim", "batch", "successes", "failures"),
    [(25, 13, 3, 2), (50, 25, 5, 2), (102, 51, 11, 2), (2, 1, 3, 2), (25, 1, 3, 25), (25, 4, 3, 7)],
)
def test_tolerances_are_those_of_table_1(dim: int, batch: int, successes: int, failures: int) -> None:
    assert Rules.of(TABLE_1, dim, batch) == Rules(0.8, 2.0**-7, 1.6, successes, failures)


def test_given_tolerances_replace_the_table() -> None:
    assert Rules.of(TABLE_1, 25, 13, 4, 9) == Rules(0.8, 2.0**-7, 1.6, 4, 9)


# outcome of a batch -> length, successes, failures, restarts after it, and the events; tolerances 3 and 2
TABLE = [
    ("S", 0.8, 1, 0, 0, [("success", 0.8)]),
    ("S", 0.8, 2, 0, 0, [("success", 0.8)]),
    ("F", 0.8, 0, 1, 0, [("failure", 0.8)]),  # successes are consecutive
    ("S", 0.8, 1, 0, 0, [("success", 0.8)]),  # and so are failures
    ("S", 0.8, 2, 0, 0, [("success", 0.8)]),
    ("S", 1.6, 0, 0, 0, [("success", 1.6)]),  # the third doubles
    ("S", 1.6, 1, 0, 0, [("success", 1.6)]),  # counting starts anew
    ("S", 1.6, 2, 0, 0, [("success", 1.6)]),
    ("S", 1.6, 0, 0, 0, [("success", 1.6)]),  # no longer than the most
    ("F", 1.6, 0, 1, 0, [("failure", 1.6)]),
    ("F", 0.8, 0, 0, 0, [("failure", 0.8)]),  # the second halves
    ("F", 0.8, 0, 1, 0, [("failure", 0.8)]),
    ("F", 0.4, 0, 0, 0, [("failure", 0.4)]),
    ("F", 0.4, 0, 1, 0, [("failure", 0.4)]),
    ("F", 0.2, 0, 0, 0, [("failure", 0.2)]),
    ("F", 0.2, 0, 1, 0, [("failure", 0.2)]),
    ("F", 0.1, 0, 0, 0, [("failure", 0.1)]),
    ("F", 0.1, 0, 1, 0, [("failure", 0.1)]),
    ("F", 0.05, 0, 0, 0, [("failure", 0.05)]),
    ("F", 0.05, 0, 1, 0, [("failure", 0.05)]),
    ("F", 0.025, 0, 0, 0, [("failure", 0.025)]),
    ("F", 0.025, 0, 1, 0, [("failure", 0.025)]),
    ("F", 0.0125, 0, 0, 0, [("failure", 0.0125)]),
    ("F", 0.0125, 0, 1, 0, [("failure", 0.0125)]),
    ("F", 0.8, 0, 0, 1, [("failure", 0.00625), ("restart", 0.8)]),  # 0.00625 < 2^-7
    ("F", 0.8, 0, 1, 1, [("failure", 0.8)]),
    ("S", 0.8, 1, 0, 1, [("success", 0.8)]),
]


def test_region_follows_the_table() -> None:
    rules, region = Rules.of(TABLE_1, 25, 13), Region(0.8)
    for row, (outcome, length, successes, failures, restarts, events) in enumerate(TABLE):
        region, changes = region.judged(outcome == "S", rules)
        assert (region, list(changes)) == (Region(length, successes, failures, restarts), events), row


def test_length_equal_to_the_least_is_no_restart() -> None:
    region, changes = Region(0.5).judged(False, Rules(1.0, 0.25, 2.0, 1, 1))
    assert (region, changes) == (Region(0.25), (("failure", 0.25),))
