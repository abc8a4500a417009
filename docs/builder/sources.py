"""The code of the repository as pages of the site, and the links into it.

Pages link to files as GitHub understands it (`[deck](../examples/input_deck/run.py)`), or just name them
(`steps/landing.py`, or `steps/landing.py: Landing.margin` for a definition in it): in the site both lead to
the highlighted file. A path that does not exist is a warning, and so an error.
"""

from __future__ import annotations

import ast
import html
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "lcbo"
GALLERY = ROOT / "examples" / "gallery"
NAMED = re.compile(r"(?P<path>[\w/.-]+\.py)(?:: (?P<name>[\w.]+))?")
ELSEWHERE = {  # files outside docs/ that are a page of the site
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "examples/gallery/README.rst": "gallery/index",
}
logger = logging.getLogger(__name__)


def shown(app: Sphinx) -> list[Path]:
    """Return the files that have a page: all of the package, and what pages link to."""
    linked = {
        Path(node["file"])
        for name in app.env.found_docs
        for node in app.env.get_doctree(name).findall(nodes.reference)
        if page_of(Path(node.get("file", ROOT / "README.md"))).startswith("source/")
    }
    return sorted(linked | set(PACKAGE.rglob("*.py")))


def page_of(path: Path) -> str:
    """Return the name of a file's page; examples of the gallery are executed ones."""
    name = path.relative_to(ROOT).as_posix()
    if path.parent == GALLERY and path.suffix == ".py":
        return f"gallery/{path.stem}"
    return ELSEWHERE.get(name, f"source/{name}")


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for every file, and the list of the modules with their first sentences."""
    for path in shown(app):
        text = path.read_text(encoding="utf-8")
        try:
            lexer = get_lexer_for_filename(path.name)
        except ClassNotFound:
            lexer = TextLexer()
        style = HtmlFormatter(
            cssclass="highlight source", linenos="inline", lineanchors="L", anchorlinenos=True
        )
        name = path.relative_to(ROOT).as_posix()
        body = f"<h1>{html.escape(name)}</h1>{highlight(text, lexer, style)}"
        yield page_of(path), {"title": name, "body": body}, "page.html"
    rows = []
    for path in sorted(PACKAGE.rglob("*.py")):
        said = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n\n")[0]
        link = f'<a href="src/lcbo/{path.relative_to(PACKAGE).as_posix()}.html">'
        rows.append(f"<dt>{link}{path.relative_to(PACKAGE)}</a></dt><dd>{html.escape(said)}</dd>")
    body = f"<h1>The modules of lcbo</h1><dl>{''.join(rows)}</dl>"
    yield "source/index", {"title": "Modules", "body": body}, "page.html"


@cache
def definitions(path: Path) -> dict[str, int]:
    """Return the line of every class, function, method and constant of a module, by its name in it."""
    lines: dict[str, int] = {}

    def note(body: list[ast.stmt], prefix: str = "") -> None:
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                lines[prefix + node.name] = node.lineno
                if isinstance(node, ast.ClassDef):
                    note(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        lines[prefix + target.id] = node.lineno

    note(ast.parse(path.read_text(encoding="utf-8")).body)
    return lines


def place(text: str, node: nodes.Element) -> tuple[Path, str] | None:
    """Return the file, and the anchor in it, that a text in code type names, if it names one."""
    match = NAMED.fullmatch(text)
    if match is None:
        return None
    path = next((p for p in (PACKAGE / match["path"], ROOT / match["path"]) if p.exists()), None)
    if path is None:
        if "/" in match["path"] and (PACKAGE / match["path"].partition("/")[0]).is_dir():
            logger.warning("no such module: %s", match["path"], location=node)
        return None
    if not match["name"]:
        return path, ""
    if match["name"] not in definitions(path):
        logger.warning("no %s in %s", match["name"], match["path"], location=node)
        return path, ""
    return path, f"#L-{definitions(path)[match['name']]}"


def link(app: Sphinx, doctree: nodes.document) -> None:
    """Let files outside docs/ that a page links to, or names, lead to their pages."""
    docname = app.env.docname

    def lead(node: nodes.Element, path: Path, anchor: str, *inner: nodes.Node) -> None:
        uri = app.builder.get_relative_uri(docname, page_of(path)) + anchor
        node.replace_self(nodes.reference("", "", *inner, refuri=uri, internal=True, file=str(path)))

    for node in list(doctree.findall(addnodes.download_reference)):
        path = (Path(app.srcdir) / docname).parent.joinpath(node["reftarget"]).resolve()
        if not path.is_relative_to(app.srcdir):
            lead(node, path, "", *node.children)
    for node in list(doctree.findall(addnodes.pending_xref)):
        path = Path(app.srcdir, node["reftarget"])
        found = [p for p in (path.with_name(path.name + kind) for kind in (".md", ".rst")) if p.exists()]
        if node["refdomain"] == "doc" and found and not path.is_relative_to(app.srcdir):
            lead(node, found[0], "", *node.children)
    for node in list(doctree.findall(nodes.literal)):
        inside = isinstance(node.parent, nodes.reference | addnodes.pending_xref)
        if not inside and (named := place(node.astext(), node)):
            lead(node, *named, node.deepcopy())


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return where a documented object is defined; all of these pages lie in docs/reference/api."""
    if domain != "py":
        return None
    found: Any = import_module(info["module"])
    for part in info["fullname"].split("."):
        found = getattr(found, part, None)
    found = inspect.unwrap(found.fget if isinstance(found, property) else found)
    try:
        path, line = Path(inspect.getsourcefile(found) or ""), inspect.getsourcelines(found)[1]
    except (TypeError, OSError):
        return None
    return f"../../{page_of(path)}.html#L-{line}" if path.is_relative_to(PACKAGE) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect both."""
    app.connect("html-collect-pages", pages)
    app.connect("doctree-read", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
