"""The real law on a real driver and a real database: it climbs to the top of the second regime."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench.regimes import database
from bench.regimes.loop import drive, measure, typical
from bench.regimes.page import page
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from dev.postgres import Postgres
from tests.kafka.driver import Driver
from tests.kafka.warehouse import LOGIN
from tests.long import LONG

from bench import commit
from trimtab.api.reasons import Action
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.timeout(900),
    pytest.mark.alone,
    LONG,
]

START = Settings(executors=1, trigger_s=0.5, max_offsets=100)
BY_HAND = (100, 400, 800, 1600, 3200, 6400, 12_800)
MOST = Policy(
    target_s=None, quantile=0.95, rate=None, catch_up_s=600.0, min_executors=1, max_executors=1,
    maximum=True, pinned={"trigger": START.trigger_s},
)  # fmt: skip
ENOUGH = 0.6
"""Least share of the best rate by hand: a step may be fourfold, and a machine's seconds vary."""


@pytest.fixture
def one_partition(broker: KafkaBroker) -> str:
    """A batch is one task, and one connection to the database."""
    broker.create_topic("regimes", 1)
    return "regimes"


@pytest.fixture
def sink(password: Path) -> Iterator[dict[str, object]]:
    """The table, as a driver's document has it."""
    assert password.exists()
    server = Postgres()
    server.start()
    server.run(database.SCHEMA)
    yield {"kind": "jdbc", "url": server.url, "table": database.TABLE, "keys": ["id"], **LOGIN}
    server.remove()


def test_the_law_finds_the_top_of_the_second_regime(
    broker: KafkaBroker, one_partition: str, make_driver: Callable[..., Driver],
    sink: dict[str, object],
) -> None:  # fmt: skip
    driver = make_driver(
        source={"bootstrapServers": broker.bootstrap, "topics": [one_partition]},
        transform={"sql": database.SQL},
        sink=sink,
    )
    produce(broker.bootstrap, one_partition, [(8.0, 40_000)])
    generation = driver.apply(START)
    driver.start()
    driver.until(lambda m: m.get("batches_total", 0) > 0, 300)
    story = drive(driver, MOST, ControllerState(generation, START), 400)
    by_hand = measure(driver, START, BY_HAND, 3, 60)
    assert driver.terminate(120) == 0
    if target := os.environ.get("TRIMTAB_PAGE"):
        Path(target).write_text(page(story, by_hand, commit.head(), os.getloadavg()[1]))
    climbed = [d.settings.max_offsets for d in story.decisions if d.action is Action.CHANGE]
    assert len(climbed) >= 2, story.decisions
    assert story.final is not None
    reached = story.by_limit[story.final.max_offsets].rate
    set_by_hand = typical(by_hand, START.trigger_s)
    best = max(seen.rate for seen in set_by_hand.values())
    assert reached >= ENOUGH * best, (story.decisions, story.by_limit, set_by_hand)
