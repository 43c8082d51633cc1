"""The user's part of the query: SQL over views of the sources, a Python function, a class."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from trimtab.api.contract import TransformDocument
from trimtab.errors import TransformError
from trimtab.job import gateway
from trimtab.job.query import script, tables
from trimtab.job.termination import ModuleMissingError

SEVERAL = "several sources take a transform in sql, or a Python function of a dict of frames"


def apply(views: Mapping[str, DataFrame], transform: TransformDocument) -> DataFrame:
    """The transformed frame of the sources' streams, by the names of their views.

    A Python function gets the stream of a single source, and of several all of them by name.

    Raises:
        TransformError: it does not work; says what to correct.
    """
    frame = next(iter(views.values()))
    sql, module, name = transform.sql, transform.module, transform.class_
    if [sql, module, transform.script, name].count(None) != 3:
        raise TransformError(
            "a transform is sql, a python module, a script or a class: write exactly one"
        )
    if transform.tables:
        tables.register(frame.sparkSession, transform.tables)
    if sql is not None:
        return _by_sql(views, sql)
    if module is not None:
        return _by_module(frame if len(views) == 1 else dict(views), module, transform.params)
    if len(views) > 1:
        raise TransformError(SEVERAL)
    if name is not None:
        return _by_class(frame, name, transform)
    return script.run(frame, transform, message_of)


def _by_sql(views: Mapping[str, DataFrame], sql: str) -> DataFrame:
    for name, frame in views.items():
        frame.createOrReplaceTempView(name)
    try:
        return frame.sparkSession.sql(sql)
    except PySparkException as error:
        raise TransformError(f"the SQL does not work: {message_of(error)}") from error


def _by_module(
    frames: DataFrame | dict[str, DataFrame], reference: str, params: dict[str, str]
) -> DataFrame:
    function = load_function(reference)
    try:
        result = function(frames, dict(params))
    except PySparkException as error:
        raise TransformError(f"{reference} failed: {message_of(error)}") from error
    except Exception as error:
        raise TransformError(f"{reference} raised {type(error).__name__}: {error}") from error
    if not isinstance(result, DataFrame):
        raise TransformError(f"{reference} returned {type(result).__name__}, not a DataFrame")
    return result


def _by_class(frame: DataFrame, name: str, transform: TransformDocument) -> DataFrame:
    context = frame.sparkSession.sparkContext
    try:
        made = gateway.instance(context, name)
    except Py4JJavaError as error:
        where = transform.jar or "the jars of the image"
        words = f"there is no class {name} with a constructor without arguments in {where}: "
        raise ModuleMissingError(words + _said(error)) from error
    if not gateway.is_function(context, made):
        raise TransformError(f"{name} is no java.util.function.BiFunction: let it implement that")
    try:
        result = gateway.applied(made, frame, transform.params)
    except PySparkException as error:
        raise TransformError(f"{name} failed: {message_of(error)}") from error
    except Py4JJavaError as error:
        raise TransformError(f"{name} raised {_said(error)}") from error
    if result is None:
        raise TransformError(f"{name} returned no Dataset<Row>")
    return result


def _said(error: Py4JJavaError) -> str:
    """The exception of the JVM in one line."""
    return gateway.said(error).partition("\n")[0][:500]


def load_function(reference: str) -> Callable[..., Any]:
    """The function that `module:function` names; raises TransformError if there is none."""
    module_name, _, name = reference.partition(":")
    if not module_name or not name:
        raise TransformError(f"{reference!r} is no function: write it like jobs.clicks:transform")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # the missing module may be one that the user's module imports: name it
        raise ModuleMissingError(
            f"{reference}: no module named {error.name!r} in the image or the mounted modules"
        ) from error
    except Exception as error:
        words = f"{reference}: the module does not load: {type(error).__name__}: {error}"
        raise TransformError(words) from error
    function = getattr(module, name, None)
    if not callable(function):
        raise ModuleMissingError(f"{reference}: module {module_name} has no function {name!r}")
    return function  # type: ignore[no-any-return]


def message_of(error: PySparkException) -> str:
    """Spark's own message, which names the line, without the plan below it."""
    said, _, _ = str(error).partition("\nJVM stacktrace")
    lines = [line for line in said.splitlines() if line.strip()]
    plan = next((i for i, line in enumerate(lines) if line.startswith(("'", "+-"))), len(lines))
    return " ".join(lines[:plan])[:1000]
