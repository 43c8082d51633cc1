"""`trimtab import`: a StreamPipeline from what a Spark job is today."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from trimtab.cli.cluster import spark_applications
from trimtab.cli.moving import checkpoint as offsets
from trimtab.cli.moving import script, spark_application, spark_submit
from trimtab.cli.moving.found import Found
from trimtab.errors import BadInputError, TrimtabError

IN_CLUSTER = "sparkapplication/"
"""What the name of a SparkApplication in a cluster begins with."""


@click.command("import")
@click.argument("jobs", nargs=-1)
@click.option(
    "--checkpoint",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The job's checkpoint, or a copy of its folders offsets and commits: the pipeline begins"
    " where it ends.",
)
@click.option("--name", help="Of the pipeline; default: that of the job.")
@click.option("-n", "--namespace", help="Defaults to the namespace of the current context.")
@click.option("--kubeconfig", help="Defaults to kubectl's configuration.")
def import_(
    jobs: tuple[str, ...], checkpoint: Path | None, name: str | None, namespace: str | None,
    kubeconfig: str | None,
) -> None:  # fmt: skip
    """Print a StreamPipeline for a Spark job of today.

    JOBS: a SparkApplication, by sparkapplication/NAME in the cluster or as a file with its YAML; a
    file with its spark-submit line; and its Python script, which is read and not run. What could
    not be carried over is told line by line, in comments and on standard error.
    """
    if not jobs and checkpoint is None:
        raise click.UsageError("name a SparkApplication, a spark-submit line, a script, or more")
    try:
        found = Found()
        if checkpoint is not None:
            found.add(offsets.from_checkpoint(checkpoint))
        for job in jobs:
            if job.startswith(IN_CLUSTER):
                found.add(_from_cluster(job.removeprefix(IN_CLUSTER), namespace, kubeconfig))
            else:
                found.add(_read(Path(job)))
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error
    click.echo(found.text(name), nl=False)
    for line in (*found.missing, *found.notes):
        click.echo(line, err=True)


def _from_cluster(name: str, namespace: str | None, kubeconfig: str | None) -> Found:
    adapter = spark_applications(f"a file: kubectl get sparkapplication {name} -o yaml")
    manifest = adapter.read_spark_application(name, namespace, kubeconfig)
    return spark_application.from_application(manifest)


def _read(file: Path) -> Found:
    if not file.is_file():
        raise click.UsageError(f"{file} is no file; in a cluster it is {IN_CLUSTER}{file.name}")
    if file.suffix == ".py":
        return script.from_script(file)
    text = file.read_text(encoding="utf-8")
    if spark_submit.is_one(text) and file.suffix not in {".yaml", ".yml", ".json"}:
        return spark_submit.from_line(text)
    try:
        documents = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
    except yaml.YAMLError as error:
        raise BadInputError(f"{file} is no YAML: {error}") from error
    applications = [each for each in documents if spark_application.is_one(each)]
    if len(applications) != 1:
        raise BadInputError(
            f"{file} has {len(applications)} SparkApplications and no spark-submit line: name a"
            " file with one of either"
        )
    return spark_application.from_application(applications[0])
