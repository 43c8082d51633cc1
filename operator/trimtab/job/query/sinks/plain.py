"""What sinks have in common that need nothing of Kafka: the defaults of a `Sink`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame

from trimtab.errors import TransformError


class PlainSink:
    """A sink without knobs that takes any columns; its module says what it writes, and how."""

    knobs: Collection[str] = ()
    ignores: Collection[str] = ()
    phases: Collection[str] = ("sink",)
    session_conf: Mapping[str, str] = {}
    spent_s: Mapping[str, float] = {}

    def require(self) -> None:
        """It exists, or the first batch makes it."""

    def arrived(self) -> int | None:
        """It counts no records."""
        return None

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Accept any columns."""
        return frame

    def follow(self, knobs: Mapping[str, float]) -> None:
        """It has no knobs."""


def require_columns(frame: DataFrame, columns: list[str], where: str) -> None:
    """Raise TransformError if the transform does not return some of the columns."""
    if missing := sorted(set(columns) - set(frame.columns)):
        raise TransformError(
            f"{where} names {', '.join(missing)}, which the transform does not return: it returns"
            f" {', '.join(frame.columns)}"
        )
