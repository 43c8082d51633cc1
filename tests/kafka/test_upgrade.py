"""A driver of the last release under today's operator, and today's driver after it.

An image of the user's own keeps the release that it was made from when the operator is upgraded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_all
from tests.kafka.driver import REPO, Driver
from tests.kafka.test_state import send
from tests.long import LONG
from tests.released import archive, unpack
from tests.unit.workloads.manifests import example, pipeline_children

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

SQL = {"sql": "SELECT key, value FROM source"}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the last release's `trimtab`, out of this repository's history."""
    archived = archive("operator")
    folder = tmp_path_factory.mktemp("released")
    unpack(archived, folder)
    return folder / "operator"


def document() -> dict[str, Any]:
    """The quickstart's job as today's operator writes it, without what only pods need."""
    job = json.loads(pipeline_children(example("pipeline"))["ConfigMap"]["data"]["job.json"])
    places = ("source", "sink", "checkpointUri", "executors", "transform")
    return {key: value for key, value in job.items() if key not in places}


@LONG
def test_a_pipeline_goes_through_an_upgrade_of_the_operator_and_then_of_its_image(
    broker: KafkaBroker,
    topics: tuple[str, str],
    make_driver: Callable[..., Driver],
    released: Path,
) -> None:
    driver = make_driver(transform=SQL, **document())
    send(broker, topics[0], range(300))
    driver.settings(uid="uid-1", executors=1, trigger="1s", maxOffsetsPerTrigger=200)

    driver.code = released
    driver.start()
    driver.until(driver.committed(300))
    edited = driver.settings(uid="uid-1", executors=1, trigger="500ms", maxOffsetsPerTrigger=100)
    driver.until(lambda m: m.get("settings_generation") == edited)
    send(broker, topics[0], range(300, 400))
    driver.until(driver.committed(400))
    assert driver.terminate() == 0

    driver.start()
    send(broker, topics[0], range(400, 500))
    metrics = driver.until(driver.committed(100))
    assert metrics["run_number"] > 1, "it has gone on from its checkpoint"
    assert driver.terminate() == 0

    driver.code = REPO / "operator"
    driver.start()
    send(broker, topics[0], range(500, 600))
    driver.until(driver.committed(100))
    assert driver.terminate() == 0
    written = Counter(read_all(broker.bootstrap, topics[1]))
    assert (len(written), set(written.values())) == (600, {1})
