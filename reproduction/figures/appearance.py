"""How methods and tasks look and are called in every figure: one color and dash per label, everywhere.

The methods have the color-blind safe colors of Okabe and Ito; the model-free peers are dark or gray and
dashed as well, and so is EPBO, which often lies on CEI. Variants of an ablation have colors no method has,
except that the paper's own configuration looks like ``lcbo-paper`` under whatever name. Penalty constants are
ordered, and so are their colors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """Color, dash pattern and width of a line."""

    color: str
    dash: str = "-"
    width: float = 1.6


_OWN = Style("#E69F00", width=2.2)

STYLES: Mapping[str, Style] = {
    "lcbo": Style("#D55E00", width=2.2),
    "lcbo-paper": _OWN,
    "scbo": Style("#0072B2"),
    "hdsafebo": Style("#56B4E9"),
    "cei": Style("#009E73"),
    "epbo": Style("#CC79A7", "--"),
    "cobyqa": Style("#000000", "--", 1.2),
    "cobyla": Style("#666666", "-.", 1.2),
    "cmaes": Style("#8B7500", "--", 1.2),
    "sobol": Style("#999999", ":", 1.6),
    "mini-batch": _OWN,
    "large-batch": Style("#332288"),
    "growing-batch": Style("#882255"),
    "no-local-gp": Style("#332288"),
    "no-local-box": Style("#44AA99"),
    "no-normalization": Style("#882255"),
    "growing": _OWN,
    "rho-1": Style("#440154"),
    "rho-10": Style("#3B528B"),
    "rho-100": Style("#21918C"),
    "rho-1000": Style("#7AC943"),
}
_OTHER = Style("#444444", ":")


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


NAMES: Mapping[str, str] = {
    "growing": r"$\rho_k = 10\,k^{1/4}$",
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
    return NAMES.get(label, label)
