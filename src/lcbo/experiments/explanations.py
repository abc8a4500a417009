"""Why a claim came out as it did, as far as we can tell: by claim, for the verdict it was written for.

An explanation whose verdict no longer is the computed one is not shown, so that new runs cannot leave a wrong
reason standing.
"""

from __future__ import annotations

from collections.abc import Mapping

EXPLANATIONS: Mapping[str, Mapping[str, str]] = {}


def explanation(key: str, verdict: str) -> str:
    """Return our explanation of a claim with this verdict, empty where we have none."""
    return EXPLANATIONS.get(key, {}).get(verdict.split(" so far")[0], "")
