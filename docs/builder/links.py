"""Every link within the site is followed when it is built: files and anchors; the network is not asked."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


class Page(HTMLParser):
    """The links and anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of what a tag refers to and what it may be called."""
        del tag
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def dead(site: Path) -> list[str]:
    """Return every link of a site that leads nowhere."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not file.exists() or (anchor and file in pages and anchor not in pages[file].anchors):
                found.append(f"{path.relative_to(site.resolve())}: {link}")
    return sorted(found)


def check(app: Sphinx, error: Exception | None) -> None:
    """Fail the build on a dead link."""
    if error is None and app.builder.name == "html":
        for broken in dead(Path(app.outdir)):
            logger.warning("leads nowhere: %s", broken)
            app.statuscode = 1


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
