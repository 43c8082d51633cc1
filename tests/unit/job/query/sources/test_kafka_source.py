"""The options of the Kafka source, and what is fetched at once."""

from __future__ import annotations

import pytest

from trimtab.api.knobs import KnobValues
from trimtab.job.query.sources.kafka import MOST_FETCHED, fetch_sizes, limits

MIB = 1 << 20
LIMIT = {"maxOffsetsPerTrigger": 40_000.0}


@pytest.mark.parametrize(
    ("record_bytes", "partitions", "size"),
    [
        (100.0, 4, None),  # 1 MB of each partition: Kafka's default holds it
        (1000.0, 4, 16 * MIB),  # 10 MB
        (1000.0, 16, 4 * MIB),  # 2.5 MB
        (10_000.0, 4, MOST_FETCHED),  # 100 MB are too much for a task
        (None, 4, None),
        (1000.0, 0, None),
    ],
)
def test_a_full_batch_comes_with_one_fetch(
    record_bytes: float | None, partitions: int, size: int | None
) -> None:
    sizes = fetch_sizes(LIMIT, record_bytes, partitions)
    if size is None:
        assert sizes == {}
    else:
        assert sizes == {"fetch.maxPartitionBytes": size, "fetch.maxBytes": 50 * MIB}


def test_what_somebody_says_stays() -> None:
    for name in ("fetch.maxPartitionBytes", "fetch.maxBytes"):
        assert fetch_sizes(LIMIT | {name: 4096.0}, 1000.0, 4) == {}


def test_a_cap_on_a_task_caps_what_it_fetches() -> None:
    capped = LIMIT | {"maxRecordsPerPartition": 500.0}
    assert fetch_sizes(capped, 1000.0, 4) == {}


def test_the_source_gets_the_options_that_are_said_and_no_other() -> None:
    assert limits({"maxOffsetsPerTrigger": 500.0, "trigger": 1.0}) == {
        "maxOffsetsPerTrigger": "500"
    }
    said = KnobValues.model_validate(
        {
            "minPartitions": 8,
            "maxRecordsPerPartition": 100,
            "fetch": {"maxPartitionBytes": 2048, "maxBytes": 4096},
        }
    ).numbers()
    assert limits(said) == {
        "minPartitions": "8",
        "maxRecordsPerPartition": "100",
        "kafka.max.partition.fetch.bytes": "2048",
        "kafka.fetch.max.bytes": "4096",
    }
