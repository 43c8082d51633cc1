"""Finds the records at which a batch dies, by halves: Spark says only that one of them does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Offsets of one partition, `end` not among them."""

    topic: str
    partition: int
    first: int
    end: int

    @property
    def size(self) -> int:
        """How many offsets these are."""
        return self.end - self.first


class Culprit(NamedTuple):
    """A record that fails by itself, and what is said of it."""

    topic: str
    partition: int
    offset: int
    error: str

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return f"{self.topic}/{self.partition} at {self.offset}"


Fails = Callable[[Sequence[Span]], str | None]
"""What computing these records raises, in words; None if nothing."""


def search(spans: Iterable[Span], fails: Fails, most: int) -> list[Culprit]:
    """The first `most` records that fail by themselves; empty if only all together do.

    It takes about twice log2(n) tests for each of them, n being all records.
    """
    found: list[Culprit] = []
    suspected = [tuple(each for each in spans if each.size > 0)]
    while suspected and len(found) < most:
        part = suspected.pop()
        if sum(each.size for each in part) > 1:
            left, right = halves(part)
            if fails(left) is None:
                suspected.append(right)  # then it is there, if anywhere
                continue
            if fails(right) is not None:
                suspected.append(right)
            suspected.append(left)
        elif part and (error := fails(part)) is not None:
            (one,) = part
            found.append(Culprit(one.topic, one.partition, one.first, error))
    return found


def halves(spans: Sequence[Span]) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """The first half of these offsets, and the second."""
    left, right = [], []
    missing = sum(each.size for each in spans) // 2
    for each in spans:
        cut = each.first + min(missing, each.size)
        missing -= cut - each.first
        left.append(each._replace(end=cut))
        right.append(each._replace(first=cut))
    return tuple(e for e in left if e.size), tuple(e for e in right if e.size)
