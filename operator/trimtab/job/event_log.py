"""The log of Spark's events: Spark writes it, and does not start without its directory."""

from __future__ import annotations

from collections.abc import Mapping

from py4j.protocol import Py4JJavaError

from trimtab.job import gateway
from trimtab.job.termination import JobFailureError, Reason


def keys(uri: str | None) -> dict[str, str]:
    """Spark's keys for it; none without a URI."""
    if uri is None:
        return {}
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": uri,
        "spark.eventLog.compress": "true",
        # a query runs for months, and an object store shows a file when it is closed: the least
        # that Spark takes
        "spark.eventLog.rolling.enabled": "true",
        "spark.eventLog.rolling.maxFileSize": "10m",
    }


def make_directory(uri: str, conf: Mapping[str, str]) -> None:
    """Make the directory, before there is a SparkContext; it may be there already.

    Raises:
        JobFailureError: the file system is unknown, does not answer or refuses.
    """
    jvm = gateway.started(conf)
    hadoop = jvm.org.apache.spark.deploy.SparkHadoopUtil.get()
    try:
        path = jvm.org.apache.hadoop.fs.Path(uri)
        settings = hadoop.newConfiguration(jvm.org.apache.spark.SparkConf(True))
        made = path.getFileSystem(settings).mkdirs(path)
    except Py4JJavaError as error:
        words = str(error.java_exception.toString()).splitlines()[0]
        raise _unreachable(uri, words) from error
    if not made:
        raise _unreachable(uri, "the directory cannot be made")


def _unreachable(uri: str, words: str) -> JobFailureError:
    return JobFailureError(
        Reason.EVENT_LOG_UNREACHABLE,
        f"the event log at {uri}: {words}; correct eventLog.uri or the access to it, or remove"
        " eventLog",
    )
