"""`python -m bench.live grid|contest|report`; see docs/benchmarks/live.md."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
from bench.live import contest, grid, page, plots
from bench.live.book import Book
from dev.localcluster import cluster
from dev.localcluster.failures import LocalClusterError
from dev.localcluster.paths import REPO, from_environment

FOLDER = REPO / "docs/benchmarks/live"

book_option = click.option(
    "--book", "path", type=click.Path(path_type=Path), default=FOLDER / "measured.json",
    help="File of the measurements; an existing one is continued.",
)  # fmt: skip
minutes_option = click.option(
    "--minutes", type=float, default=24 * 60.0, help="Begin nothing new after this time."
)


@click.group(help=__doc__)
def main() -> None:
    """The live comparison."""


@main.command("grid")
@book_option
@minutes_option
def grid_command(path: Path, minutes: float) -> None:
    """Measure the grid points that the book lacks, about an hour in total."""
    _on_the_cluster(grid.lacks, grid.measure, path, minutes)


@main.command("contest")
@book_option
@minutes_option
@click.option("--contender", "names", multiple=True, type=click.Choice(contest.CONTENDERS),
              default=contest.CONTENDERS, help="Default all.")  # fmt: skip
def contest_command(path: Path, minutes: float, names: tuple[str, ...]) -> None:
    """Run the contenders that the book lacks, 7.5 hours in total; measure the grid first."""
    lacks = partial(contest.lacks, contenders=names)
    _on_the_cluster(lacks, partial(contest.measure, contenders=names), path, minutes)


@main.command()
@book_option
@click.option("--out", type=click.Path(path_type=Path), default=FOLDER, help="Folder.")
def report(path: Path, out: Path) -> None:
    """Print the tables of the measurements; write them to the page, with decisions and pictures."""
    book = Book.open(path)
    text = page.markdown(book)
    click.echo(text)
    out.mkdir(parents=True, exist_ok=True)
    file = out.with_suffix(".md")
    file.write_text(page.inserted(file.read_text() if file.exists() else page.TITLE, text))
    (out / "decisions.md").write_text(f"{page.decisions(book)}\n")
    for shape in sorted({run["shape"] for run in book.runs}):
        runs = [run for run in book.runs if (run["shape"], run["repeat"]) == (shape, 0)]
        plots.picture(out / f"{shape}.png", shape, runs)


def _on_the_cluster(
    lacks: Callable[[Book], bool],
    measure: Callable[[Book, float], None],
    path: Path,
    minutes: float,
) -> None:
    book = Book.open(path)
    if not lacks(book):
        click.echo(f"{path}: everything is measured")
        return
    try:
        measure(book, time.time() + 60 * minutes)
    except (LocalClusterError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        cluster.down(from_environment())


if __name__ == "__main__":
    main()
