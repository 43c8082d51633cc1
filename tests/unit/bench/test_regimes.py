"""The table of the regimes, what the loop sees of a driver, and how the law climbs on it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from bench.regimes import loop
from bench.regimes.page import page
from tests.kafka.test_regimes import MOST, NOTES, SECOND_REGIME, START, TABLE

from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.settings import Settings

work = pytest.importorskip("bench.regimes.work")


@pytest.mark.parametrize(
    ("records", "seconds"), [(50, 0.197), (100, 0.2), (1500, 0.275), (4000, 1.2), (12_000, 6.8)]
)
def test_between_the_points_and_beyond_them(records: int, seconds: float) -> None:
    assert work.seconds(NOTES, records) == pytest.approx(seconds, abs=0.001)


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
        seconds: float = 0.3 + work.seconds(TABLE, self.settings.max_offsets)
        return seconds

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
    text = page(story, TABLE, "abc", 1.0)
    assert f"maxOffsetsPerTrigger {story.final.max_offsets}" in text
    assert len([row for row in text.splitlines() if row.startswith("| ")]) >= 4
    assert time.time() > clock.now_s, "the real clock was left alone"
