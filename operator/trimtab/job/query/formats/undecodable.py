"""Decodes the values of a stream, and what becomes of records whose value cannot be decoded.

They fail the batch, by their place in Kafka; or they are kept aside, with the batch's own metrics,
until they are written elsewhere: the transform never sees them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from trimtab.api.v1alpha1.formats import ERROR, RECORD, Format
from trimtab.job.query.formats.avro import AvroDecoder
from trimtab.job.query.formats.decoder import DECODED, Decoder, invalid, position
from trimtab.job.query.formats.json import JsonDecoder
from trimtab.job.query.formats.protobuf import ProtobufDecoder
from trimtab.job.termination import Cause, JobFailureError, Reason

_FAILED = re.compile(r"trimtab cannot decode (?P<what>\S+/\d+ at \d+: [^\n]*?)(?= SQLSTATE|\n|$)")


def decoder_of(document: Format) -> Decoder:
    """The decoder of a format."""
    if document.avro is not None:
        return AvroDecoder(document.avro)
    if document.protobuf is not None:
        return ProtobufDecoder(document.protobuf)
    assert document.json_ is not None  # a format is exactly one
    return JsonDecoder(document.json_)


def decoded(frame: DataFrame, decoder: Decoder) -> DataFrame:
    """The frame with the columns `record` and `error`.

    Raises:
        JobFailureError: the schema cannot be used.
    """
    parts = decoder.parts()
    columns = {RECORD: parts.record, ERROR: parts.error}
    try:
        return frame.withColumn(DECODED, parts.decoded).withColumns(columns).drop(DECODED)
    except (PySparkException, Py4JJavaError) as error:
        raise invalid(decoder.field, error) from error


def failing(frame: DataFrame) -> DataFrame:
    """The frame of `decoded` without its errors: the first one fails the batch."""
    words = F.concat(F.lit("trimtab cannot decode "), position(), F.lit(": "), F.col(ERROR))
    # a filter, because a column that the transform does not select would not be computed
    fine = F.when(F.col(ERROR).isNotNull(), F.raise_error(words).cast("boolean")).otherwise(True)
    return frame.where(fine).drop(ERROR)


def meaning(causes: Sequence[Cause]) -> JobFailureError | None:
    """The failure that `failing` has raised."""
    for found in (_FAILED.search(cause.message) for cause in causes):
        if found:
            words = f"the value of {found['what']}. Correct source.kafka.format or its producer, or"
            return JobFailureError(
                Reason.RECORD_UNDECODABLE,
                f"{words} write deadLetters: {{topic: ...}} to have such records written there",
            )
    return None
