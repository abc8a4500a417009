import math

import numpy as np
import pytest

from lcbo.errors import ArgumentError
from lcbo.problem.constraint import Constraint, Objective
from lcbo.terms import Term


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stress <= 40000", Constraint("stress", ub=40000)),
        ("stress<=40_000", Constraint("stress", ub=40000)),
        ("40000 >= stress", Constraint("stress", ub=40000)),
        ("a >= 1", Constraint("a", lb=1)),
        ("-1e-3 <= a", Constraint("a", lb=-1e-3)),
        ("0 <= y <= 3", Constraint("y", lb=0, ub=3)),
        ("3 >= y >= 0", Constraint("y", lb=0, ub=3)),
        ("max stress <= 2", Constraint("max stress", ub=2)),
        ("h == 0 +/- 1e-3", Constraint("h", eq=0, tol=1e-3)),
        ("h == -2 ± 0.5", Constraint("h", eq=-2, tol=0.5)),
    ],
)
def test_text_is_read(text, expected):
    assert Constraint.parse(text) == expected


@pytest.mark.parametrize(
    "text", ["", "stress", "a < 3", "a <= b", "1 <= 2", "a <= 1 >= 0", "0 <= 1 <= a", "a <= nan"]
)
def test_wrong_text_is_refused(text):
    with pytest.raises(ArgumentError):
        Constraint.parse(text)


def test_equality_text_without_tolerance_says_how_to_give_one():
    with pytest.raises(ArgumentError, match=r"Constraint\('h', eq=0, tol=1e-3\)"):
        Constraint.parse("h == 0")


@pytest.mark.parametrize(
    "constraint", [Constraint("y", lb=-1, ub=2), Constraint("y", ub=0), Constraint("y", eq=1, tol=0.1)]
)
def test_text_form_reads_back(constraint):
    assert Constraint.parse(str(constraint)) == constraint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eq": 0.0}, "tolerance beside eq=0"),
        ({"eq": 0.0, "tol": 0.0}, "above 0"),
        ({"eq": 0.0, "tol": 1e-3, "ub": 1.0}, "either eq"),
        ({"tol": 1e-3, "ub": 1.0}, "tol only beside eq"),
        ({}, "a finite lb, ub or eq"),
        ({"lb": -math.inf, "ub": math.inf}, "a finite lb, ub or eq"),
        ({"lb": 2.0, "ub": 1.0}, "lb < ub"),
        ({"lb": 1.0, "ub": 1.0}, "use eq and tol"),
        ({"ub": math.nan}, "finite number"),
        ({"ub": "3"}, "finite number"),
    ],
)
def test_inconsistent_constraint_is_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message) as error:
        Constraint("stress", **arguments)
    assert "stress" in str(error.value)


@pytest.mark.parametrize("name", ["", " ", 3, None])
def test_name_must_be_text(name):
    with pytest.raises(ArgumentError, match="non-empty text"):
        Constraint(name, ub=1)
    with pytest.raises(ArgumentError, match="non-empty text"):
        Objective(name)


def test_violation_is_the_distance_to_the_interval():
    two_sided = Constraint("y", lb=-1, ub=2)
    assert [two_sided.violation(v) for v in (-3.0, -1.0, 0.0, 2.0, 2.5)] == [2.0, 0.0, 0.0, 0.0, 0.5]
    equality = Constraint("h", eq=1, tol=0.25)
    assert [equality.violation(v) for v in (0.5, 0.75, 1.0, 1.5)] == [0.25, 0.0, 0.0, 0.25]
    assert not two_sided.holds(math.nan)


def test_terms_have_one_side_each():
    assert Constraint("y", lb=-1, ub=2).terms(3) == (Term(3, 1.0, 2.0), Term(3, -1.0, -1.0))
    assert Constraint("h", eq=1, tol=0.5).terms(1) == (Term(1, 1.0, 1.0, equality=True, tol=0.5),)


def test_slack_is_the_distance_to_the_nearer_limit():
    values = np.array([1.0, 2.5, 4.0, -1.0])
    assert Constraint.parse("0 <= c <= 3").slack(values).tolist() == [1.0, 0.5, -1.0, -1.0]
    assert Constraint.parse("h == 1 +/- 0.5").slack(values).tolist() == [0.5, -1.0, -2.5, -1.5]
    assert Constraint.parse("c <= 3").slack(2.0) == 1.0
