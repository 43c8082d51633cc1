"""The commands that look back: what was decided about a pipeline, and why at some time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import IO

import click

from trimtab.api.history import Entry
from trimtab.cli.cluster import reader
from trimtab.cli.history import entries_of, history_in, table, time_of
from trimtab.cli.history import why as told
from trimtab.cli.which import naming
from trimtab.errors import TrimtabError

_of_history = naming("The ConfigMap NAME-history")


@click.command()
@_of_history
@click.option("--since", default="24h", show_default=True, help="A time, or a duration ago.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def history(since: str, output: str, **which: str | IO[str] | None) -> None:
    """List the decisions about a pipeline, newest last, as far back as its history goes."""
    _print(
        which, lambda found, now_s: table(found, time_of(since, now_s), as_json=output == "json")
    )


@click.command()
@_of_history
@click.option("--at", required=True, help="2026-01-31T10:00:00Z, 10:00 (UTC), or 2h: 2 hours ago.")
def why(at: str, **which: str | IO[str] | None) -> None:
    """Say which settings were in force at a time, and what led to them."""
    _print(which, lambda found, now_s: told(found, time_of(at, now_s)))


def _print(
    which: dict[str, str | IO[str] | None], words: Callable[[tuple[Entry, ...], float], str]
) -> None:
    try:
        click.echo(words(_entries(**which), time.time()))  # type: ignore[arg-type] # noqa: TID251
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error


def _entries(
    name: str | None, namespace: str | None, filename: IO[str] | None, kubeconfig: str | None
) -> tuple[Entry, ...]:
    if filename:
        return entries_of(history_in(filename.read()))
    if not name:
        raise click.UsageError("name a pipeline: NAME or -f FILE")
    instead = f"kubectl get configmap {name}-history -o yaml | trimtab history -f -"
    return entries_of(reader(instead).read_history(name, namespace, kubeconfig))
