"""The commands of the CLI."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import click
import yaml

from trimtab.api.knobs import COMPRESSIONS, PRODUCER_BATCH, PRODUCER_IN_FLIGHT, PRODUCER_LINGER
from trimtab.api.quantities import parse_duration
from trimtab.cli.doctor import doctor
from trimtab.cli.import_command import import_
from trimtab.cli.past import history, why
from trimtab.cli.replay_command import replay
from trimtab.cli.report_command import report
from trimtab.cli.which import of_pipelines, pipelines
from trimtab.errors import TrimtabError
from trimtab.ports import Manifest


@click.group()
@click.version_option(package_name="trimtab")
def main() -> None:
    """Deploys Kafka + Spark pipelines on Kubernetes and tunes them to meet their goals."""


main.add_command(doctor)
main.add_command(history)
main.add_command(import_)
main.add_command(why)
main.add_command(replay)
main.add_command(report)


@main.command()
@click.option("--kubeconfig", envvar="TRIMTAB_KUBECONFIG", help="Defaults to the service account.")
def operator(kubeconfig: str | None) -> None:
    """Run the operator, configured by TRIMTAB_* environment variables."""
    # only the operator needs kopf and the clients: the driver's image has neither
    from trimtab.handlers.main import run  # noqa: PLC0415
    from trimtab.settings import OperatorSettings  # noqa: PLC0415

    try:
        sys.exit(run(OperatorSettings.from_environment(), kubeconfig))
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@of_pipelines
@click.option("--all", "everything", is_flag=True, help="Also what trimtab never moves.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "yaml"]),
    default="text",
    show_default=True,
)
def explain(everything: bool, output: str, **which: Any) -> None:
    """Explain in words what a StreamPipeline does and why; begins with what is for you to do."""
    from trimtab.cli.explain import explained  # noqa: PLC0415

    try:
        found = pipelines(**which)
        if not found:
            raise click.UsageError("name a pipeline: NAME or -f FILE")
        words = [explained(manifest) for manifest in found]
        documents = [each.document() for each in words]
        if output == "json":
            click.echo(json.dumps(documents if len(words) > 1 else documents[0], indent=1))
        elif output == "yaml":
            click.echo(yaml.safe_dump_all(documents, sort_keys=False, width=100), nl=False)
        else:
            click.echo("\n\n".join(each.text(everything=everything) for each in words))
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error


def _one_of(
    name: str | None, namespace: str | None, filename: IO[str] | None, kubeconfig: str | None,
    words: Callable[[Manifest], str],
) -> None:  # fmt: skip
    """Print what there is to say of the one pipeline that is named."""
    try:
        found = pipelines(name, namespace, filename, kubeconfig)
        if len(found) != 1:
            raise click.UsageError("name one pipeline: NAME or -f FILE")
        click.echo(words(found[0]))
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.option("--kubeconfig", help="Defaults to kubectl's configuration.")
@click.option("-n", "--namespace", help="Defaults to the namespace of the current context.")
@click.option("-A", "--all-namespaces", is_flag=True)
@click.option("-l", "--selector", default="", help="Label selector, as kubectl takes it.")
@click.option("-f", "--filename", type=click.File(), help="YAML or JSON; - reads standard input.")
@click.option("-w", "--watch", is_flag=True, help="Again every 5 seconds, until interrupted.")
def top(watch: bool, **which: Any) -> None:
    """Show all StreamPipelines in a table, those that need somebody first."""
    from trimtab.cli.top import shown  # noqa: PLC0415

    try:
        shown(which, click.echo, again=watch)
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@of_pipelines
def diff(
    name: str | None, namespace: str | None, filename: IO[str] | None, kubeconfig: str | None
) -> None:
    """Compare the knobs in a StreamPipeline's spec with what the tuner has learned."""
    from trimtab.cli.learned import diff as compared  # noqa: PLC0415

    _one_of(name, namespace, filename, kubeconfig, compared)


@main.command()
@of_pipelines
def patch(
    name: str | None, namespace: str | None, filename: IO[str] | None, kubeconfig: str | None
) -> None:
    """Print what the tuner has learned as a patch of tuning.initial, for Git."""
    from trimtab.cli.learned import patch as as_patch  # noqa: PLC0415

    _one_of(name, namespace, filename, kubeconfig, as_patch)


