"""Checks that every method must pass, shipped so that others can check their own.

    for check in lcbo.testing.checks:
        check("lcbo")                       # a registered name
        check(my_spec, {"batch": 2})        # or a MethodSpec, with options

A check raises AssertionError with what was expected. Nothing here needs pytest; with it, write
``@pytest.mark.parametrize("check", lcbo.testing.checks)``.
"""

from __future__ import annotations

from lcbo.testing import asking, reproducibility, telling  # noqa: F401  (each adds its checks)
from lcbo.testing.harness import CHECKS, Check, Drive, Subject

checks: tuple[Check, ...] = tuple(CHECKS)

__all__ = ["Check", "Drive", "Subject", "checks"]
