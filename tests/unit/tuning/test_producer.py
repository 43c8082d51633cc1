"""The producer tuner against a made-up broker (a pipe, costs of requests and bytes, a queue), and
against what a real one gave."""

from __future__ import annotations

import csv
import itertools
import math
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from trimtab.tuning.producer import (
    LEAST_BATCH,
    MOST_BATCH,
    MOST_IN_FLIGHT,
    Probe,
    ProducerSettings,
)
from trimtab.tuning.producer_choice import best_of
from trimtab.tuning.producer_search import MAX_PROBES, next_probe

BATCHES = (16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_000_000)
GRID = tuple(
    ProducerSettings(batch, in_flight, compression)
    for batch, in_flight, compression in itertools.product(
        BATCHES, (1, 2, 3, 4, 5), ("none", "lz4")
    )
)


def broker(settings: ProducerSettings, delay_s: float, request_s: float, byte_rate: float) -> Probe:
    """A request costs some processor time and each byte some; lz4 halves them for a price."""
    factor = 0.7 if settings.compression == "lz4" else 1.0
    cost_s = request_s / settings.batch_bytes + factor / byte_rate
    work_s = settings.batch_bytes * cost_s
    round_trip_s = delay_s + work_s
    pipe = settings.in_flight * settings.batch_bytes / round_trip_s
    rate = min(pipe, 1 / cost_s)
    return Probe(settings, rate, 1.2 * settings.pending_bytes / rate, round_trip_s)


def tuned(delay_s: float, request_s: float, byte_rate: float, goal_s: float) -> list[Probe]:
    probes: list[Probe] = []
    while (step := next_probe(probes, goal_s)).settings is not None:
        probes.append(broker(step.settings, delay_s, request_s, byte_rate))
    return probes


def probed(seen: list[tuple[int, int, str, float, float, float]]) -> list[Probe]:
    """Probes by batch, requests in flight, compression, rate, p95 and round trip."""
    return [
        Probe(ProducerSettings(batch, in_flight, compression), *told)
        for batch, in_flight, compression, *told in seen
    ]


