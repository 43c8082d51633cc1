"""The command `trimtab replay`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trimtab.cli.cluster import prometheus
from trimtab.cli.history import time_of
from trimtab.cli.which import of_pipelines, pipelines
from trimtab.errors import BadInputError, TrimtabError

if TYPE_CHECKING:
    from trimtab.simulation.recorded import Series

LONGEST_S = 7 * 86_400.0
"""Prometheus gives at most 11,000 samples of a series."""


@click.command()
@of_pipelines
@click.option("--prometheus", "url", required=True, help="Address of the one that recorded it.")
@click.option("--last", default="24h", show_default=True, help="How far back, up to 7d.")
@click.option(
    "--policies",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with policies; without, only the spec counts.",
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the recorded load as a scenario, for simulate and policy test.",
)
def replay(url: str, last: str, policies: Path | None, save: Path | None, **which: Any) -> None:
    """Replay a pipeline's recorded load on what it has learned, beside what was.

    TRIMTAB_PROMETHEUS_USERNAME and TRIMTAB_PROMETHEUS_PASSWORD are its login, if it asks for one.
    """
    # the simulator is large, and no other command needs it
    from trimtab.cli.replay import Asked  # noqa: PLC0415
    from trimtab.cli.replay import replay as replayed  # noqa: PLC0415
    from trimtab.simulation.recorded import step_s  # noqa: PLC0415

    now_s = time.time()  # noqa: TID251 - a person asks for a time ago
    try:
        start_s = time_of(last, now_s)
        if now_s - start_s > LONGEST_S:
            raise BadInputError("--last: at most 7d")
        source = prometheus(url)

        def ask(promql: str) -> Series:
            return source.range(promql, start_s, now_s, step_s(now_s - start_s))

        found = pipelines(**which)
        if len(found) != 1:
            raise click.UsageError("name one pipeline: NAME or -f FILE")
        click.echo(replayed(found[0], ask, Asked(start_s, now_s, policies, save)))
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error
