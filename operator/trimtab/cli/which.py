"""Which pipelines a command is about: named in a cluster, or in a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

import click

from trimtab.cli.cluster import reader
from trimtab.cli.manifests import pipelines_in
from trimtab.ports import Manifest

Command = Callable[..., None]


def naming(file: str) -> Callable[[Command], Command]:
    """The options that name an object: by a pipeline's name in a cluster, or from a `file`."""

    def with_options(command: Command) -> Command:
        for option in (
            click.option("--kubeconfig", help="Defaults to kubectl's configuration."),
            click.option("-f", "--filename", type=click.File(),
                         help=f"{file}; - reads standard input."),
            click.option("-n", "--namespace",
                         help="Defaults to the namespace of the current context."),
            click.argument("name", required=False),
        ):  # fmt: skip
            command = option(command)
        return command

    return with_options


of_pipelines = naming("YAML or JSON")


def pipelines(
    name: str | None, namespace: str | None, filename: IO[str] | None, kubeconfig: str | None
) -> list[Manifest]:
    """The named pipelines, from a file or the cluster; empty if none is named."""
    if filename:
        return pipelines_in(filename.read(), name, namespace)
    return [_from_cluster(name, namespace, kubeconfig)] if name else []


def _from_cluster(name: str, namespace: str | None, kubeconfig: str | None) -> Manifest:
    instead = f"kubectl get spl {name} -o yaml | trimtab explain -f -"
    return dict(reader(instead).read_pipeline(name, namespace, kubeconfig))