@pytest.mark.parametrize("byte_rate", [40e6, 150e6])
@pytest.mark.parametrize("request_s", [0.0003, 0.001])
@pytest.mark.parametrize("goal_s", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("delay_s", [0.0002, 0.005, 0.02])
def test_it_comes_within_a_tenth_of_the_grid_in_eight_probes(
    delay_s: float, goal_s: float, request_s: float, byte_rate: float
) -> None:
    probes = tuned(delay_s, request_s, byte_rate, goal_s)
    grid = [broker(settings, delay_s, request_s, byte_rate) for settings in GRID]
    best = max(p.rate for p in grid if p.p95_s <= goal_s)
    # a goal of five round trips leaves a slow broker little between too many waiting and too few
    tight = goal_s <= 5 * delay_s and byte_rate < 50e6
    assert len(probes) <= MAX_PROBES
    assert best_of(probes, goal_s).p95_s <= goal_s
    assert best_of(probes, goal_s).rate >= (0.85 if tight else 0.9) * best


Measured = Mapping[tuple[int, str], Mapping[int, tuple[float, ...]]]
"""Bytes/s, p95 and round trip in seconds, by batch, of each in-flight and compression."""

RATE_NOISE, P95_NOISE = 0.06, 0.12
"""Standard deviations of the logarithms, from repeated probes of two seconds."""


def measured(round_trip_ms: int) -> Measured:
    """What 60 settings gave with a real broker behind a proxy that delays (bench/producer)."""
    found: dict[tuple[int, str], dict[int, tuple[float, ...]]] = {}
    with (Path(__file__).parent / "producer_probes.csv").open() as file:
        for line in csv.DictReader(file):
            if int(line["round_trip_added_ms"]) == round_trip_ms:
                key = int(line["in_flight"]), line["compression"]
                found.setdefault(key, {})[int(line["batch_bytes"])] = (
                    float(line["bytes_per_s"]),
                    float(line["p95_ms"]) / 1000,
                    float(line["round_trip_ms"]) / 1000,
                )
    return found


def truth(found: Measured, settings: ProducerSettings) -> Probe:
    """What those settings give, between the batches that were measured (linear in logarithms)."""
    batches = found[settings.in_flight, settings.compression]
    below = max(size for size in batches if size <= settings.batch_bytes)
    above = min((size for size in batches if size >= settings.batch_bytes), default=below)
    share = math.log(settings.batch_bytes / below) / math.log(above / below) if above > below else 0
    told = [a * (b / a) ** share for a, b in zip(batches[below], batches[above], strict=True)]
    return Probe(settings, *told)


@pytest.mark.parametrize("round_trip_ms", [0, 5, 20])
def test_it_comes_within_a_tenth_of_what_a_real_broker_gave_whatever_the_noise(
    round_trip_ms: int,
) -> None:
    found, goal_s, tries = measured(round_trip_ms), 0.2, 200
    grid = [truth(found, each) for each in GRID if each.batch_bytes in found[1, "none"]]
    best = max(p.rate for p in grid if p.p95_s <= goal_s)
    reached = 0
    for seed in range(tries):
        rng, probes = random.Random(seed), list[Probe]()
        while (step := next_probe(probes, goal_s)).settings is not None:
            seen = truth(found, step.settings)
            rate = seen.rate * math.exp(rng.gauss(0, RATE_NOISE))
            p95_s = seen.p95_s * math.exp(rng.gauss(0, P95_NOISE))
            probes.append(replace(seen, rate=rate, p95_s=p95_s))
        chosen = truth(found, best_of(probes, goal_s).settings)
        reached += chosen.rate >= 0.9 * best and chosen.p95_s <= goal_s
    assert reached >= 0.9 * tries


def test_it_starts_with_one_small_batch_at_a_time() -> None:
    assert next_probe([], 0.1).settings == ProducerSettings(LEAST_BATCH, 1, "none")


def test_a_full_pipe_gets_larger_batches_before_more_in_flight() -> None:
    start = Probe(ProducerSettings(), 0.8e6, 0.05, 0.02)
    step = next_probe([start], 0.2)
    assert step.settings == replace(start.settings, batch_bytes=8 * LEAST_BATCH)
    assert "1 × 16384 bytes / 20.0 ms binds: larger batches" in step.reason
    large = Probe(replace(start.settings, batch_bytes=MOST_BATCH), 40e6, 0.05, 0.02)
    step = next_probe([start, large], 0.2)
    assert step.settings == replace(large.settings, in_flight=3)
    assert "1 × 1000000 bytes / 20.0 ms binds: more in flight" in step.reason


def test_what_misses_the_goal_is_backed_off_in_one_step() -> None:
    start = Probe(ProducerSettings(65_536, 5), 20e6, 0.05, 0.01)
    over = Probe(ProducerSettings(524_288, 5), 50e6, 0.4, 0.03)
    step = next_probe([start, over], 0.2)
    assert step.settings == ProducerSettings(14 * 16_384, 5)
    assert "400 ms is above the goal" in step.reason


def test_nothing_goes_beyond_what_keeps_the_order_or_a_broker_takes() -> None:
    for delay_s in (0.0, 0.02, 0.2):
        for probe in tuned(delay_s, 0.0003, 1e9, 10.0):
            assert probe.settings.in_flight <= MOST_IN_FLIGHT
            assert LEAST_BATCH <= probe.settings.batch_bytes <= MOST_BATCH


def test_where_nothing_holds_the_goal_the_least_latency_wins() -> None:
    slow, slower = Probe(ProducerSettings(), 1e6, 0.5, 0.3), Probe(GRID[9], 2e6, 0.9, 0.3)
    assert best_of([slow, slower], 0.1) is slow


def test_what_missed_the_goal_is_not_tried_again_with_a_hair_smaller_batch() -> None:
    """Probes of a real broker behind 20 ms: the second try of 5 × 1 MB would have held by luck."""
    seen = [
        (16_384, 1, "none", 0.7e6, 0.047, 0.0221),
        (16_384, 5, "none", 2.0e6, 0.171, 0.0217),
        (131_072, 5, "none", 15.7e6, 0.199, 0.0223),
        (1_000_000, 5, "none", 109.0e6, 0.222, 0.0266),
        (802_816, 5, "none", 85.3e6, 0.185, 0.0247),
        (999_424, 4, "none", 100.0e6, 0.149, 0.0254),
    ]
    assert next_probe(probed(seen), 0.2).settings == ProducerSettings(999_424, 4, "lz4")


def test_a_choice_is_probed_once_more_and_not_kept_where_it_misses_then() -> None:
    first = Probe(ProducerSettings(131_072, 5), 40e6, 0.150, 0.02)
    lucky = Probe(ProducerSettings(1_000_000, 5), 112e6, 0.173, 0.02)
    same = replace(lucky.settings, compression="lz4")
    probes = [first, lucky, Probe(same, 110e6, 0.18, 0.02)]
    while (step := next_probe(probes, 0.2)).settings != lucky.settings:
        assert step.settings is not None
        probes.append(Probe(step.settings, 100e6, 0.19, 0.02))
    assert "once more" in step.reason
    held = [*probes, lucky, lucky]
    assert next_probe(held, 0.2).settings is None
    assert best_of(held, 0.2) is lucky
    assert best_of([*probes, replace(lucky, p95_s=0.26)], 0.2).settings == same


def test_the_last_probe_is_not_spent_on_a_choice_far_from_the_goal() -> None:
    """Probes of a real broker on loopback: what is left to try gave twice as much."""
    seen = [
        (16_384, 1, "none", 19.1e6, 0.006, 0.0005), (16_384, 5, "none", 26.8e6, 0.012, 0.0009),
        (16_384, 5, "lz4", 18.9e6, 0.017, 0.0012), (131_072, 5, "none", 104.6e6, 0.023, 0.0025),
        (1_000_000, 5, "none", 101.6e6, 0.211, 0.0293),
        (851_968, 5, "none", 103.4e6, 0.165, 0.0239),
        (131_072, 5, "lz4", 129.5e6, 0.018, 0.0015),
    ]  # fmt: skip
    assert next_probe(probed(seen), 0.2).settings == ProducerSettings(1_000_000, 5, "lz4")


def test_what_misses_the_goal_by_more_in_flight_is_backed_off_by_fewer() -> None:
    """Probes of a real broker behind 20 ms; smaller batches would wait as long there."""
    held = (1_000_000, 3, "none", 83.8e6, 0.142, 0.0261)
    over = (1_000_000, 5, "none", 99.5e6, 0.247, 0.0256)
    step = next_probe(probed([held, over]), 0.2)
    assert step.settings == ProducerSettings(1_000_000, 4)
    assert "fewer in flight" in step.reason


def test_more_in_flight_and_fewer_bytes_are_tried_at_once_where_neither_helped_alone() -> None:
    """On loopback the processors bind without lz4, and one request at a time with it."""
    seen = [
        (1_000_000, 1, "none", 137e6, 0.023, 0.005),
        (1_000_000, 3, "none", 135e6, 0.078, 0.013),
        (1_000_000, 1, "lz4", 122e6, 0.022, 0.0045),
        (1_000_000, 2, "none", 130e6, 0.055, 0.011),
    ]
    assert next_probe(probed(seen), 0.2).settings == ProducerSettings(1_000_000, 3, "lz4")


def test_requests_in_flight_that_the_rate_does_not_need_are_given_up_last() -> None:
    best = (1_000_000, 5, "lz4", 148.5e6, 0.129, 0.0145)
    step = next_probe(probed([best]), 0.2)
    assert step.settings == ProducerSettings(1_000_000, 3, "lz4")
    assert "3 in flight would do" in step.reason


def test_the_last_probe_goes_to_a_back_off_where_the_choice_missed_when_repeated() -> None:
    """Probes of a real broker behind 20 ms."""
    seen = [
        (16_384, 1, "none", 0.7e6, 0.046, 0.0218), (131_072, 1, "none", 4.1e6, 0.087, 0.0217),
        (1_000_000, 1, "none", 28.3e6, 0.095, 0.0237),
        (1_000_000, 3, "none", 79.5e6, 0.157, 0.0270),
        (1_000_000, 5, "none", 105.2e6, 0.191, 0.0274),
        (1_000_000, 5, "lz4", 91.8e6, 0.273, 0.0254),
        (1_000_000, 5, "none", 106.8e6, 0.240, 0.0259),
    ]  # fmt: skip
    assert next_probe(probed(seen), 0.2).settings == ProducerSettings(1_000_000, 4)


def fast(settings: ProducerSettings) -> Probe:
    """A fast machine without a delay: each knob alone gains nothing.

    A request of few compressed bytes costs the broker as much as the bytes that it saves; large
    ones need the producer and the broker to work side by side; without compression the bytes bind.
    """
    size = settings.batch_bytes
    if settings.compression == "lz4":
        ours_s, theirs_s = size * 2.6e-9, 0.45e-3 + size * 1.3e-9
    else:
        ours_s, theirs_s = 0.0, 0.03e-3 + size * (4.4e-9 if size < 300_000 else 4.9e-9)
    took_s = ours_s + theirs_s if settings.in_flight == 1 else max(ours_s, theirs_s)
    rate = size / took_s
    return Probe(settings, rate, 1.2 * settings.pending_bytes / rate, settings.in_flight * took_s)


def test_steps_that_help_only_together_are_tried_together() -> None:
    probes: list[Probe] = []
    while (step := next_probe(probes, 0.2)).settings is not None:
        probes.append(fast(step.settings))
    best = max(p.rate for p in map(fast, GRID) if p.p95_s <= 0.2)
    assert best_of(probes, 0.2).rate >= 0.9 * best


def test_a_rate_that_was_seen_once_is_seen_again_before_it_is_chosen() -> None:
    """Probes of a real broker on loopback, whose first seconds without compression were fast."""
    seen = probed([
        (16_384, 1, "none", 38.0e6, 0.005, 0.0002), (131_072, 1, "none", 217.9e6, 0.003, 0.0004),
        (1_000_000, 1, "none", 404.2e6, 0.010, 0.0016),
        (1_000_000, 3, "none", 271.3e6, 0.062, 0.0093),
        (1_000_000, 1, "lz4", 212.4e6, 0.015, 0.0024),
        (1_000_000, 2, "none", 262.8e6, 0.035, 0.0057),
        (1_000_000, 3, "lz4", 253.7e6, 0.046, 0.0052),
        (1_000_000, 4, "lz4", 329.1e6, 0.045, 0.0034),
    ])  # fmt: skip
    lucky, steady = seen[2], seen[-1]
    step = next_probe(seen, 0.2)
    assert step.settings == lucky.settings
    assert "once more" in step.reason
    seen.append(replace(lucky, rate=207.7e6))
    assert next_probe(seen, 0.2).settings == steady.settings
    seen.append(replace(steady, rate=320e6))
    assert next_probe(seen, 0.2).settings is None
    assert best_of(seen, 0.2) is steady
    alone = [*seen[:7], replace(steady, rate=250e6)]
    assert next_probe(alone, 0.2).settings is None, "no other comes near"
