"""What the loop sees of a driver, how the law climbs on it, and the page of both."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from bench.regimes import loop
from bench.regimes.page import page
from tests.kafka.test_regimes import MOST, START

from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.settings import Settings

NOTES = [(100, 0.2), (1000, 0.25), (2000, 0.3), (4000, 1.2), (8000, 4.0)]
"""The tuning notes' seconds of a bulk write by its records, with the overload that follows."""

SLOWER = 4
"""Factor on the notes' seconds: Spark's own part of a batch is then small beside them."""

SECOND_REGIME = range(1000, 2501)


def seconds(records: float) -> float:
    """Of a batch: interpolated linearly, and extrapolated beyond the last."""
    for (n0, s0), (n1, s1) in itertools.pairwise(NOTES):
        if records <= n1 or (n1, s1) == NOTES[-1]:
            return SLOWER * max(0.0, s0 + (s1 - s0) * (records - n0) / (n1 - n0))
    raise AssertionError


class Clock:
    """Seconds that pass only while somebody sleeps."""

    now_s = 1_000_000.0

    def time(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Played:
    """A driver that follows the table at once, without a spread."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.generation, self.settings = clock, 1, START
        self.batch, self.began_s, self.records, self.took_s = 0, clock.now_s, 100, 1.0
        self.ran_at = 1

    def metrics(self) -> dict[str, float]:
        while self.clock.now_s - self.began_s >= self.took():
            self.batch, self.took_s, self.ran_at = self.batch + 1, self.took(), self.generation
            self.began_s, self.records = self.began_s + self.took_s, self.settings.max_offsets
        plain = {
            "heartbeat_timestamp_seconds": self.clock.now_s, "run_number": 1,
            "batch_id": self.batch,
            "batch_committed_timestamp_seconds": self.began_s, "batch_records": self.records,
            "batch_settings_generation": self.ran_at, "batches_total": self.batch,
            "settings_generation": self.generation,
        }  # fmt: skip
        return plain | {
            'batch_duration_seconds{phase="total"}': self.took_s,
            'batch_duration_seconds{phase="planning"}': 0.2,
            'lag_records{partition="0",topic="in"}': 100_000.0,
            'partition_input_total{partition="0",topic="in"}': 200_000.0,
        }

    def took(self) -> float:
        return 0.3 + seconds(self.settings.max_offsets)

    def apply(self, settings: Settings) -> int:
        self.settings, self.generation = settings, self.generation + 1
        return self.generation


def test_the_law_climbs_to_the_top_of_the_second_regime(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(loop, "time", clock)
    told: list[Any] = []
    story = loop.drive(Played(clock), MOST, ControllerState(1, START), 600, told.append)
    assert story.final is not None
    assert story.final.max_offsets in SECOND_REGIME
    assert told == story.decisions
    by_hand = loop.measure(Played(clock), START, (100, 1600, 4000), 3, 60)
    assert [(each.limit, each.records) for each in by_hand[::3]] == [
        (100, 100), (1600, 1600), (4000, 4000)
    ]  # fmt: skip
    assert [each.batches for each in loop.typical(by_hand, 0.5).values()] == [3, 3, 3]
    text = page(story, by_hand, "abc", 1.0)
    assert f"maxOffsetsPerTrigger {story.final.max_offsets}**, at 1" in text
    assert len([row for row in text.splitlines() if row.startswith("| ")]) >= 8
    assert time.time() > clock.now_s, "the real clock was left alone"
