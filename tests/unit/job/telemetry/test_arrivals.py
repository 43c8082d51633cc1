"""What has arrived at the sink, beside what committed batches have handed on."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.api import endpoints
from trimtab.errors import UnavailableError
from trimtab.job.query.sinks.kafka import KafkaSink
from trimtab.job.telemetry.arrivals import ArrivalWatch
from trimtab.job.telemetry.driver_state import DriverState
from trimtab.job.termination import JobFailureError, Reason


class Kafka:
    """A topic of two partitions."""

    def __init__(self) -> None:
        self.ends = {("out", 0): 100, ("out", 1): 7}
        self.away = False

    def partitions(self, _topics: Any) -> dict[str, int]:
        if self.away:
            raise UnavailableError("Kafka does not answer")
        return {"out": 2}

    def end_offsets(self, partitions: dict[str, int], *, committed: bool) -> dict[Any, int]:
        assert partitions == {"out": 2}
        assert not committed, "records of open transactions have arrived too"
        return self.ends


@pytest.fixture
def kafka() -> Kafka:
    return Kafka()


@pytest.fixture
def sink(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> KafkaSink:
    monkeypatch.setattr("trimtab.job.query.sinks.kafka.KafkaAdmin", lambda *_: kafka)
    document = {"bootstrapServers": "kafka:9092", "topic": "out"}
    return KafkaSink(endpoints.KafkaSinkDocument.model_validate(document))


def test_what_was_there_before_does_not_count(kafka: Kafka, sink: KafkaSink) -> None:
    assert sink.arrived() is None, "unknown before the first look"
    sink.require()
    kafka.ends = {("out", 0): 130, ("out", 1): 9}
    sink.require()  # before another start of the query
    assert sink.arrived() == 32


def test_a_kafka_that_is_away_heals(kafka: Kafka, sink: KafkaSink) -> None:
    kafka.away = True
    with pytest.raises(JobFailureError) as caught:
        sink.require()
    assert (caught.value.reason, caught.value.heals) == (Reason.KAFKA_UNREACHABLE, True)


def test_records_that_did_not_arrive_are_missing(kafka: Kafka, sink: KafkaSink) -> None:
    driver = DriverState()
    watch = ArrivalWatch(driver, sink.arrived)
    sink.require()
    driver.totals.ledger["sink"] = 30
    kafka.ends = {("out", 0): 125, ("out", 1): 7}
    watch.check()
    assert (driver.totals.arrived, driver.totals.missing) == (25, 5)
    kafka.away = True
    watch.check()
    assert driver.totals.missing == 5, "without an answer, what is known stands"
    kafka.away, kafka.ends = False, {("out", 0): 140, ("out", 1): 7}
    watch.check()
    assert (driver.totals.arrived, driver.totals.missing) == (40, 0), "some were written again"


def test_a_topic_that_was_created_again_has_lost_its_records(kafka: Kafka, sink: KafkaSink) -> None:
    driver = DriverState()
    sink.require()
    driver.totals.ledger["sink"] = 30
    kafka.ends = {("out", 0): 0, ("out", 1): 2}
    ArrivalWatch(driver, sink.arrived).check()
    assert driver.totals.missing == 30 + 107 - 2


def test_a_sink_that_cannot_tell_leaves_it_unknown() -> None:
    driver = DriverState()
    driver.totals.ledger["sink"] = 30
    ArrivalWatch(driver, lambda: None).check()
    assert (driver.totals.arrived, driver.totals.missing) == (None, None)
