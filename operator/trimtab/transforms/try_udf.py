"""A Python function on rows that may raise: the row says so, and the batch goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql.types import DataType, StringType, StructField, StructType

from trimtab.api.v1alpha1.formats import ERROR

_ANSWER, _FAILURE, _BOTH = "answer", "failure", "__trimtab_try"
_MOST_CHARACTERS = 1000


def try_udf(
    df: DataFrame,
    function: Callable[..., Any],
    column: str,
    *inputs: str | Column,
    returns: DataType | str = "string",
) -> DataFrame:
    """The frame with one more column: what `function` returns for each row.

    Where it raises, the answer is null and the row's column `error` says what went wrong, so that
    the row becomes a dead letter. A row that has an error already keeps it.

    Args:
        df: the rows, streaming or not.
        function: gets the values of `inputs`, and is called once for each row.
        column: the column of the answer; replaces one of that name.
        inputs: columns, or expressions.
        returns: type of the answer, as for a UDF.

    Raises:
        ValueError: `column` is `error`, or there are no inputs.
    """
    if column == ERROR:
        raise ValueError(f"{ERROR} is the column of what went wrong: name another for the answers")
    if not inputs:
        raise ValueError("name at least one column that the function gets")
    answer = returns if isinstance(returns, DataType) else DataType.fromDDL(returns)
    both = StructType([StructField(_ANSWER, answer), StructField(_FAILURE, StringType())])

    def tried(*values: Any) -> tuple[Any, str | None]:
        try:
            return function(*values), None
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"[:_MOST_CHARACTERS]

    called = df.withColumn(_BOTH, F.udf(tried, both)(*inputs))
    before = [F.col(ERROR)] if ERROR in df.columns else []
    said = {column: F.col(_BOTH)[_ANSWER], ERROR: F.coalesce(*before, F.col(_BOTH)[_FAILURE])}
    return called.withColumns(said).drop(_BOTH)
