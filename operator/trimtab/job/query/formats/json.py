"""Values that are JSON documents."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql.types import StringType, StructField, StructType

from trimtab.api.v1alpha1.formats import JsonFormat
from trimtab.job.query.formats.decoder import DECODED, Parts, invalid
from trimtab.job.termination import Cause, JobFailureError

INSIDE, CORRUPT = "inside", "corrupt"


class JsonDecoder:
    """Decodes with from_json."""

    field = "json.schema"

    def __init__(self, document: JsonFormat) -> None:
        """The schema is parsed on first use."""
        self._ddl = document.schema_

    def require(self, topics: Sequence[str]) -> None:
        """It needs nothing."""

    def meaning(self, causes: Sequence[Cause]) -> JobFailureError | None:
        """Its expressions raise nothing."""

    def parts(self) -> Parts:
        """How to decode the column `value`.

        The value is parsed as a part of another document, because from_json itself ignores what
        follows the first document of a text, which may be a second record.
        """
        schema = self._schema()
        text = F.col("value").cast("string")
        outer = StructType([StructField(INSIDE, schema), StructField(CORRUPT, StringType())])
        decoded = F.from_json(
            F.concat(F.lit(f'{{"{INSIDE}":'), text, F.lit("}")),
            outer,
            {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT},
        )
        record = F.col(DECODED)[INSIDE]
        corrupt = F.col(DECODED)[CORRUPT].isNotNull() | record.isNull()
        error = F.when(~F.is_valid_utf8(text), F.lit("it is not UTF-8"))
        error = error.when(corrupt, F.lit("it is not one JSON object of this schema"))
        for field in schema.fields:
            if not field.nullable:
                missing = record.getField(field.name).isNull()
                error = error.when(missing, F.lit(f"its field {field.name} is missing or null"))
        return Parts(decoded, record, F.when(F.col("value").isNotNull(), error))

    def _schema(self) -> StructType:
        try:
            schema = StructType.fromDDL(self._ddl)
        except PySparkException as error:
            raise invalid(self.field, error) from error
        if not isinstance(schema, StructType):
            raise invalid(self.field, f"it is of type {schema.simpleString()}, without fields")
        return schema
