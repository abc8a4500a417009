"""Records that cross module borders, and the glossary of symbols used in the whole library.

Symbols
    d           number of free variables (those with ``lb < ub``)
    n           number of evaluated points
    m           number of constrained outcomes; outputs are rows, row 0 the objective, rows 1..m these
    x           point in user units, all variables;  ``X`` is ``n x len(x)``
    u           point in the unit cube of the free variables;  ``U`` is ``n x d``
    B           number of outputs, ``1 + m``
    y           outputs of one evaluation, ``B`` of them, the objective always minimized;
                of several evaluations ``n x B``, in the models as one batch ``B x n``
    z           candidates or hypothetical points of the cube, ``p x d``; batches of them ``s x b x d``
    f, c, h     objective, inequality (``c <= 0``) and equality (``h = 0``) constraints
    lambda      Lagrange multipliers;  rho, eta  penalty weight and step size of iteration k
    Z_1, Z_2    repeats at the iterate (b1 of them) and exploration points (b2 of them)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Status = Literal["pending", "done", "failed"]


@dataclass(frozen=True)
class Record:
    """How an evaluation went, for the records; no method ever sees it.

    Attributes:
        worker: where it ran.
        started: when it began, in seconds since the epoch; ``None`` when not known.
        seconds: how long it took.
        traceback: of the exception that made it fail.
        attempts: how often it was tried.
    """

    worker: str = ""
    started: float | None = None
    seconds: float | None = None
    traceback: str = ""
    attempts: int = 1


@dataclass(frozen=True)
class Measured:
    """What a function may return where it knows how exact its values are.

    Attributes:
        values: the outcomes, in any form a function may return them.
        sem: standard error of the mean by outcome, in its units; names left out are not known.
    """

    values: Any
    sem: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """One evaluation on its way from ask to history; what happens to it makes its next state.

    Attributes:
        id: number of the candidate.
        x: the point in user units.
        u: the point in the unit cube of the free variables, as the method proposed it.
        role: ``init``, ``iterate``, ``explore`` or ``confirm``; ``data`` for an evaluation brought along.
        iteration: the method's iteration that asked for the point.
        status: ``pending``, ``done`` or ``failed``.
        outcomes: what came, by name, in user units; partial while pending, without the names that never
            came when done, empty when failed.
        failed: the reason of a failure.
        record: where and how it ran.
        sem: standard errors of the outcomes, by name, where they are known.
        seed: a number of its own while it is evaluated, for a function that draws random numbers.
    """

    id: int
    x: Array
    u: Array
    role: str
    iteration: int
    status: Status = "pending"
    outcomes: Mapping[str, float] = field(default_factory=dict)
    failed: str | None = None
    record: Record = Record()
    sem: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None


Candidate = Evaluation
"""What `ask` returns: an evaluation that is pending."""
