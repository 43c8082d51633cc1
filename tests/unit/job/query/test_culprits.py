"""The records at which a batch dies, found by halves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.job.query.culprits import Culprit, Span, halves, search

ALL = (Span("a", 0, 100, 1_100), Span("a", 1, 0, 0), Span("b", 0, 7, 3_007))


class Spark:
    """Says what computing some records raises."""

    def __init__(self, *bad: tuple[str, int, int]) -> None:
        self.bad, self.tests = bad, 0

    def __call__(self, spans: Sequence[Span]) -> str | None:
        self.tests += 1
        assert spans
        assert all(each.size > 0 for each in spans)
        for topic, partition, offset in self.bad:
            for each in spans:
                if each[:2] == (topic, partition) and each.first <= offset < each.end:
                    return f"no number at {offset}"
        return None


@given(
    st.sets(
        st.one_of(
            st.tuples(st.just("a"), st.just(0), st.integers(100, 1_099)),
            st.tuples(st.just("b"), st.just(0), st.integers(7, 3_006)),
        ),
        max_size=5,
    )
)
def test_each_bad_record_is_found_and_no_other(bad: set[tuple[str, int, int]]) -> None:
    spark = Spark(*bad)
    found = search(ALL, spark, 10)
    assert sorted(found) == sorted(Culprit(*each, f"no number at {each[2]}") for each in bad)
    steps = math.ceil(math.log2(4_000)) + 1
    assert spark.tests <= 2 * steps * max(1, len(bad))


def test_one_record_takes_few_tests() -> None:
    spark = Spark(("b", 0, 2_000))
    assert [each.place for each in search(ALL, spark, 1)] == ["b/0 at 2000"]
    assert spark.tests <= 24


def test_no_more_are_looked_for_than_are_wanted() -> None:
    spark = Spark(*(("a", 0, offset) for offset in range(100, 1_100)))
    assert len(search(ALL, spark, 3)) == 3
    assert spark.tests < 40


def test_records_that_fail_only_together_are_no_culprits() -> None:
    whole = sum(each.size for each in ALL)

    def full(spans: Sequence[Span]) -> str | None:
        return "no memory left" if sum(each.size for each in spans) > whole / 3 else None

    assert search(ALL, full, 10) == []
    assert search((), full, 10) == []


@pytest.mark.parametrize("size", [2, 3, 10])
def test_halves_hold_everything_once(size: int) -> None:
    spans = [Span("a", 0, 5, 5 + size), Span("b", 3, 0, 1)]
    left, right = halves(spans)
    assert sum(e.size for e in left) == (size + 1) // 2
    assert sum(e.size for e in (*left, *right)) == size + 1
    assert all(each.size > 0 for each in (*left, *right))
