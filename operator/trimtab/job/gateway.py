"""The edge to the JVM, through py4j: what Spark has no Python API for.

Its objects have no types. So they are `JavaObject` here, and only values elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

JavaObject = Any
"""An object, a class or a package of the JVM."""


def classes(context: SparkContext) -> JavaObject:
    """The packages of the JVM; its classes are found below them by name."""
    return cast("JavaObject", context._jvm)


def started(conf: Mapping[str, str]) -> JavaObject:
    """The packages of the JVM, which is started with this configuration, without a context yet."""
    SparkContext._ensure_initialized(conf=SparkConf().setAll(list(conf.items())))
    return cast("JavaObject", SparkContext._jvm)


def exit_code() -> int | None:
    """How the JVM ended; None while it runs, or if it never ran."""
    started = getattr(SparkContext, "_gateway", None)
    process = getattr(started, "proc", None)
    return None if process is None else cast("int | None", process.poll())


def query_id(context: SparkContext) -> str:
    """The id of the query whose batch is written; its checkpoint keeps it over restarts."""
    return cast("str", context.getLocalProperty("sql.streaming.queryId"))


def connect(context: SparkContext, url: str, properties: Mapping[str, str]) -> JavaObject:
    """A connection of the PostgreSQL driver; raises Py4JJavaError."""
    jvm = classes(context)
    told = jvm.java.util.Properties()
    for name, value in properties.items():
        told.setProperty(name, value)
    return jvm.org.postgresql.Driver().connect(url, told)


def scala_context(context: SparkContext) -> JavaObject:
    """Spark's own SparkContext."""
    return context._jsc.sc()


def hadoop_configuration(context: SparkContext) -> JavaObject:
    """Hadoop's configuration, including what sparkConf sets in it."""
    return context._jsc.hadoopConfiguration()


def exists(context: SparkContext, uri: str) -> bool:
    """Whether there is a file or directory; raises Py4JJavaError if its file system fails."""
    path = classes(context).org.apache.hadoop.fs.Path(uri)
    return bool(path.getFileSystem(hadoop_configuration(context)).exists(path))


def analyzed_plan(frame: DataFrame) -> JavaObject:
    """The logical plan of a frame, with resolved names."""
    return cast("JavaObject", frame)._jdf.queryExecution().analyzed()


def instance(context: SparkContext, name: str) -> JavaObject:
    """A new object of a class, also of one in a jar of the session; raises Py4JJavaError."""
    lang, made = classes(context).java.lang, cast("JavaObject", context)._gateway.new_array
    found = lang.Thread.currentThread().getContextClassLoader().loadClass(name)
    return found.getConstructor(made(lang.Class, 0)).newInstance(made(lang.Object, 0))


def is_function(context: SparkContext, made: JavaObject) -> bool:
    """Whether an object takes two arguments and returns one."""
    return _is(context, made, "java.util.function.BiFunction")


def applied(made: JavaObject, frame: DataFrame, params: Mapping[str, str]) -> DataFrame | None:
    """The frame that such a function makes; None if it makes something else.

    Raises what Spark or the function raises.
    """
    session = frame.sparkSession
    result = made.apply(cast("JavaObject", frame)._jdf, dict(params))  # py4j makes it a HashMap
    of_spark = _is(session.sparkContext, result, "org.apache.spark.sql.Dataset")
    return DataFrame(result, session) if of_spark else None


def _is(context: SparkContext, made: JavaObject, name: str) -> bool:
    return bool(is_instance_of(cast("JavaObject", context)._gateway, made, name))


def said(error: Py4JJavaError | PySparkException) -> str:
    """All that an exception of the JVM says, with those that caused it as far as it names them."""
    return str(getattr(error, "java_exception", None) or error)


def observed(name: str) -> JavaObject | None:
    """What the query has observed under a name, in the batch that it is writing; a Scala row."""
    session = SparkSession.builder.getOrCreate()  # not the query's own, which knows no queries
    query = session.streams.get(query_id(session.sparkContext))
    assert query is not None  # it is calling us
    metrics = execution(query).lastExecution().observedMetrics()
    found = metrics.get(name)
    return found.get() if found.isDefined() else None


def frame_of(rows: JavaObject, schema: JavaObject) -> DataFrame:
    """A frame of a Scala sequence of rows."""
    session = SparkSession.builder.getOrCreate()
    listed = classes(session.sparkContext).scala.jdk.javaapi.CollectionConverters.asJava(rows)
    return DataFrame(session._jsparkSession.createDataFrame(listed, schema), session)


def scala_query(query: StreamingQuery) -> JavaObject:
    """Spark's own StreamingQuery."""
    return query._jsq


def execution(query: StreamingQuery) -> JavaObject:
    """What runs the query: Spark's StreamExecution."""
    return scala_query(query).streamingQuery()


def items(scala_seq: JavaObject) -> list[JavaObject]:
    """A Scala sequence as a list."""
    return [scala_seq.apply(i) for i in range(scala_seq.size())]
