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


EPOCHS = [
    # source, splitter 1 and 2 (processing, output), count -> instances of both, unrounded
    (119931.0, (94787.4, 962970.2), (92095.5, 936020.1), 1576794.3, (1.283, 0.773)),
    (108193.9, (116090.3, 1179743.9), (113231.7, 1150538.3), 1907733.5, (0.944, 0.576)),
    (104564.5, (119648.8, 1216014.5), (114766.4, 1166022.0), 2037284.2, (0.892, 0.522)),
    (109348.8, (115504.0, 1173712.6), (116223.3, 1181306.2), 1872794.3, (0.944, 0.593)),
    (106973.5, (114190.0, 1160276.7), (109975.7, 1117758.4), 1918816.1, (0.954, 0.567)),
    (109705.4, (122512.7, 1244600.0), (122613.7, 1246045.9), 1845391.1, (0.895, 0.604)),
    (120276.3, (113971.7, 1158249.3), (113707.4, 1155919.2), 1603962.6, (1.057, 0.762)),
    (116939.8, (131387.0, 1334954.8), (123157.5, 1251393.5), 1663458.8, (0.919, 0.714)),
    (117265.7, (126699.0, 1287122.3), (127644.9, 1297113.8), 1633845.9, (0.922, 0.729)),
    (118711.5, (113116.5, 1149933.8), (120958.5, 1229003.3), 1567283.9, (1.014, 0.770)),
    (116797.8, (123642.1, 1256085.7), (110164.5, 1119626.0), 1593575.0, (0.999, 0.745)),
]


@pytest.mark.parametrize(("source", "one", "two", "count", "expected"), EPOCHS)
def test_the_epochs_of_its_recorded_wordcount(
    source: float, one: tuple[float, float], two: tuple[float, float], count: float,
    expected: tuple[float, float],
) -> None:  # fmt: skip
    """True rates of the 11 epochs in its controller/examples/flink_wordcount_rates at e3decca.

    The expected numbers are from the recorded rates as exact fractions, in another way: sentences
    over what a splitter does, and all words of the offered sentences over what a counter does.
    """
    splitter = Operator(2, one[0] + two[0], one[1] + two[1])
    needed = optimal(source, [splitter, Operator(1, count)])
    assert needed == pytest.approx(expected, abs=0.0006)
    # three epochs keep the second splitter; one splitter less is no change to DS2 either
    keeps = expected[0] > 1
    assert rounded(needed) == [2 if keeps else 1, 1]
    assert not significant([2, 1], rounded(needed))


def test_three_of_the_epochs_keep_two_splitters() -> None:
    assert [n for n, epoch in enumerate(EPOCHS) if epoch[-1][0] > 1] == [0, 6, 9]


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
