"""`python -m tests.faults.table`: the fault tables of docs/reliability.md, from build/faults.

A row whose fault has not been run again stays as it is, with the commit of its run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.faults.catalogue import CATALOGUE
from tests.faults.lines import LINES
from tests.faults.record import ROOT, Row, recorded

PAGE = ROOT / "docs" / "reliability.md"
TABLES: Mapping[str, Mapping[str, str]] = {
    "<!-- faults -->": CATALOGUE,
    "<!-- lines -->": {key: line.title for key, line in LINES.items()},
}
END = "<!-- end -->"
HEAD = (
    "| fault | tried | records lost | twice: planned | twice: crash | longest unwell | it said"
    " | commit |",
    "|---|---|---|---|---|---|---|---|",
)
NOT_RUN = "not run yet"
UNKNOWN = "–"
SAID_MOST = 160


def rendered(page: str, rows: Mapping[str, Row]) -> str:
    """The page with the rows of these faults, and of the others as they were."""
    for begin, titles in TABLES.items():
        before, _, rest = page.partition(begin)
        table, _, after = rest.partition(END)
        lines = _lines(titles, table, rows)
        page = "\n".join([f"{before}{begin}", *HEAD, *lines, f"{END}{after}"])
    return page


def _lines(titles: Mapping[str, str], table: str, rows: Mapping[str, Row]) -> list[str]:
    old = {line.split("|")[1].strip(): line for line in table.splitlines() if line.count("|") > 7}
    return [
        _line(title, rows[fault]) if fault in rows else old.get(title, _not_run(title))
        for fault, title in titles.items()
    ]


def _line(title: str, row: Row) -> str:
    counts = (row.lost, row.duplicated_planned, row.duplicated_crash)
    tried = f"{row.tried:,}" + (f" in {row.over_s / 60:.0f} min" if row.over_s else "")
    unwell = UNKNOWN if row.unwell_s is None else f"{row.unwell_s:.0f} s"
    said = row.said or (LINES[row.fault].said if row.fault in LINES else "")
    cells = [title, tried, *(UNKNOWN if n is None else f"{n:,}" for n in counts), unwell]
    return f"| {' | '.join([*cells, _said(said), row.commit])} |"


def _said(words: str) -> str:
    """What was said, in one line that breaks no table."""
    text = " ".join(words.replace("|", "/").split())
    return f"{text[: SAID_MOST - 1]}…" if len(text) > SAID_MOST else text or UNKNOWN


def _not_run(title: str) -> str:
    return f"| {title} | {NOT_RUN} | {' | '.join([UNKNOWN] * 6)} |"


def main(page: Path = PAGE) -> None:
    """Write the page."""
    page.write_text(rendered(page.read_text(), recorded()))


if __name__ == "__main__":
    main()
