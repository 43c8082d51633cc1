"""What the Kafka sink hands to Spark for its knobs."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.api.endpoints import KafkaSinkDocument
from trimtab.api.knobs import KnobValues
from trimtab.errors import TransformError
from trimtab.job.query.sinks.kafka import SAFE, KafkaSink, producer_options
from trimtab.job.query.writer import Live

TARGET = {"kafka.bootstrap.servers": "kafka:9092", "topic": "out"}


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


class Writing:
    """A data frame that notes the options it is written with."""

    def __init__(self) -> None:
        self.said: dict[str, str] = {}
        self.write = self

    def format(self, name: str) -> Writing:
        assert name == "kafka"
        return self

    def options(self, **said: str) -> Writing:
        self.said = said
        return self

    def save(self) -> None:
        return None


def sink(**document: Any) -> KafkaSink:
    return KafkaSink(
        KafkaSinkDocument(bootstrap_servers="kafka:9092", topic="out").model_copy(update=document)
    )


def test_options_of_the_spec_are_options_of_the_producer() -> None:
    frame: Any = Writing()
    sink(options={"max.request.size": "5242880"}).write(frame, 1)
    assert frame.said == SAFE | TARGET | {"kafka.max.request.size": "5242880"}
    assert sink(options={"max.request.size": "5242880"}).most_sent == 5 * sink().most_sent


def written(sink: KafkaSink) -> dict[str, str]:
    frame: Any = Writing()
    sink.write(frame, 7)
    said: dict[str, str] = frame.said
    return said


def test_what_is_no_longer_said_has_its_default_again() -> None:
    kafka = sink()
    live = Live(kafka)
    live.set(numbers(maxInFlight=8, producer={"lingerMs": 20}))
    assert (live.max_in_flight, written(kafka)["kafka.linger.ms"]) == (8, "20")
    live.set({})
    assert (live.max_in_flight, written(kafka)) == (1, SAFE | TARGET)


class Typed:
    """A data frame that has columns."""

    def __init__(self, **types: str) -> None:
        self.dtypes = list(types.items())
        self.columns = list(types)

    def select(self, *columns: str) -> tuple[str, ...]:
        return columns


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ({"key": "string"}, "`value` of string or binary, it is missing"),
        ({"value": "int"}, "`value` of string or binary, it is int"),
        ({"value": "string", "key": "bigint"}, "`key` must be string or binary, it is bigint"),
    ],
)
def test_columns_that_do_not_suit_kafka_are_refused(types: dict[str, str], words: str) -> None:
    frame: Any = Typed(**types)
    with pytest.raises(TransformError, match=words):
        sink().prepare(frame)


def test_a_column_named_topic_does_not_choose_the_topic() -> None:
    frame: Any = Typed(key="string", value="binary", headers="array", topic="string", n="int")
    assert sink().prepare(frame) == ("key", "value", "headers")
