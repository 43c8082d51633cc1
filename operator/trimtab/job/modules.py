"""The user's Python modules: files and archives that a ConfigMap or an object store brings."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

from trimtab.api.v1alpha1.transform import Archive
from trimtab.job import gateway
from trimtab.job.termination import JobFailureError, Reason


def found(folder: Path, work: Path) -> Iterator[Path]:
    """What can be imported and shipped to executors: .py files, and zip files of them.

    A wheel is a zip file, which Spark knows by its name alone, so `work` gets a copy of it.
    """
    yield from sorted(folder.glob("*.py"))
    yield from sorted(folder.glob("*.zip"))
    for wheel in sorted(folder.glob("*.whl")):
        copy = work / f"{wheel.name}.zip"
        shutil.copyfile(wheel, copy)
        yield copy


def fetch(archives: Iterable[Archive], work: Path, context: SparkContext) -> Iterator[Path]:
    """Copy archives from object stores into `work`.

    Raises:
        JobFailureError: one is not there, cannot be read, or is not the one of its hash.
    """
    for archive in archives:
        name = archive.uri.rpartition("/")[2]
        copy = work / (name if name.endswith(".zip") else f"{name}.zip")
        try:
            _copy(archive.uri, copy, context)
        except Py4JJavaError as error:
            said = str(error.java_exception.toString()).splitlines()[0]
            words = f"the archive {archive.uri} cannot be read: {said}"
            raise JobFailureError(Reason.MODULE_NOT_FOUND, words) from error
        has = hashlib.sha256(copy.read_bytes()).hexdigest()
        if has != archive.sha256:
            raise JobFailureError(
                Reason.MODULE_NOT_FOUND,
                f"the archive {archive.uri} is not the one that the spec names: its sha256 is"
                f" {has}",
            )
        yield copy


def _copy(uri: str, to: Path, context: SparkContext) -> None:
    """As Hadoop reads the URI, with the settings and the identity of the pipeline."""
    hadoop = gateway.classes(context).org.apache.hadoop.fs
    where = hadoop.Path(uri)
    files = where.getFileSystem(gateway.hadoop_configuration(context))
    files.copyToLocalFile(False, where, hadoop.Path(f"file://{to}"), True)
