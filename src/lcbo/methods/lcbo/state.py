"""The versions of the state in run files.

Version 2 has one entry per component. Version 1, of lcbo 0.1, is flat and does not say its version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

VERSION = 2
_OF_THE_MODEL = ("kernel", "hyperparameters", "rescues", "uncertainty")


class Part(Protocol):
    """A part of the method that changes during a run."""

    def state(self) -> dict[str, Any]:
        """Return what changes, as JSON values."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; the evaluations before it have been told."""


def upgraded(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a state of any version in the form of today's.

    Raises:
        ValueError: the version is unknown.
    """
    if state.get("version") == VERSION:
        return state
    if "version" in state:
        raise ValueError(f"its state has version {state['version']!r}, this code reads 1 to {VERSION}")
    return {
        "version": VERSION,
        "iteration": state["iteration"],
        "queue": state["queue"],
        "batch": state["batch"],
        "iterate": None if state["x"] is None else {"u": state["x"], "step": state["last_step"]},
        "regime": {"index": state["regime"]},
        "model": {"ids": state["model_keys"], **{name: state[name] for name in _OF_THE_MODEL}},
        "step": {"radius": state["radius"]},
    }
