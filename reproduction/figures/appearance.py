"""How methods and tasks look and are called in every figure: one color and dash per label, everywhere.

The methods of the paper's figures are strong: each has a hue of its own (after Okabe and Ito), a band, and
both readings of LCBO are wide. Everything else is thin and gray, told apart by its dashes. Variants of an
ablation have colors no method has, the readings apart by their dashes; penalty constants are ordered, and
so are their colors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """Color, dash pattern and width of a line; a strong one has a band."""

    color: str
    dash: str = "-"
    width: float = 1.6
    strong: bool = True


def _gray(shade: str, dash: str) -> Style:
    return Style(shade, dash, 0.9, strong=False)


_AUTHORS, _PAPER = Style("#D55E00", width=2.4), Style("#6A3D9A", width=2.4)
_VARIANTS = {
    "no-local-gp": "#0072B2",
    "no-local-box": "#009E73",
    "no-normalization": "#B07AA1",
    "rho-1": "#440154",
    "rho-10": "#3B528B",
    "rho-100": "#21918C",
    "rho-1000": "#7AC943",
}

STYLES: Mapping[str, Style] = {
    "lcbo-authors": _AUTHORS,
    "lcbo-paper": _PAPER,
    "scbo": Style("#0072B2"),
    "hdsafebo": Style("#009E73"),
    "cei-plain": Style("#CC79A7"),
    "epbo": Style("#222222", "--"),
    "lcbo": Style("#555555", "-", 1.2, strong=False),
    "cei": _gray("#777777", "--"),
    "scbo-original": _gray("#777777", "-."),
    "cobyqa": _gray("#999999", "--"),
    "cobyla": _gray("#999999", "-."),
    "cmaes": _gray("#999999", "-"),
    "sobol": _gray("#999999", ":"),
    "mini-batch": _PAPER,
    "large-batch": Style("#0072B2"),
    "growing-batch": Style("#009E73"),
    **{label: Style(color, "--") for label, color in _VARIANTS.items()},
    **{f"authors-{label}": Style(color) for label, color in _VARIANTS.items()},
}
_OTHER = _gray("#444444", ":")


@dataclass(frozen=True)
class View:
    """How a task is drawn.

    Attributes:
        title: above its panel.
        value: what the objective is, on the axis.
        log: whether its axis is logarithmic.
    """

    title: str
    value: str = "f"
    log: bool = False


VIEWS: Mapping[str, View] = {
    "synthetic-25": View("Synthetic, d = 25"),
    "synthetic-50": View("Synthetic, d = 50"),
    "synthetic-100": View("Synthetic, d = 100"),
    "truss-case1": View("Truss, load case 1, d = 25", "weight [lb]", log=True),
    "truss-node1": View("Truss, load at node 1, d = 25", "weight [lb]", log=True),
    "beam": View("Stepped beam, d = 50", "volume [in³]", log=True),
    "halfcheetah": View("HalfCheetah, d = 102", "negative velocity [m/s]"),
}


def style_of(label: str) -> Style:
    """Return the style of a label; one that is not known is gray and dotted."""
    return STYLES.get(label, _OTHER)


def view(task: str) -> View:
    """Return how a task is drawn; one that is not known under its own name."""
    return VIEWS.get(task, View(task))


_NAMES: Mapping[str, str] = {
    "rho-1": r"$\rho$ = 1",
    "rho-10": r"$\rho$ = 10",
    "rho-100": r"$\rho$ = 100",
    "rho-1000": r"$\rho$ = 1000",
    "mini-batch": "mini (2, 5)",
    "large-batch": "large (5, d)",
    "growing-batch": "growing",
    "no-local-gp": "no local GP",
    "no-local-box": "no local box",
    "no-normalization": "no normalization",
}


def shown(label: str) -> str:
    """Return what a label is called in a figure: a method by its name, a variant in words."""
    base = label.removeprefix("authors-")
    return (
        _NAMES[base] + (", code" if base != label else ", text")
        if base in _VARIANTS
        else _NAMES.get(label, label)
    )
