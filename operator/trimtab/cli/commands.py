"""The commands of the CLI."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import IO

import click

from trimtab.errors import BadInputError, TrimtabError
from trimtab.ports import Manifest


@click.group()
@click.version_option(package_name="trimtab")
def main() -> None:
    """Deploys Kafka + Spark pipelines on Kubernetes and holds their goal by itself."""


@main.command()
@click.option("--kubeconfig", envvar="TRIMTAB_KUBECONFIG", help="Default: the service account.")
def operator(kubeconfig: str | None) -> None:
    """Run the operator, set up by TRIMTAB_* environment variables."""
    # only the operator needs kopf and the clients: the driver's image has neither
    from trimtab.handlers.main import run  # noqa: PLC0415
    from trimtab.settings import OperatorSettings  # noqa: PLC0415

    try:
        sys.exit(run(OperatorSettings.from_environment(), kubeconfig))
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("name", required=False)
@click.option("-n", "--namespace", help="Default: that of the current context.")
@click.option("-f", "--filename", type=click.File(), help="YAML or JSON; - is standard input.")
@click.option("--kubeconfig", help="Default: kubectl's.")
def explain(
    name: str | None, namespace: str | None, filename: IO[str] | None, kubeconfig: str | None
) -> None:
    """Say in words what a StreamPipeline does, and why."""
    from trimtab.cli.explain import explain as in_words  # noqa: PLC0415
    from trimtab.cli.explain import pipelines_in  # noqa: PLC0415

    try:
        if filename:
            found = pipelines_in(filename.read(), name, namespace)
        elif name:
            found = [_from_cluster(name, namespace, kubeconfig)]
        else:
            raise click.UsageError("say which pipeline: NAME or -f FILE")
        click.echo("\n\n".join(in_words(manifest) for manifest in found))
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error


def _from_cluster(name: str, namespace: str | None, kubeconfig: str | None) -> Manifest:
    try:
        from trimtab.adapters.kubernetes import read_pipeline  # noqa: PLC0415
    except ImportError as error:
        raise BadInputError(
            f"{error.name} is not installed: pip install 'trimtab[operator]', or use"
            f" kubectl get spl {name} -o yaml | trimtab explain -f -"
        ) from error
    return read_pipeline(name, namespace, kubeconfig)


@main.command()
@click.option("--scenario", type=click.Path(path_type=Path), required=True)
@click.option("--seeds", default="1", help="Comma separated.")
@click.option("--json", "as_json", is_flag=True, help="A list of figures, one object per seed.")
def simulate(scenario: Path, seeds: str, as_json: bool) -> None:
    """Run a scenario file in virtual time with the operator's own control core."""
    from trimtab.simulation.figures import figures  # noqa: PLC0415
    from trimtab.simulation.run import simulate as run_simulation  # noqa: PLC0415
    from trimtab.simulation.scenario import load_scenario  # noqa: PLC0415

    try:
        loaded = load_scenario(scenario)
        numbers = [int(seed) for seed in seeds.split(",")]
        runs = [run_simulation(loaded, seed) for seed in numbers]
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error
    except ValueError as error:
        raise click.ClickException(f"--seeds: want numbers like 1,2,3 ({error})") from error
    if as_json:
        click.echo(json.dumps([figures(run) for run in runs], indent=1))
        return
    for run in runs:
        click.echo(f"seed {run.seed}:")
        for tick in run.ticks:
            for told in tick.decision.told:
                if told.action != "Hold":
                    words = f"{told.action} {told.reason}: {told.message}"
                    click.echo(f"  {tick.at_s:7.0f} s  {words}")
