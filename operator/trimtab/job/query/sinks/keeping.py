"""A batch that is read more than once is kept meanwhile, in the executors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame


@contextmanager
def kept(frame: DataFrame) -> Iterator[bool]:
    """Keep a batch once it is computed; whether it was not kept already, as a timed batch is."""
    mine = not frame.storageLevel.useMemory
    if mine:
        frame.persist()
    try:
        yield mine
    finally:
        if mine:
            frame.unpersist()
