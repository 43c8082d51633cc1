"""DS2's own unit vectors, its recorded Flink run, and the single-operator form."""

from __future__ import annotations

import pytest
from bench.peers.controller import Limits
from bench.peers.ds2 import Ds2, Operator, Parameters, optimal, rounded, significant
from tests.unit.bench.seen import batch, settings, signals

UNIT_VECTORS = [
    # true processing and output rate of Op1, processing rate of Op2, source rate -> instances
    ((50, 400), 100, 100, [2, 8]),
    ((40, 700), 99, 200, [5, 36]),
    ((10, 700), 201, 200, [20, 70]),
    ((50, 400), 100, 2 * 100, [4, 16]),
    ((40, 700), 99, 2 * 200, [10, 71]),
    ((10, 700), 201, 2 * 200, [40, 140]),
]


@pytest.mark.parametrize(("first", "second", "source", "expected"), UNIT_VECTORS)
def test_its_unit_vectors_with_one_and_two_sources(
    first: tuple[float, float], second: float, source: float, expected: list[int]
) -> None:
    chain = [Operator(1, *first), Operator(1, second, 200)]
    assert rounded(optimal(source, chain)) == expected


RECORDED = [
    # source, splitter (two instances), count, as in its examples/offline/flink_rates.log
    (109705.375, (122512.729, 1244599.952), (122613.652, 1246045.874), 1845391.074, (0.895, 0.604)),
    (116939.794, (131386.981, 1334954.832), (123157.487, 1251393.470), 1663458.764, (0.919, 0.714)),
    # the same with the rate that was observed at the source, not its inflated true one
    (80_000, (122512.729, 1244599.952), (122613.652, 1246045.874), 1845391.074, (0.653, 0.440)),
    (80_000, (131386.981, 1334954.832), (123157.487, 1251393.470), 1663458.764, (0.629, 0.489)),
]


@pytest.mark.parametrize(("source", "one", "two", "count", "expected"), RECORDED)
def test_its_recorded_wordcount(
    source: float, one: tuple[float, float], two: tuple[float, float], count: float,
    expected: tuple[float, float],
) -> None:  # fmt: skip
    splitter = Operator(2, one[0] + two[0], one[1] + two[1])
    needed = optimal(source, [splitter, Operator(1, count)])
    assert needed == pytest.approx(expected, abs=0.0006)
    assert rounded(needed) == [1, 1]


def test_the_scaling_factor_comes_before_rounding() -> None:
    assert rounded([0.9, 0.6, 4], 0.2) == [2, 1, 5]


def test_one_instance_less_is_not_worth_a_change() -> None:
    assert not significant([3, 2], [2, 2])
    assert significant([4], [2])
    assert significant([3, 2], [3, 3])


def ds2() -> Ds2:
    return Ds2(Limits(1, 20), Parameters())


def test_the_single_operator_keeps_up_with_the_input_in_one_step() -> None:
    """Two executors did 1000 records in 4 s: 125/s each; 900/s arrive."""
    seen = signals(10, input_rate=900, batch=batch(records=1000, duration_s=4, executors=2))
    assert ds2().decide(10, seen, settings(2)).executors == 8


def test_without_its_overhead_a_batch_was_faster() -> None:
    """1000 records in 4 s less 0.3 s of overhead on two executors: 135/s each."""
    peer = Ds2(Limits(1, 20), Parameters(whole_batch=False))
    seen = signals(10, input_rate=900, batch=batch(records=1000, duration_s=4, executors=2))
    assert peer.decide(10, seen, settings(2)).executors == 7


def test_two_intervals_after_a_change_are_skipped() -> None:
    peer, moved = ds2(), []
    for now_s in range(10, 60, 10):
        seen = signals(now_s, input_rate=900, batch=batch(id=now_s, executors=2))
        moved.append(peer.decide(now_s, seen, settings(2)).executors)
    assert moved == [8, 2, 2, 8, 2]


def test_without_signals_it_holds() -> None:
    assert ds2().decide(10, None, settings(3)) == settings(3)
