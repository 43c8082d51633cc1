"""The real law on a real driver: it climbs to the top of the second regime, clear of the third."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.regimes import work
from bench.regimes.loop import drive
from bench.regimes.page import page
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from tests.kafka.driver import Driver

from bench import commit
from trimtab.api.reasons import Action
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900), pytest.mark.alone]

SLOWER = 4
"""Factor on the notes' times: Spark's own part of a batch is then small beside them."""

NOTES = [[100, 0.2], [1000, 0.25], [2000, 0.3], [4000, 1.2], [8000, 4.0]]
"""Seed times of a bulk write by its records, with the overload that follows."""

TABLE = [[records, SLOWER * seconds] for records, seconds in NOTES]
SECOND_REGIME = range(1000, 2501)
START = Settings(executors=1, trigger_s=0.5, max_offsets=100)
MOST = Policy(
    target_s=None, quantile=0.95, rate=None, catch_up_s=600.0, min_executors=1, max_executors=1,
    maximum=True, pinned={"trigger": START.trigger_s},
)  # fmt: skip


class Driven:
    """A driver as the law needs it."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver

    def metrics(self) -> dict[str, float]:
        return self.driver.metrics()

    def apply(self, settings: Settings) -> int:
        return self.driver.settings(
            trigger=f"{round(settings.trigger_s * 1000)}ms",
            maxOffsetsPerTrigger=settings.max_offsets,
        )


@pytest.fixture
def one_partition(broker: KafkaBroker) -> str:
    """A batch is one task, so that the table's time is the batch's."""
    broker.create_topic("regimes", 1)
    return "regimes"


def test_the_law_finds_the_top_of_the_second_regime(
    broker: KafkaBroker, one_partition: str, make_driver: Callable[..., Driver]
) -> None:
    driver = make_driver(
        source={"bootstrapServers": broker.bootstrap, "topics": [one_partition]},
        transform={"module": "regimes:transform", "params": {"table": json.dumps(TABLE)}},
    )
    modules = driver.directory / "modules"
    modules.mkdir()
    (modules / "regimes.py").write_text(Path(work.__file__).read_text())
    produce(broker.bootstrap, one_partition, [(5.0, 30_000)])
    driven = Driven(driver)
    generation = driven.apply(START)
    driver.start()
    driver.until(lambda m: m.get("batches_total", 0) > 0, 300)
    story = drive(driven, MOST, ControllerState(generation, START), 600)
    assert driver.terminate(120) == 0
    if target := os.environ.get("TRIMTAB_PAGE"):
        Path(target).write_text(page(story, TABLE, commit.head(), os.getloadavg()[1]))
    climbed = [d.settings.max_offsets for d in story.decisions if d.action is Action.CHANGE]
    assert len(climbed) >= 2, story.decisions
    assert story.final is not None
    assert story.final.max_offsets in SECOND_REGIME, story.decisions
    last = [b for b in story.batches if b.limit == story.final.max_offsets]
    assert max(b.records for b in last) <= 1.1 * SECOND_REGIME[-1]
