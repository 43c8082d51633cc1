"""Listeners of the user: classes of the image that Spark tells of its events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError

from trimtab.job.termination import JobFailureError, Reason


def keys(classes: Sequence[str]) -> dict[str, str]:
    """Spark's keys for them; none without classes."""
    return {"spark.extraListeners": ",".join(classes)} if classes else {}


@contextmanager
def understood(classes: Sequence[str]) -> Iterator[None]:
    """Raise JobFailureError if Spark does not start because of one of them."""
    try:
        yield
    except Py4JJavaError as error:
        trace = str(error).splitlines()
        if not any("registering SparkListener" in line for line in trace):
            raise
        causes = [line for line in trace if line.startswith("Caused by: ")]
        cause = causes[-1].removeprefix("Caused by: ") if causes else trace[-1].strip()
        raise JobFailureError(
            Reason.LISTENER_FAILED,
            f"one of the listeners {', '.join(classes)} does not start: {cause}; correct its name,"
            " or put its jar into the image",
        ) from error
