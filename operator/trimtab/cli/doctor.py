"""`trimtab doctor`: whether a cluster is ready for trimtab, and what to do where it is not."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

import click

from trimtab.cli.cluster import surveyor
from trimtab.cli.rows import columns, line
from trimtab.errors import TrimtabError

if TYPE_CHECKING:
    from trimtab.cli.checks import Finding


@click.command()
@click.option("--kubeconfig", help="Defaults to kubectl's configuration.")
@click.option("-n", "--namespace", help="Of pipelines; defaults to that of the current context.")
@click.option(
    "--storage-class",
    "classes",
    multiple=True,
    metavar="NAME",
    help="One that pipelines name, in place of the default; repeatable.",
)
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def doctor(
    kubeconfig: str | None, namespace: str | None, classes: tuple[str, ...], output: str
) -> None:
    """Check a cluster for trimtab, before or after the install, and say what to do.

    It only reads. Exit code 1 if a check fails; a warning is no failure.
    """
    from trimtab.cli.checks import Verdict, checked  # noqa: PLC0415 - it reads all kinds

    try:
        found = checked(surveyor().read_survey(namespace, kubeconfig), version("trimtab"), classes)
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error
    click.echo(as_json(found) if output == "json" else as_text(found))
    if any(each.verdict is Verdict.FAIL for each in found):
        sys.exit(1)


def as_text(found: Sequence[Finding]) -> str:
    """One line for each check."""
    rows = [
        (each.verdict, each.check, line(f"{each.words}{': ' if each.todo else ''}{each.todo}"))
        for each in found
    ]
    return "\n".join(columns(rows))


def as_json(found: Sequence[Finding]) -> str:
    """A list with an object for each check."""
    documents = [
        {"check": each.check, "verdict": each.verdict, "message": each.words, "do": each.todo}
        for each in found
    ]
    return json.dumps(documents, indent=1)
