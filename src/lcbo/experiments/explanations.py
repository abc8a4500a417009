"""Why a claim came out as it did, as far as we can tell: by claim, for the verdict it was written for.

An explanation whose verdict no longer is the computed one is not shown, so that new runs cannot leave a wrong
reason standing.
"""

from __future__ import annotations

from collections.abc import Mapping

_TRUSS = (
    "On the truss `lcbo-paper` mostly walks outside: on the true functions the minimiser of its penalised "
    "objective breaks the displacement limit by 0.19 at k = 1 and by 0.07 at k = 150, near the end of the "
    "budget (outputs scaled by their spread over the box), so feasible points come from exploration and "
    'noise (compare the violation of the recommended point, under "What a user is handed").'
)

EXPLANATIONS: Mapping[str, Mapping[str, str]] = {
    "real-best": {"partly": _TRUSS, "not": _TRUSS},
    "penalty-weak": {
        "agree": "The weaker the penalty, the farther outside its minimiser: by 0.19 of the displacement "
        "limit already at rho = 10, on the true functions."
    },
}


def explanation(key: str, verdict: str) -> str:
    """Return our explanation of a claim with this verdict, empty where we have none."""
    return EXPLANATIONS.get(key, {}).get(verdict.split(" so far")[0], "")
