"""Values in words: how texts are shortened, values described and durations written everywhere."""

from __future__ import annotations

from importlib import import_module


class Displayed:
    """Something a notebook shows as HTML; what makes it is loaded when it is needed."""

    def _repr_html_(self) -> str:
        shown: str = import_module("lcbo.reporting.notebook").html(self)
        return shown


def brief(text: str, most: int) -> str:
    """Return a text of at most ``most`` characters; three dots stand for what was cut off its end."""
    return text if len(text) <= most else text[: most - 3] + "..."


def shown(value: object, most: int = 200) -> str:
    """Return a value as it is written in Python, shortened, for an error message."""
    try:
        return brief(repr(value), most)
    except Exception:  # an integer of thousands of digits, or an object that cannot say what it is
        return f"<{type(value).__name__}>"


def described(value: object) -> str:
    """Return a value with its type, for an error message."""
    return f"{type(value).__name__} {shown(value, 60)}"


def duration(seconds: float) -> str:
    """Return a time span in words, with the two units that matter."""
    if seconds < 0.9995:
        ms = 1000.0 * seconds
        return f"{1000.0 * ms:.0f} µs" if ms < 0.1 else f"{ms:.0f} ms" if ms >= 9.95 else f"{ms:.2g} ms"
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    minutes, hours = seconds / 60.0, seconds / 3600.0
    if hours < 1.0:
        return f"{int(minutes)} min {int(seconds % 60)} s"
    if hours < 48.0:
        return f"{int(hours)} h {int(minutes % 60)} min"
    return f"{int(hours / 24)} days {int(hours % 24)} h"
