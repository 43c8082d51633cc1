"""What the built site lacks: targets of links, anchors, and independence of other hosts."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""What a browser loads by itself: it must come from the site."""

NOT_LOADED = {"canonical", "prev", "next", "alternate"}
"""The `rel` of a `link` that is only a hint."""

FETCHED = {"mermaid", "glightbox", "pyodide"}
"""Classes of elements for which the theme fetches a script from another host."""


class Page(HTMLParser):
    """The anchors of one page, what it links to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.classes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what this element has."""
        has = {name: value or "" for name, value in attrs}
        self.ids |= {has[name] for name in ("id", "name") if name in has}
        self.classes |= set(has.get("class", "").split())
        if tag == "a" and "href" in has:
            self.links.append(has["href"])
        elif has.get(LOADED.get(tag, "")) and has.get("rel") not in NOT_LOADED:
            self.loads.append(has[LOADED[tag]])


def _read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text())
    return page


def _target(page: Path, site: Path, path: str) -> Path:
    """The file that a path on a page leads to; a folder stands for its index."""
    start = site if path.startswith("/") else page.parent
    found = (start / unquote(path).lstrip("/")).resolve() if path else page
    return found / "index.html" if found.is_dir() else found


def faults(site: Path) -> Iterator[str]:
    """Everything that is wrong, each in a line; the page for what is not found is no page."""
    site = site.resolve()
    paths = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    pages = {path: _read(path) for path in paths}
    for path, page in pages.items():
        name = path.relative_to(site)
        for each in sorted(FETCHED & page.classes):
            yield f"{name}: {each} fetches a script from another host"
        for address in page.loads:
            url = urlsplit(address)
            if url.netloc:
                yield f"{name}: loads {address} from another host"
        for address in [*page.links, *page.loads]:
            url = urlsplit(address)
            if url.scheme or url.netloc:
                continue
            target, anchor = _target(path, site, url.path), unquote(url.fragment)
            if not target.is_file():
                yield f"{name}: {address} leads nowhere"
            elif anchor and target in pages and anchor not in pages[target].ids:
                yield f"{name}: {address} has no such anchor"
