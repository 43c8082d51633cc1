"""A checkpoint under a URI: what Spark writes and what the driver reads of it by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_all
from tests.kafka.driver import Driver
from tests.kafka.test_state import counted, expected, send, transform_of
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

MOUNT = "spark.hadoop.fs.viewfs.mounttable.trimtab.link./base"
"""Makes viewfs://trimtab/base the same as a directory here: a file system of Hadoop that is not
the local one, and needs no service."""


def place(scheme: str, root: Path) -> dict[str, Any]:
    """The part of a job that says where its checkpoint is."""
    root.mkdir(parents=True, exist_ok=True)
    if scheme == "file":
        return {"checkpointUri": f"{root.as_uri()}/n/clicks/g1/query"}
    uri = "viewfs://trimtab/base/n/clicks/g1/query"
    return {"checkpointUri": uri, "sparkConf": {MOUNT: root.as_uri()}}


@LONG
@pytest.mark.parametrize("scheme", ["file", "viewfs"])
def test_a_query_with_state_goes_on_exactly_over_a_query_restart_and_a_killed_driver(
    broker: KafkaBroker,
    topics: tuple[str, str],
    make_driver: Callable[..., Driver],
    tmp_path: Path,
    scheme: str,
) -> None:
    clicks, root = 3000, tmp_path / "bucket"
    windows = {"transform": transform_of("windows"), "outputMode": "update"}
    driver = make_driver(**windows, **place(scheme, root))
    driver.settings(trigger="0s", maxOffsetsPerTrigger=200)
    send(broker, topics[0], range(clicks))
    driver.start()
    driver.until(lambda m: m.get("batches_total", 0) >= 2 and m.get("batch_running_records"))
    edited = driver.settings(trigger="0s", maxOffsetsPerTrigger=201)
    metrics = driver.until(lambda m: m.get("batch_settings_generation") == edited)
    assert metrics["run_number"] == 2
    driver.kill()
    driver.settings(trigger="0s", maxOffsetsPerTrigger=2000)
    driver.start()
    metrics = driver.until(driver.committed(1))
    assert metrics["run_number"] == 3
    assert metrics['pause_seconds_total{how="driver"}'] > 0, "when it last committed is known"
    assert driver.terminate() == 0
    assert counted(broker, topics[1]) == expected(clicks)
    beside = root / "n/clicks/g1"
    assert (beside / "run_number").read_text() == "3"
    assert (beside / "query.state.json").exists()
    assert (beside / "query/commits").is_dir()


def test_other_topics_are_refused_by_what_the_uri_holds(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    where = place("viewfs", tmp_path / "bucket")
    send(broker, topics[0], range(50))
    first = make_driver(**where)
    first.settings(trigger="0s")
    first.start()
    first.until(first.committed(50))
    assert first.terminate() == 0
    source = {"bootstrapServers": broker.bootstrap, "topics": [topics[1]]}
    second = make_driver(**place("viewfs", tmp_path / "bucket"), source=source)
    second.settings(trigger="0s")
    second.start()
    refused = second.termination()
    assert refused["reason"] == "CheckpointIncompatible"
    assert topics[0] in refused["message"]


def test_a_file_system_that_the_image_does_not_bring_is_named(
    make_driver: Callable[..., Driver],
) -> None:
    driver = make_driver(checkpointUri="gs://bucket/path/n/clicks/g1/query")
    driver.settings(trigger="0s")
    driver.start()
    refused = driver.termination()
    assert refused["reason"] == "SettingsInvalid"
    assert "gs://bucket/path/n/clicks/g1" in refused["message"]
    assert "must bring the connector" in refused["message"]


def test_a_new_generation_goes_on_where_the_last_one_was(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    def generation(number: int) -> dict[str, Any]:
        return {"checkpointUri": f"file://{tmp_path}/g{number}/query"}

    send(broker, topics[0], range(60))
    first = make_driver(**generation(1))
    first.settings(trigger="0s")
    first.start()
    first.until(first.committed(60))
    assert first.terminate() == 0
    send(broker, topics[0], range(60, 100))
    second = make_driver(**generation(2))
    second.settings(trigger="0s")
    second.start()
    second.until(second.committed(40))
    assert second.terminate() == 0
    written = Counter(read_all(broker.bootstrap, topics[1]))
    assert len(written) == 100, "nothing is skipped"
    assert set(written.values()) == {1}, "nothing is read twice"


def test_a_topic_that_was_created_again_is_refused_in_words(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    send(broker, topics[0], range(50))
    driver = make_driver()
    driver.settings(trigger="0s")
    driver.start()
    driver.until(driver.committed(50))
    assert driver.terminate() == 0
    broker.delete_topic(topics[0])
    broker.create_topic(topics[0], partitions=2)
    send(broker, topics[0], range(500))
    driver.start()
    refused = driver.termination()
    assert refused["reason"] == "CheckpointIncompatible"
    assert "was deleted and created again" in refused["message"]
