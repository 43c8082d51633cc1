"""The self-tuning load against a real broker, far away by way of a delaying proxy."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from bench.producer.place import TOPIC, brokers
from click.testing import CliRunner, Result

from trimtab.api.connection import KafkaConnection
from trimtab.cli import main
from trimtab.kafka.admin import KafkaAdmin
from trimtab.tuning.producer_search import MAX_PROBES

ROUND_TRIP_MS = 20.0


@pytest.fixture(scope="module")
def far() -> Iterator[str]:
    with brokers([ROUND_TRIP_MS]) as at:
        yield at[ROUND_TRIP_MS]


def produce(bootstrap: str, *arguments: str, topic: str = TOPIC) -> Result:
    return CliRunner().invoke(main, ["produce", "-b", bootstrap, "-t", topic, *arguments])


def test_a_producer_far_away_is_tuned_from_one_small_batch_at_a_time(far: str) -> None:
    plain = produce(far, "--seconds", "1", "--json")
    tuned = produce(
        far, "--auto", "--latency", "1s", "--probe-seconds", "0.5", "--seconds", "1", "--json"
    )
    before = json.loads(plain.stdout)
    after = json.loads(tuned.stdout)
    assert before["round_trip_ms"] >= ROUND_TRIP_MS
    assert after["probes"] <= MAX_PROBES
    assert after["settings"]["in_flight"] <= 5
    assert after["megabytes_per_s"] >= 5 * before["megabytes_per_s"]
    assert "in flight" in tuned.stderr


def test_records_without_a_key_are_spread_over_all_partitions(far: str) -> None:
    """Nothing designates a partition for them, so none of them waits for a busy one."""
    admin = KafkaAdmin(KafkaConnection(far), 10)
    partitions = admin.partitions([TOPIC])
    before = admin.end_offsets(partitions)
    produce(far, "--seconds", "2", "--batch-bytes", "16384")
    after = admin.end_offsets(partitions)
    added = [after[each] - before[each] for each in after]
    assert len(added) == 4
    assert min(added) > sum(added) / 20, added


def test_a_setting_that_is_given_is_not_tuned(far: str) -> None:
    done = produce(far, "--auto", "--latency", "1s", "--probe-seconds", "0.5", "--seconds", "1",
                   "--in-flight", "2", "--json")  # fmt: skip
    assert json.loads(done.stdout)["settings"]["in_flight"] == 2


def test_a_topic_that_is_not_there_is_said(far: str) -> None:
    began = time.monotonic()
    refused = produce(far, "--seconds", "1", topic="nowhere")
    assert refused.exit_code == 1
    assert "create it first" in refused.output
    assert time.monotonic() - began < 20
