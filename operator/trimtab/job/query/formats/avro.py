"""Values that are Avro, alone or in the frame of Confluent's: a zero byte and a schema id."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql.avro.functions import from_avro

from trimtab.api.v1alpha1.formats import AvroFormat
from trimtab.job import gateway
from trimtab.job.query.formats.decoder import DECODED, Parts, invalid, position
from trimtab.job.query.formats.registry import Schemas
from trimtab.job.termination import Cause, JobFailureError, Reason

MARK = "trimtab_decoded"
"""A field that readers fill in by its default, so it tells a record from a row of nulls, which is
what from_avro makes of a value that it cannot read."""
FRAME = 5
"""Bytes before the Avro: the zero byte and the id."""
_UNKNOWN = re.compile(r"trimtab does not know schema (?P<id>\d+) of (?P<where>\S+/\d+ at \d+)")


class AvroDecoder:
    """Decodes with from_avro: once, or once for each schema that values were written with."""

    field = "avro.schema"

    def __init__(self, document: AvroFormat) -> None:
        """Schemas are parsed and read on first use."""
        self._schema = document.schema_
        registry = document.schema_registry
        self._schemas = Schemas(registry) if registry else None
        self._wanted: set[int] = set()
        self._begun = False

    def require(self, topics: Sequence[str]) -> None:
        """Read schemas that are missing; raises a healing JobFailureError without an answer."""
        if self._schemas is None:
            return
        if not self._begun:
            self._schemas.learn_topics(topics)
            self._begun = True
        self._schemas.learn(self._wanted)

    def meaning(self, causes: Sequence[Cause]) -> JobFailureError | None:
        """Values with a schema that came after the start: `require` reads it before the next."""
        for found in (_UNKNOWN.search(cause.message) for cause in causes):
            if found:
                self._wanted.add(int(found["id"]))
                words = f"{found['where']} was written with schema {found['id']}, which is new"
                return JobFailureError(Reason.SCHEMA_UNKNOWN, words, heals=True)
        return None

    def parts(self) -> Parts:
        """How to decode the column `value`."""
        reader = self._reader()
        marked = F.col(DECODED)[MARK].isNotNull()
        record = F.when(marked, F.col(DECODED).dropFields(MARK))
        if self._schemas is None:
            decoded = _read(F.col("value"), self._schema, reader)
            error = F.when(~marked, F.lit("it is not Avro of this schema"))
        else:
            decoded = _by_schema(self._schemas.known, reader)
            error = _framed_error(self._schemas, marked)
        return Parts(decoded, record, F.when(F.col("value").isNotNull(), error))

    def _reader(self) -> str:
        """The schema to read with, and `MARK`."""
        avro = gateway.classes(SparkContext.getOrCreate()).org.apache.avro
        try:
            avro.Schema.Parser().parse(self._schema)
        except Py4JJavaError as error:
            raise invalid(self.field, error) from error
        schema: dict[str, Any] = json.loads(self._schema)
        if schema.get("type") != "record":
            raise invalid(self.field, f"its type is {schema.get('type')}: write one of type record")
        mark = {"name": MARK, "type": "boolean", "default": True}
        return json.dumps({**schema, "fields": [*schema["fields"], mark]})


def _read(value: Column, writer: str, reader: str) -> Column:
    return from_avro(value, writer, {"mode": "PERMISSIVE", "avroSchema": reader})


def _id() -> Column:
    """The id of the schema that a value was written with; null where there is none."""
    framed = (F.length("value") >= FRAME) & (F.hex(F.substring("value", 1, 1)) == "00")
    return F.when(framed, F.conv(F.hex(F.substring("value", 2, 4)), 16, 10).cast("long"))


def _by_schema(known: Mapping[int, str], reader: str) -> Column:
    """The value, read with its own schema; null where that is not known."""
    payload = F.expr(f"substring(value, {FRAME + 1})")
    decoded = F.when(F.lit(False), _read(payload, reader, reader))  # gives it its type
    for number, schema in sorted(known.items()):
        decoded = decoded.when(_id() == number, _read(payload, schema, reader))
    return decoded


def _framed_error(schemas: Schemas, marked: Column) -> Column:
    unknown = F.concat(
        F.lit("trimtab does not know schema "), _id(), F.lit(" of "), position(), F.lit(" yet")
    )
    error = F.when(_id().isNull(), F.lit("it does not begin with a zero byte and a schema id"))
    error = error.when(
        _id().isin(sorted(schemas.unusable)),
        F.concat(F.lit("the registry has no usable Avro schema "), _id()),
    )
    error = error.when(~_id().isin(sorted(schemas.known)), F.raise_error(unknown).cast("string"))
    return error.when(
        ~marked, F.concat(F.lit("it is not Avro of schema "), _id(), F.lit(" and of this one"))
    )