@main.command()
@of_pipelines
@click.option("--record-ms", type=float, help="Milliseconds of slot time per record.")
@click.option("--batch-ms", type=float, help="Target duration of a batch in milliseconds.")
@click.option("--executors", type=int)
@click.option("--cores", type=int, help="Task slots per executor.")
@click.option("--partitions", type=int, help="Partitions of the source's topics.")
@click.option("--record-bytes", type=float)
@click.option("--pending-ratio", type=float, default=2.0, show_default=True)
@click.option("--rate", type=float, help="Records per second to handle.")
@click.option("--call-ms", type=float, help="Milliseconds of a remote call, one per record.")
@click.option("--heap", help="Heap of each executor, e.g. 768Mi.")
@click.option("--allocated", help="Bytes that each executor allocates per second, e.g. 80Mi.")
@click.option("--occupied", help="What stays in the old generation, e.g. 200Mi.")
def size(
    name: str | None, namespace: str | None, filename: IO[str] | None, kubeconfig: str | None,
    **options: Any,
) -> None:  # fmt: skip
    """Calculate sizes from given figures or those of a pipeline, and show the derivation.

    Options override the figures of NAME or FILE.
    """
    from trimtab.cli.size import derivation, given, measured  # noqa: PLC0415

    try:
        found = pipelines(name, namespace, filename, kubeconfig)
        if len(found) > 1:
            raise click.UsageError("the file holds several pipelines: name one with NAME")
        click.echo(derivation((measured(found[0]) if found else {}) | given(options)))
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.option("-b", "--bootstrap-servers", required=True)
@click.option("-t", "--topic", required=True, help="The topic must exist.")
@click.option(
    "-F",
    "--client-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Properties of librdkafka for TLS and logins, a line each: security.protocol=SASL_SSL.",
)
@click.option("--record-bytes", type=click.IntRange(16, 900_000), default=1000, show_default=True)
@click.option("--seconds", type=click.FloatRange(1, 3600), default=10.0, show_default=True)
@click.option("--auto", is_flag=True, help="Tune the producer first, with at most 12 probes.")
@click.option("--latency", default="100ms", show_default=True, help="Goal of --auto: p95 to ack.")
@click.option("--probe-seconds", type=click.FloatRange(0.5, 60), default=2.0, show_default=True)
@click.option("--batch-bytes", type=click.IntRange(1, int(PRODUCER_BATCH.maximum)))
@click.option(
    "--in-flight",
    type=click.IntRange(1, int(PRODUCER_IN_FLIGHT.maximum)),
    help="More would break the order.",
)
@click.option("--linger-ms", type=click.IntRange(0, int(PRODUCER_LINGER.maximum)))
@click.option("--compression", type=click.Choice(COMPRESSIONS))
@click.option("--json", "as_json", is_flag=True)
def produce(as_json: bool, auto: bool, latency: str, **options: Any) -> None:
    """Write to a topic as fast as possible for some seconds; with --auto, tune the producer first.

    The settings correspond to the knobs `producer.*` of a pipeline.
    """
    try:
        from trimtab.cli import produce as load  # noqa: PLC0415
    except ImportError as error:
        missing = "the Kafka client is missing: pip install 'trimtab[job]'"
        raise click.ClickException(missing) from error
    try:
        goal_s = parse_duration(latency) if auto else None
        result = load.run(options, goal_s, lambda words: click.echo(words, err=True))
    except (TrimtabError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(result, indent=1) if as_json else load.in_words(result))


@main.command()
@click.option("--scenario", type=click.Path(path_type=Path), required=True)
@click.option("--seeds", default="1", help="Comma-separated numbers.")
@click.option("--json", "as_json", is_flag=True, help="List of figures, one object per seed.")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with a chart."
)
def simulate(scenario: Path, seeds: str, as_json: bool, html: Path | None) -> None:
    """Run a scenario file in virtual time with the operator's own control core.

    The driver is read directly, as the chart has it, unless plant.metrics.direct_s says otherwise.
    """
    from trimtab.cli.simulate import simulated  # noqa: PLC0415

    try:
        click.echo(simulated(scenario, seeds, html, as_json=as_json))
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error


@main.group()
def policy() -> None:
    """Policies above pipelines."""


@policy.command("test")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write JUnit XML.")
def test_policies(folder: Path, junit: Path | None) -> None:
    """Run the PolicyTests below FOLDER against the policies in it; needs no cluster.

    Exit code 1 if a policy is wrong or an expectation is not met.
    """
    from trimtab.cli.policy import test  # noqa: PLC0415

    try:
        report, passed = test(folder, junit)
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error
    click.echo(report)
    if not passed:
        sys.exit(1)
