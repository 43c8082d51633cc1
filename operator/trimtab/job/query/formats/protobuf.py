"""Values that are messages of Protocol Buffers, decoded in Python: Spark's own needs a jar more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql import types as T  # noqa: N812 -- its usual name

from trimtab.api.v1alpha1.formats import ERROR, RECORD, ProtobufFormat
from trimtab.job.query.formats import messages
from trimtab.job.query.formats.decoder import DECODED, Parts, invalid
from trimtab.job.termination import Cause, JobFailureError


class ProtobufDecoder:
    """Decodes with a function in Python."""

    field = "protobuf"

    def __init__(self, document: ProtobufFormat) -> None:
        """The descriptions are read on first use."""
        self._document = document

    def require(self, topics: Sequence[str]) -> None:
        """It needs nothing: a message is read with the description here, whatever wrote it."""

    def meaning(self, causes: Sequence[Cause]) -> JobFailureError | None:
        """Its expressions raise nothing."""

    def parts(self) -> Parts:
        """How to decode the column `value`."""
        descriptor_set, name = self._document.descriptor_set, self._document.message
        framed = self._document.framed
        try:
            made = messages.struct(messages.found(descriptor_set, name))
        except ValueError as error:
            raise invalid(self.field, str(error)) from error
        both = T.StructType([T.StructField(RECORD, made), T.StructField(ERROR, T.StringType())])

        def decode(value: bytes | None) -> Any:
            if value is None:
                return None, None
            return messages.read(value, messages.found(descriptor_set, name), framed=framed)

        decoded: Column = F.udf(decode, both)(F.col("value"))
        return Parts(decoded, F.col(DECODED)[RECORD], F.col(DECODED)[ERROR])
