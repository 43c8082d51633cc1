"""`trimtab import`: a StreamPipeline from what a Spark job is today."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from trimtab.cli.moving import checkpoint as offsets
from trimtab.cli.moving import script, spark_application, spark_submit
from trimtab.cli.moving.found import Found
from trimtab.errors import BadInputError, TrimtabError

FILES = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("import")
@click.argument("files", nargs=-1, type=FILES)
@click.option(
    "--checkpoint",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The job's checkpoint, or a copy of its folders offsets and commits: the pipeline begins"
    " where it ends.",
)
@click.option("--name", help="Of the pipeline; default: that of the job.")
def import_(files: tuple[Path, ...], checkpoint: Path | None, name: str | None) -> None:
    """Print a StreamPipeline for a Spark job of today.

    FILES: a SparkApplication (YAML; `kubectl get sparkapplication NAME -o yaml`), a file with its
    spark-submit line, and its Python script, which is read and not run. What could not be carried
    over is told line by line, in comments and on standard error.
    """
    if not files and checkpoint is None:
        raise click.UsageError("name a SparkApplication, a spark-submit line, a script, or more")
    try:
        found = Found()
        if checkpoint is not None:
            found.add(offsets.from_checkpoint(checkpoint))
        for file in files:
            found.add(_read(file))
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error
    click.echo(found.text(name), nl=False)
    for line in (*found.missing, *found.notes):
        click.echo(line, err=True)


def _read(file: Path) -> Found:
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
