"""Files in and beside a checkpoint: on a mounted volume or in a Hadoop file system.

A URI is read and written through Spark's own `CheckpointFileManager`, which treats each file system
as Spark does for its own logs, including atomic replacement.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from py4j.protocol import Py4JJavaError

from trimtab.job.gateway import JavaObject
from trimtab.job.termination import JobFailureError, Reason


class Storage(Protocol):
    """One directory; paths are relative to it, a missing file is no error."""

    def names(self, directory: str) -> list[str] | None:
        """The names in a directory; None if it does not exist."""

    def read(self, path: str) -> str | None:
        """The text of a file; None if it does not exist."""

    def modified_s(self, path: str) -> float:
        """When an existing file was last written, in seconds since 1970."""

    def replace(self, path: str, text: str) -> None:
        """Replace a file atomically."""


def local_path(uri: str) -> Path | None:
    """The local path of a URI; None if it is remote."""
    path = uri.removeprefix("file://") if uri.startswith("file:///") else uri
    path = path.removeprefix("file:")
    return None if "://" in path else Path(path)


class LocalStorage:
    """A mounted directory."""

    def __init__(self, root: Path) -> None:
        """`root` is created on the first write."""
        self._root = root

    def names(self, directory: str) -> list[str] | None:
        """The names in a directory; None if it does not exist."""
        path = self._root / directory
        return [f.name for f in path.iterdir()] if path.is_dir() else None

    def read(self, path: str) -> str | None:
        """The text of a file; None if it does not exist."""
        try:
            return (self._root / path).read_text(encoding="utf-8")
        except OSError:
            return None

    def modified_s(self, path: str) -> float:
        """When an existing file was last written, in seconds since 1970."""
        return (self._root / path).stat().st_mtime

    def replace(self, path: str, text: str) -> None:
        """Replace a file atomically."""
        file = self._root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)


class HadoopStorage:
    """A directory in any file system for which Hadoop has a connector.

    Every method raises JobFailureError if the file system does not answer.
    """

    def __init__(self, jvm: JavaObject, conf: JavaObject, root: str) -> None:
        """`conf` is Hadoop's configuration.

        Raises:
            JobFailureError: the file system is unknown or refuses access.
        """
        self._jvm, self._root = jvm, root
        checkpointing = jvm.org.apache.spark.sql.execution.streaming.checkpointing
        try:
            self._files = checkpointing.CheckpointFileManager.create(self._path(""), conf)
        except Py4JJavaError as error:
            raise JobFailureError(
                Reason.SETTINGS_INVALID,
                f"the checkpoint at {root} cannot be opened: {_message(error)}; the image must"
                " bring the connector of that file system, sparkConf its spark.hadoop.fs.* keys",
            ) from error

    def _path(self, path: str) -> JavaObject:
        where = f"{self._root}/{path}".rstrip("/")
        return self._jvm.org.apache.hadoop.fs.Path(where)

    def names(self, directory: str) -> list[str] | None:
        """The names in a directory; None if it does not exist."""
        statuses = self._statuses(directory)
        return None if statuses is None else [str(s.getPath().getName()) for s in statuses]

    def _statuses(self, path: str) -> list[JavaObject] | None:
        try:
            where = self._path(path)
            return list(self._files.list(where)) if self._files.exists(where) else None
        except Py4JJavaError as error:
            raise self._unreachable(path, error) from error

    def read(self, path: str) -> str | None:
        """The text of a file; None if it does not exist."""
        try:
            where = self._path(path)
            if not self._files.exists(where):
                return None
            stream = self._files.open(where)
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise self._unreachable(path, error) from error

    def modified_s(self, path: str) -> float:
        """When an existing file was last written, in seconds since 1970."""
        directory, _, name = path.rpartition("/")
        found = self._statuses(directory) or ()
        times = (s.getModificationTime() for s in found if s.getPath().getName() == name)
        return float(next(times)) / 1000

    def replace(self, path: str, text: str) -> None:
        """Replace a file atomically."""
        try:
            where = self._path(path)
            self._files.mkdirs(where.getParent())
            stream = self._files.createAtomic(where, True)
            try:
                stream.write(text.encode())
            except Py4JJavaError:
                stream.cancel()
                raise
            stream.close()
        except Py4JJavaError as error:
            raise self._unreachable(path, error) from error

    def _unreachable(self, path: str, error: Py4JJavaError) -> JobFailureError:
        where = f"{self._root}/{path}"
        return JobFailureError(
            Reason.CHECKPOINT_UNREACHABLE, f"the checkpoint at {where}: {_message(error)}"
        )


def _message(error: Py4JJavaError) -> str:
    """The first line of a Java exception."""
    return str(error.java_exception.toString()).splitlines()[0]
