"""The tables of sources and sinks: each kind is one module and one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

import pytest
from tests.unit.job.samples import job

from trimtab.api import contract, endpoints
from trimtab.api.knobs import EXECUTORS, KNOBS, MAX_IN_FLIGHT, SCOPE, TRIGGER, How
from trimtab.errors import ContractError
from trimtab.job.query import sinks
from trimtab.job.query.protocols import Sink, Source
from trimtab.job.query.sinks import SINKS, open_sink
from trimtab.job.query.sources import SOURCES, open_source
from trimtab.job.query.sources.stored import StoredSource
from trimtab.job.query.writer import Live

KAFKA = endpoints.KafkaSourceDocument(bootstrap_servers="kafka:9092", topics=["in"])


def test_every_document_of_the_contract_has_its_part_in_the_driver() -> None:
    union, _ = get_args(endpoints.SinkDocument)
    assert set(SINKS) == set(get_args(union))
    union, _ = get_args(endpoints.SourceDocument)
    assert set(SOURCES) == {get_args(tagged)[0] for tagged in get_args(union)}


def test_every_knob_has_one_home() -> None:
    """What neither the source nor a sink brings belongs to the query or its executors."""
    source: Source = open_source(KAFKA)
    sinks: tuple[Sink, ...] = (
        open_sink(endpoints.KafkaSinkDocument(bootstrap_servers="kafka:9092", topic="out")),
        open_sink(endpoints.DeltaSinkDocument(uri="/table")),
    )
    written = [name for sink in sinks for name in sink.knobs]
    own = {TRIGGER.name, EXECUTORS.name, SCOPE.name, MAX_IN_FLIGHT.name}
    assert sorted([*source.knobs, *written, *own]) == sorted(KNOBS)
    assert {KNOBS[name].how for name in source.knobs} == {How.QUERY}
    assert {KNOBS[name].how for name in written} == {How.LIVE}


class ToyDocument(endpoints.NoopSinkDocument):
    """What a spec would say of a toy."""

    kind: Literal["noop"] = "noop"


class ToySink:
    """A further kind: all that the driver has to know of it."""

    knobs = ("toy.size",)
    phases = ("sink",)
    ignores = ()
    on_replay = "the same rows are there once"
    spent_s: Mapping[str, float] = {}

    def __init__(self, _document: ToyDocument) -> None:
        self.rows: dict[int, Any] = {}
        self.size = 1.0

    def require(self) -> None:
        return None

    def arrived(self) -> int | None:
        return len(self.rows)

    def prepare(self, frame: Any) -> Any:
        return frame

    def follow(self, knobs: Mapping[str, float]) -> None:
        self.size = knobs.get("toy.size", 1.0)

    def write(self, frame: Any, batch_id: int) -> None:
        self.rows[batch_id] = frame


def test_a_further_sink_is_one_class_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "SINKS", {**SINKS, ToyDocument: ToySink})
    toy = open_sink(ToyDocument())
    assert isinstance(toy, ToySink)
    live = Live(toy)
    live.set({"toy.size": 4.0})
    assert toy.size == 4.0
    frame: Any = "rows"
    for _again in range(2):
        live.sink.write(frame, 7)
    assert toy.rows == {7: "rows"}


def test_the_documents_read_as_they_always_did() -> None:
    document = {
        "namespace": "shop", "pipeline": "clicks", "pipelineUid": "uid",
        "source": {"bootstrapServers": "k:9092", "topics": ["in"]}, "transform": {"sql": "x"},
        "sink": {"kind": "kafka", "bootstrapServers": "k:9092", "topic": "out"},
        "checkpointUri": "/c",
    }  # fmt: skip
    told = contract.Job.model_validate(document).to_dict()
    assert (told["source"], told["sink"]) == (document["source"], document["sink"])
    nowhere = contract.Job.model_validate(document | {"sink": {"kind": "noop"}})
    assert nowhere.to_dict()["sink"] == {"kind": "noop"}


@pytest.mark.parametrize(
    ("document", "options"),
    [
        (
            {"kind": "delta", "uri": "s3a://lake/orders", "timeColumn": "at", "startingVersion": 7,
             "skipChangeCommits": True},
            {"startingVersion": "7", "skipChangeCommits": "true"},
        ),
        (
            {"kind": "files", "uri": "s3a://lake/in", "timeColumn": "at", "maxFilesPerTrigger": 9,
             "format": "csv", "schema": "at TIMESTAMP"},
            {"maxFilesPerTrigger": "9", "header": "true"},
        ),
    ],
)  # fmt: skip
def test_a_source_that_grows_where_it_is_has_no_topics(
    document: dict[str, Any], options: dict[str, str]
) -> None:
    made = job(source=document)
    assert made.to_dict()["source"] == document
    source = open_source(made.source)
    assert isinstance(source, StoredSource)
    assert source._options == options
    assert (source.topics, list(source.knobs), source.identity()) == ([], [], None)
    assert source.reads({"path": document["uri"]}.get)
    assert not source.reads({"path": "s3a://lake/other"}.get)
    assert bool(source.session_conf) == (document["kind"] == "delta")


def test_a_source_that_is_no_kafka_reads_by_its_own_document() -> None:
    rate = {"kind": "rate", "rowsPerSecond": 20, "partitions": 2}
    made = job(source=rate)
    assert made.kafka_source is None
    assert made.to_dict()["source"] == rate
    source: Source = open_source(made.source)
    assert (source.topics, list(source.knobs), source.identity()) == ([], [], None)
    assert source.partition_count() == 2
    assert job().kafka_source == job().source
    for wrong in ({"kind": "rate"}, rate | {"kind": "kafka"}, {}):
        with pytest.raises(ContractError, match="job document refused: source"):
            contract.Job.from_json(json.dumps(job().to_dict() | {"source": wrong}))


def test_a_source_knows_its_own_stream_by_its_options() -> None:
    rate = open_source(job(source={"kind": "rate", "rowsPerSecond": 20, "partitions": 2}).source)
    own = {"rowsPerSecond": "20", "numPartitions": "2"}
    assert rate.reads(own.get)
    assert not rate.reads((own | {"rowsPerSecond": "7"}).get)
    assert not rate.reads({"subscribe": "in"}.get)
    kafka = open_source(KAFKA)
    assert kafka.reads({"subscribe": "in"}.get)
    assert not kafka.reads({"subscribe": "in,other"}.get)
    assert not kafka.reads(own.get)
