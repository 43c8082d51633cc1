"""A source that is no Kafka: rows that Spark makes by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_messages
from tests.kafka.driver import NOWHERE, OF_KAFKA, RATE, Driver
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]


def rows(files: Path) -> list[int]:
    lines = [line for path in files.rglob("*.json") for line in path.read_text().splitlines()]
    return sorted(json.loads(line)["value"] for line in lines)


def test_rows_come_with_their_figures_and_go_on_after_a_stop_where_they_were(
    on_its_own: Callable[..., Driver], tmp_path: Path
) -> None:
    files = tmp_path / "files"
    driver = on_its_own(
        transform={"sql": "SELECT timestamp, value FROM source"},
        sink={"kind": "files", "format": "json", "uri": str(files)},
    )
    driver.settings(trigger="200ms")
    driver.start()
    driver.until(lambda m: m.get("batch_running_records", 0) >= 20)
    seen = driver.until(lambda m: m.get("records_total", 0) >= 100 and m["batch_records"])
    assert [name for name in seen if name.startswith(OF_KAFKA)] == [], "nobody knows"
    assert 0 < seen['batch_record_latency_seconds{quantile="0.95"}'] < 60
    assert seen["batch_records"] % 20 == 0, "whole seconds"
    assert (seen["ledger_mismatch_total"], seen["skipped_records_total"]) == (0, 0)
    assert seen['ledger_records_total{side="source"}'] == seen["records_total"]
    assert seen['ledger_records_total{side="sink"}'] == seen["records_total"]
    assert driver.terminate() == 0
    before = rows(files)
    assert before == list(range(len(before)))
    driver.start()
    driver.until(lambda m: m.get("records_total", 0) >= 100)
    assert driver.terminate() == 0
    after = rows(files)
    assert len(after) >= len(before) + 100
    assert after == list(range(len(after))), "each once, also those of the pause"
    log = driver.log.read_text()
    assert NOWHERE not in log
    assert "KafkaAdminClient" not in log


@LONG
def test_a_topic_gets_each_row_and_the_ledger_agrees(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    sql = "SELECT CAST(value AS STRING) AS value FROM source"
    driver = make_driver(schema=2, source=RATE, transform={"sql": sql})
    driver.settings(trigger="200ms")
    driver.start()
    seen = driver.until(lambda m: m.get("records_total", 0) >= 100 and "missing_records" in m)
    assert (seen["ledger_mismatch_total"], seen["missing_records"]) == (0, 0)
    assert driver.terminate() == 0
    read = read_messages(broker.bootstrap, topics[1])
    got = sorted(int(message.value() or b"-1") for message in read)
    assert len(got) >= 100
    assert got == list(range(len(got)))


@LONG
def test_a_checkpoint_of_one_source_is_refused_by_the_other(
    broker: KafkaBroker, topics: tuple[str, str], on_its_own: Callable[..., Driver]
) -> None:
    driver = on_its_own(transform={"sql": "SELECT value FROM source"}, sink={"kind": "noop"})
    driver.settings(trigger="200ms")
    driver.start()
    driver.until(lambda m: m.get("records_total", 0) >= 20)
    assert driver.terminate() == 0
    document = json.loads((driver.directory / "job.json").read_text())
    document["source"] = {"bootstrapServers": broker.bootstrap, "topics": [topics[0]]}
    (driver.directory / "job.json").write_text(json.dumps(document))
    driver.start()
    end = driver.termination()
    assert end["reason"] == "CheckpointIncompatible"
    assert "of a source without topics" in end["message"]


def test_another_stream_beside_it_is_refused(on_its_own: Callable[..., Driver]) -> None:
    driver = on_its_own(transform={"module": "beside:transform"}, sink={"kind": "noop"})
    (driver.directory / "modules").mkdir()
    (driver.directory / "modules" / "beside.py").write_text(
        "def transform(df, params):\n"
        "    more = df.sparkSession.readStream.format('rate').option('rowsPerSecond', '7')\n"
        "    return df.union(more.load())\n"
    )
    driver.settings(trigger="200ms")
    driver.start()
    end = driver.termination()
    assert "the transform reads another stream" in end["message"]
