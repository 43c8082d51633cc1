"""What a format has to say of a frame, and its parts that all formats share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.job.query.transform import message_of
from trimtab.job.termination import Cause, JobFailureError, Reason

DECODED = "_decoded"
"""The column of what a decoder makes of a value, before it is checked."""


class Parts(NamedTuple):
    """What becomes of a value, in terms of the frame's columns and `DECODED`."""

    decoded: Column
    record: Column
    error: Column
    """Why it cannot be decoded, as a string; null where nothing is wrong."""


class Decoder(Protocol):
    """One format."""

    @property
    def field(self) -> str:
        """Where its schema is, below source.kafka.format."""

    def require(self, topics: Sequence[str]) -> None:
        """Read what it needs from elsewhere; raises JobFailureError, which may heal."""

    def parts(self) -> Parts:
        """How to decode the column `value`; raises JobFailureError if its schema is none."""

    def meaning(self, causes: Sequence[Cause]) -> JobFailureError | None:
        """The failure that one of its own expressions has raised."""


def invalid(field: str, error: PySparkException | Py4JJavaError | str) -> JobFailureError:
    """The schema of a format cannot be used, with Spark's or Avro's own words or with these."""
    words = str(error)
    if isinstance(error, PySparkException):
        words = message_of(error)
    elif isinstance(error, Py4JJavaError):
        words = str(error.java_exception.getMessage()).strip().splitlines()[0]
    return JobFailureError(
        Reason.FORMAT_INVALID, f"source.kafka.format.{field} cannot be used: {words}"
    )


def position() -> Column:
    """Where a record is, in words."""
    return F.concat(F.col("topic"), F.lit("/"), F.col("partition"), F.lit(" at "), F.col("offset"))
