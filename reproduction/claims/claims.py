"""The paper's claims, each judged by an explicit rule from the runs that are there.

A claim consists of checks; a check compares numbers and holds or does not. It is decided when every number
in it stands for at least `LEAST` runs. All decided checks hold: agree. None: not. Otherwise: partly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reproduction.harness.results import Results

LEAST = 3  # runs below which nothing is decided
AGREE, PARTLY, NOT, FEW, NONE = "agree", "partly", "not", "not enough runs yet", "not run yet (n = 0)"


@dataclass(frozen=True)
class Check:
    """One comparison.

    Attributes:
        id: short name, unlike that of any other check of the claim; it does not depend on the runs.
        what: what has to be so.
        seen: the numbers, each with its n.
        holds: whether it is so; ``None`` while there are too few runs.
        n: the fewest runs behind a number of it.
    """

    id: str
    what: str
    seen: str
    holds: bool | None
    n: int


def check(id: str, what: str, seen: str, holds: bool, n: int) -> Check:
    """Return a check that is decided if there are runs enough."""
    return Check(id, what, seen, bool(holds) if n >= LEAST else None, n)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and how it is judged.

    Attributes:
        key: short name.
        title: the statement in a few words.
        says: the statement.
        rule: when a check holds, in words.
        checks: computes the checks for one version of LCBO (the label of an entry of ``main``).
        both: whether the claim is about LCBO as such, so that our default is judged as well.
    """

    key: str
    title: str
    says: str
    rule: str
    checks: Callable[[Results, str], Sequence[Check]]
    both: bool = True


@dataclass(frozen=True)
class Judged:
    """A claim with its checks for the paper's LCBO and, where it applies, for our default."""

    claim: Claim
    checks: Sequence[Check]
    default_checks: Sequence[Check]

    @property
    def verdict(self) -> str:
        """The verdict for ``lcbo-paper``."""
        return verdict(self.checks)

    @property
    def default_verdict(self) -> str:
        """The verdict for ``lcbo``; empty where the claim is not about it."""
        return verdict(self.default_checks) if self.default_checks else ""

    @property
    def decided(self) -> bool:
        """Whether every check for ``lcbo-paper`` is decided."""
        return all(check.holds is not None for check in self.checks)

    @property
    def n(self) -> str:
        """The numbers of runs behind the decided checks, or behind all where none is."""
        counts = [c.n for c in self.checks if c.holds is not None] or [c.n for c in self.checks]
        least, most = min(counts), max(counts)
        return str(least) if least == most else f"{least} to {most}"


def verdict(checks: Sequence[Check]) -> str:
    """Return agree, partly or not by the checks that are decided, and how many are not."""
    decided = [c.holds for c in checks if c.holds is not None]
    if not decided:
        return FEW if any(c.n for c in checks) else NONE
    word = AGREE if all(decided) else PARTLY if any(decided) else NOT
    open_ = len(checks) - len(decided)
    return f"{word} so far ({open_} of {len(checks)} checks open)" if open_ else word
