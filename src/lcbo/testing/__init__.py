"""Checks that every method must pass, shipped so that others can check their own.

    for check in lcbo.testing.checks:
        check("lcbo")                       # a registered name
        check(my_spec, {"batch": 2})        # or a MethodSpec, with options

A check raises AssertionError with what was expected. Nothing here needs pytest; with it, write
``@pytest.mark.parametrize("check", lcbo.testing.checks)``.
"""

from __future__ import annotations

from lcbo.testing import asking, declaring, telling
from lcbo.testing import reproducibility as repeating
from lcbo.testing.harness import Check, Run, Subject

checks: tuple[Check, ...] = (*asking.CHECKS, *telling.CHECKS, *repeating.CHECKS, *declaring.CHECKS)

__all__ = ["Check", "Run", "Subject", "checks"]
