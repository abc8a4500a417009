"""Formulas as MathML when the site is built: browsers show them without a script."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)
SPELT = {
    r"\arg": r"\operatorname{arg}",
    r"\bigl\lVert": r"\lVert",
    r"\bigr\rVert": r"\rVert",
}  # as the converter has it


def mathml(latex: str, node: nodes.Element, display: str) -> str:
    """Return a formula as MathML; what the converter does not know is a warning, and so an error."""
    for written, known in SPELT.items():
        latex = latex.replace(written, known)
    converted: str = convert(latex, display=display)
    unknown = re.findall(r">(\\\w+)<", converted)
    if unknown:
        logger.warning("no MathML for %s in %s", ", ".join(unknown), latex, location=node)
    return converted


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    self.body.append(mathml(node.astext(), node, "inline"))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own; on a narrow screen it scrolls by itself."""
    self.body.append(f'<div class="formula">{mathml(node.astext(), node, "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name that conf.py chooses."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
