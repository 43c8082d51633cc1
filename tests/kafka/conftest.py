from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dev.kafka import KafkaBroker
from tests.kafka.driver import Driver

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker for all tests; each takes topics of its own."""
    running = KafkaBroker(tmp_path_factory.mktemp("kafka"), {"broker.rack": "zone-a"})
    running.start()
    yield running
    running.stop()


@pytest.fixture
def topics(broker: KafkaBroker) -> tuple[str, str]:
    """Two new topics of four partitions: in, out."""
    number = next(_numbers)
    names = f"in-{number}", f"out-{number}"
    for name in names:
        broker.create_topic(name, 4)
    return names


@pytest.fixture
def drivers() -> Iterator[list[Driver]]:
    made: list[Driver] = []
    yield made
    for driver in made:
        if hasattr(driver, "process") and driver.process.poll() is None:
            driver.kill()


@pytest.fixture
def make_driver(
    broker: KafkaBroker, topics: tuple[str, str], tmp_path: Path, drivers: list[Driver]
) -> Callable[..., Driver]:
    """A driver that reads the test's first topic and writes its second."""

    def make(**job: Any) -> Driver:
        source = {"bootstrapServers": broker.bootstrap, "topics": [topics[0]]}
        sink = {"kind": "kafka", "bootstrapServers": broker.bootstrap, "topic": topics[1]}
        directory = tmp_path / f"driver-{len(drivers)}"
        driver = Driver(directory, broker.bootstrap, **{"source": source, "sink": sink, **job})
        drivers.append(driver)
        return driver

    return make
