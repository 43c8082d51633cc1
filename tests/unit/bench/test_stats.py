"""Spread, ties by seed, and Pareto dominance."""

from __future__ import annotations

import pytest
from bench.stats import Spread, compare, dominates, front, spread


def test_spread() -> None:
    assert spread([1, 2, 3]) == Spread(2, 1, 1, 3)
    assert spread([4]) == Spread(4, 0, 4, 4)


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [
        ([1, 2, 3], [2, 3, 4], "less"),
        ([2, 30, 4], [1, 29, 3], "more"),
        ([1, 2, 3], [3, 2, 1], "tie"),
        ([1, 2, 3], [1, 2, 3], "tie"),
        ([0, 0, 0], [0, 0, 1], "tie"),
    ],
)
def test_a_difference_inside_the_spread_is_a_tie(
    ours: list[float], theirs: list[float], word: str
) -> None:
    assert compare(ours, theirs) == word


def test_dominance_needs_both_figures() -> None:
    assert dominates((1, 1), (1, 2))
    assert not dominates((1, 1), (1, 1))
    assert not dominates((1, 3), (2, 1))


def test_the_front_is_what_nobody_dominates() -> None:
    assert front([(3, 0), (1, 5), (2, 5), (2, 2), (2, 2)]) == [(1, 5), (2, 2), (3, 0)]
