"""A method that stands before another one: what it does not change is the other's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lcbo.methods.protocol import Array, Belief, Forecast, Method

if TYPE_CHECKING:
    from lcbo.methods.decision import Prospects


class Wrapper(Method):
    """Passes on every question about model and answer; asks and tells are its own."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.setup = method.setup

    @property
    def diagnostics(self) -> Sequence[Any]:  # type: ignore[override]
        """What happened inside the method."""
        return self.method.diagnostics

    def recommend(self) -> Array | None:
        """Return the point the method believes best."""
        return self.method.recommend()

    def belief(self, u: Array) -> Belief | None:
        """Return the method's belief at a point."""
        return self.method.belief(u)

    def candidates(self) -> Array | None:
        """Return the points the method can vouch for."""
        return self.method.candidates()

    def forecast(self, u: Array) -> Forecast | None:
        """Return the belief of the method's model at points."""
        return self.method.forecast(u)

    def prospects(self) -> Prospects | None:
        """Return what the method knows of the candidates beyond its model."""
        return self.method.prospects()

    def remarks(self) -> Sequence[str]:
        """Return what the method learned about the problem."""
        return self.method.remarks()

    def surrogate(self) -> Any:
        """Return the method's model and its frame."""
        return self.method.surrogate()

    def info(self) -> Mapping[str, float]:
        """Return the numbers of the method."""
        return self.method.info()

    def state(self) -> dict[str, Any] | None:
        """Return the method's state."""
        return self.method.state()

    def extend(self, budget: int | None) -> None:
        """Take note of a new budget."""
        self.method.extend(budget)
        self.setup = self.method.setup
