"""The command `trimtab report`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import IO, Any

import click

from trimtab.api.common import moment
from trimtab.api.history import Entry
from trimtab.cli.cluster import prometheus, reader
from trimtab.cli.history import entries_of, histories_in, time_of
from trimtab.cli.manifests import pipelines_in
from trimtab.cli.report import Found, Series, Span, recorded
from trimtab.cli.report import report as reported
from trimtab.cli.which import of_pipelines
from trimtab.errors import BadInputError, TrimtabError
from trimtab.ports import Manifest


@click.command()
@of_pipelines
@click.option("--last", default="24h", show_default=True, help="How far back.")
@click.option(
    "--prometheus", "url", help="Also draw what it recorded; without, only what was decided."
)
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Defaults to NAME-report.html."
)
def report(last: str, url: str | None, html: Path | None, **which: Any) -> None:
    """Write a page about a pipeline: goal held, cost, and its decisions on a chart.

    A FILE holds the StreamPipeline and, if it is to count, the ConfigMap NAME-history.
    """
    now_s = time.time()  # noqa: TID251 - a person asks for a time ago
    try:
        span = Span(time_of(last, now_s), now_s)
        manifest, entries = _found(**which)
        series = _recorded(url, manifest, span) if url else {}
        before = [entry for entry in entries if moment(entry.time) <= span.end_s]
        page = reported(manifest, Found(before, series), span)
        file = html or Path(f"{manifest['metadata']['name']}-report.html")
        file.write_text(page)
        click.echo(f"{file}: {len(before)} decisions are known")
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"cannot write the page: {error}") from error


def _recorded(url: str, manifest: Manifest, span: Span) -> dict[str, Series]:
    source = prometheus(url)
    return recorded(
        manifest, lambda promql: source.range(promql, span.start_s, span.end_s, span.step_s)
    )


def _found(
    name: str | None, namespace: str | None, filename: IO[str] | None, kubeconfig: str | None
) -> tuple[Manifest, tuple[Entry, ...]]:
    """The one pipeline, and the decisions about it."""
    if filename:
        text = filename.read()
        pipelines = pipelines_in(text, name, namespace)
        if len(pipelines) != 1:
            raise BadInputError("the file holds several pipelines: name one with NAME")
        histories = histories_in(text, pipelines[0])
        return pipelines[0], entries_of(histories[0]) if histories else ()
    if not name:
        raise click.UsageError("name a pipeline: NAME or -f FILE")
    kinds = f"kubectl get spl/{name} configmap/{name}-history -o yaml"
    cluster = reader(f"{kinds} | trimtab report -f -")
    manifest = dict(cluster.read_pipeline(name, namespace, kubeconfig))
    return manifest, entries_of(cluster.read_history(name, namespace, kubeconfig))
