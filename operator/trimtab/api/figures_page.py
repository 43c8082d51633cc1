"""The figures as tables of a Markdown page.

`python -m trimtab.api.figures_page FILE` rewrites the tables of the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

from trimtab.api.figure import Figure
from trimtab.api.figures import DRIVER, OPERATOR
from trimtab.api.pipeline_figures import PIPELINE


def table(figures: tuple[Figure, ...]) -> str:
    """The figures as a Markdown table."""
    rows = ["| metric | type | labels | read by | meaning |", "|---|---|---|---|---|"]
    for figure in figures:
        labels = ", ".join(
            f"`{name}` = {values}" if values else f"`{name}`"
            for name, values in figure.labels.items()
        )
        cells = (f"`{figure.series}`", figure.type, labels, figure.reader, figure.help)
        rows.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join(rows)


def filled(page: str) -> str:
    """The page with the tables between `<!-- NAME -->` and `<!-- end -->` generated again."""
    tables = {"driver": DRIVER, "operator": OPERATOR, "pipeline": PIPELINE}
    for name, figures in tables.items():
        begin, end = f"<!-- figures: {name} -->\n", "<!-- end -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}\n{table(figures)}\n\n{end}{after}"
    return page


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        Path(argument).write_text(filled(Path(argument).read_text()))
