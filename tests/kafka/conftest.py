from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from dev.postgres import PASSWORD
from tests.kafka import warehouse
from tests.kafka.classes import ensure_archive
from tests.kafka.driver import NOWHERE, RATE, Driver
from tests.machine import held, sort

_numbers = itertools.count(1)
ORDER = (
    "failures",
    "secured",
    "state",
    "boundary",
    "sink",
    "driver",
    "knobs",
    "checkpoint",
    "pending",
    "jvm",
    "produce",
)
"""Files by the time they take, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    sort(items, ORDER)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker for all tests; each takes topics of its own."""
    running = KafkaBroker(tmp_path_factory.mktemp("kafka"), {"broker.rack": "zone-a"})
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="session", autouse=True)
def classes(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The archive from which drivers start, made by one that runs some batches."""

    def train(listed: Path) -> None:
        for name in ("train", "trained"):
            broker.create_topic(name)
        driver = Driver(
            tmp_path_factory.mktemp("train"),
            broker.bootstrap,
            source={"bootstrapServers": broker.bootstrap, "topics": ["train"]},
            sink={"kind": "kafka", "bootstrapServers": broker.bootstrap, "topic": "trained"},
            transform={
                "module": "trimtab.transforms.samples:transform",
                "params": {"wait_ms": "0"},
            },
            defaults={"spark.driver.defaultJavaOptions": f"-XX:DumpLoadedClassList={listed}"},
        )
        driver.settings(trigger="100ms", maxOffsetsPerTrigger=100)
        made = produce(broker.bootstrap, "train", [(0.5, 2000)])
        driver.start()
        driver.until(driver.committed(made.acknowledged))
        assert driver.terminate() == 0

    ensure_archive(train)


@pytest.fixture(autouse=True)
def machine(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[None]:
    """Share the machine with the tests of other processes."""
    common = tmp_path_factory.getbasetemp().parent
    with (common / "machine.lock").open("w") as lock, held(lock, request.node):
        yield


@pytest.fixture
def password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The password of a database as a driver finds it, in a mounted Secret."""
    monkeypatch.setenv("TRIMTAB_SECRETS", str(tmp_path / "secrets"))
    file = tmp_path / "secrets" / warehouse.SECRET / warehouse.KEY
    file.parent.mkdir(parents=True)
    file.write_text(PASSWORD)
    return file


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


@pytest.fixture
def on_its_own(tmp_path: Path, drivers: list[Driver]) -> Callable[..., Driver]:
    """A driver that is told of no Kafka."""

    def make(**job: Any) -> Driver:
        directory = tmp_path / f"driver-{len(drivers)}"
        driver = Driver(directory, NOWHERE, **{"schema": 2, "source": RATE, **job})
        drivers.append(driver)
        return driver

    return make
