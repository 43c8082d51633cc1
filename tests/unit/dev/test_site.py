"""The site: what goes into it, what its navigation lists, and what fails its build."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dev.docs import check
from dev.docs.__main__ import CONFIG, PAGES, built, copied

ROOT = Path(__file__).parents[3]
BESIDE = {"docs/decisions", "examples", "bench/peers"}
"""Folders whose pages are reached by links, beside the navigation."""


def in_the_navigation(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    for each in entry.values() if isinstance(entry, dict) else entry if type(entry) is list else ():
        yield from in_the_navigation(each)


def test_the_navigation_lists_every_page_once_and_nothing_else() -> None:
    listed = list(in_the_navigation(yaml.safe_load((ROOT / CONFIG).read_text())["nav"]))
    assert len(set(listed)) == len(listed)
    assert [name for name in listed if not (ROOT / name).is_file()] == []
    pages = {path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")}
    missing = {
        str(path) for path in pages if not any(str(path).startswith(folder) for folder in BESIDE)
    } - set(listed)
    assert missing == set()


@pytest.mark.parametrize("folder", sorted(BESIDE - {"bench/peers"}))
def test_what_is_beside_the_navigation_is_listed_on_a_page(folder: str) -> None:
    text = (ROOT / folder / "README.md").read_text()
    pages = [path for path in (ROOT / folder).rglob("*.md") if path != ROOT / folder / "README.md"]
    names = [str(path.relative_to(ROOT / folder)) for path in pages]
    assert [name for name in names if f"]({name})" not in text] == []


def test_a_picture_reads_on_any_background() -> None:
    pictures = list((ROOT / "docs/pictures").glob("*.svg"))
    assert len(pictures) >= 5
    for path in pictures:
        text = path.read_text()
        assert '<rect class="card"' in text, path.name
        assert "prefers-color-scheme: dark" in text, path.name
        assert "<title" in text, path.name
        assert re.findall(r"(?:href|src)=", text) == [], path.name


def test_the_site_takes_nothing_from_other_hosts() -> None:
    config = yaml.safe_load((ROOT / CONFIG).read_text())
    assert config["theme"]["font"] is False
    assert "analytics" not in str(config)


def test_what_is_copied_lies_as_in_the_repository(tmp_path: Path) -> None:
    repo, build = tmp_path / "repo", tmp_path / "build"
    for name in (*PAGES, CONFIG):
        path = repo / name / "page.md" if name in {"docs", "examples"} else repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (build / "pages").mkdir(parents=True)
    (build / "pages" / "old.md").touch()
    (build / "site").mkdir()
    copied(repo, build)
    found = {str(p.relative_to(build / "pages")) for p in (build / "pages").rglob("*")}
    assert {"README.md", "docs/page.md", "bench/peers/README.md"} <= found
    assert (build / CONFIG).read_text() == CONFIG
    assert not (build / "pages" / "old.md").exists()
    assert not (build / "site").exists()


@pytest.mark.parametrize(
    ("link", "fault"),
    [("#a", None), ("#b", "anchor does not exist"), ("other.md", "page does not exist")],
)
def test_a_dead_link_fails_the_build_and_is_told_plainly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], link: str, fault: str | None
) -> None:
    (tmp_path / CONFIG).write_text("site_name: t\ndocs_dir: pages\nsite_dir: site\n")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "README.md").write_text(f"# A\n\n[to]({link})\n")
    assert built(tmp_path) is (fault is None)
    told = capsys.readouterr().out
    assert (fault or "No issues found") in told
    assert "\x1b" not in told
    assert "Traceback" not in told


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "index.html").write_text('<h1 id="top">A</h1><a href="../">home</a>')
    (tmp_path / "s.css").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<a href="a/#top">', None),
        ('<a href="#here"></a><p id="here">', None),
        ('<a href="https://example.org/x">', None),
        ('<link rel="canonical" href="https://example.org/">', None),
        ('<link rel="stylesheet" href="s.css"><img src="data:image/png;base64,AA==">', None),
        ('<a href="b/">', "b/ leads nowhere"),
        ('<a href="a/#end">', "a/#end has no such anchor"),
        ('<a href="#end">', "#end has no such anchor"),
        ('<img src="a/x.png">', "a/x.png leads nowhere"),
        ('<pre class="mermaid">', "mermaid fetches a script"),
        ('<script src="https://example.org/x.js">', "loads https://example.org/x.js from another"),
        ('<link rel="stylesheet" href="//example.org/f">', "loads //example.org/f from another"),
    ],
)
def test_a_page_with_a_fault_is_told(site: Path, html: str, fault: str | None) -> None:
    (site / "index.html").write_text(html)
    found = list(check.faults(site))
    assert [fault in found[0] if fault else False for _ in found] == ([True] if fault else [])
