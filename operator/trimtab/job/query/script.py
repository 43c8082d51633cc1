"""A script as the user's part of the query: run as a whole, up to the stream that it hands over."""

from __future__ import annotations

import runpy
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from trimtab.api.contract import TransformDocument
from trimtab.errors import TransformError
from trimtab.job.termination import ModuleMissingError
from trimtab.script import Pipeline, running

_STARTS = "starts a query by itself: hand the frame to Pipeline.current().write(frame) instead"
_STOPS = "stops Spark, in which its query is to run: remove that"
_NOT_YOURS: tuple[tuple[type, str, str], ...] = (
    (DataStreamWriter, "start", _STARTS),
    (DataStreamWriter, "toTable", _STARTS),
    (SparkSession, "stop", _STOPS),
    (SparkContext, "stop", _STOPS),
)
"""What a script must not do, and words of what to do instead."""


def run(frame: DataFrame, transform: TransformDocument, words: Callable[[Any], str]) -> DataFrame:
    """The frame that the script writes; `words` puts an error of Spark into words.

    Raises:
        ModuleMissingError: there is no such script.
        TransformError: it fails, or writes nothing; names its line.
    """
    name = transform.script or ""
    path, pipeline = _found(name), Pipeline(frame, transform.params)
    try:
        with running(pipeline), _as_program(path, transform.args or ()), _guarded(name):
            runpy.run_path(str(path), run_name="__main__")
    except TransformError:
        raise
    except SystemExit as end:
        if end.code not in {None, 0}:
            raise TransformError(f"the script {name} ended with {end.code!r}") from end
    except PySparkException as error:
        raise TransformError(f"{name}{_line(error, path)}: {words(error)}") from error
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise TransformError(f"{name}{_line(error, path)} raised {said}") from error
    if pipeline.written is None:
        raise TransformError(
            f"the script {name} writes nothing: hand its stream to"
            " Pipeline.current().write(frame), where it called writeStream"
        )
    if not isinstance(pipeline.written, DataFrame):
        kind = type(pipeline.written).__name__
        raise TransformError(f"the script {name} wrote {kind}, not a DataFrame")
    return pipeline.written


def _found(name: str) -> Path:
    """The script, in the image's or the mounted modules, or where its whole path says."""
    for folder in (folder for folder in sys.path if folder):
        if (path := Path(folder, name)).is_file():  # a whole path stays what it is
            return path
    raise ModuleMissingError(f"there is no script {name} in the image or the mounted modules")


@contextmanager
def _as_program(path: Path, args: Sequence[str]) -> Iterator[None]:
    """With its arguments, and with the modules beside it."""
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # it stays: functions import when they run
    with _set(sys, "argv", [str(path), *args]):
        yield


@contextmanager
def _guarded(name: str) -> Iterator[None]:
    """Refuse in this thread what would run beside the pipeline's query, or end it."""
    mine = threading.get_ident()

    def guard(original: Callable[..., Any], why: str) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == mine:
                raise TransformError(f"the script {name} {why}")
            return original(*args, **kwargs)

        return called

    with ExitStack() as patched:
        for owner, method, why in _NOT_YOURS:
            guarded = guard(getattr(owner, method), why)
            patched.enter_context(_set(owner, method, guarded))
        yield


@contextmanager
def _set(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Give an attribute another value meanwhile."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _line(error: BaseException, path: Path) -> str:
    """The last line of the script that the error came through, in words."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""
