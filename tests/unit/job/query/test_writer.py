"""What the writer hands to Spark for the live knobs."""

from __future__ import annotations

from trimtab.api.knobs import KnobValues
from trimtab.job.query import source
from trimtab.job.query.writer import SAFE, Live, producer_options


def numbers(**said: object) -> dict[str, float]:
    return KnobValues.model_validate(said).numbers()


def test_a_pipeline_that_says_nothing_leaves_the_producer_to_kafka() -> None:
    assert producer_options({"trigger": 5.0}) == SAFE


def test_idempotence_is_on_whatever_is_said() -> None:
    said = numbers(
        producer={"maxInFlight": 1, "batchSize": 65536, "lingerMs": 20, "compression": "zstd"}
    )
    assert producer_options(said) == {
        "kafka.enable.idempotence": "true",
        "kafka.max.in.flight.requests.per.connection": "1",
        "kafka.batch.size": "65536",
        "kafka.linger.ms": "20",
        "kafka.compression.type": "zstd",
    }


def test_what_is_no_longer_said_has_its_default_again() -> None:
    live = Live()
    live.set(numbers(maxInFlight=8, producer={"lingerMs": 20}))
    assert (live.max_in_flight, live.producer["kafka.linger.ms"]) == (8, "20")
    live.set({})
    assert (live.max_in_flight, live.producer) == (1, SAFE)


def test_the_source_gets_the_options_that_are_said_and_no_other() -> None:
    assert source.limits({"maxOffsetsPerTrigger": 500.0, "trigger": 1.0}) == {
        "maxOffsetsPerTrigger": "500"
    }
    said = numbers(
        minPartitions=8,
        maxRecordsPerPartition=100,
        fetch={"maxPartitionBytes": 2048, "maxBytes": 4096},
    )
    assert source.limits(said) == {
        "minPartitions": "8",
        "maxRecordsPerPartition": "100",
        "kafka.max.partition.fetch.bytes": "2048",
        "kafka.fetch.max.bytes": "4096",
    }
