"""Each kind of sink gets from the spec to the driver."""

from __future__ import annotations

from typing import Any

import pytest
from tests.bounds import ALERTS, LAKES, SINKS_TAKEN, TABLE, change
from tests.unit.workloads.manifests import example, reached

from trimtab.api import endpoints
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.job.query.sinks import open_sink
from trimtab.job.query.sinks.several import SeveralSinks

WORDS = {
    "jdbc": "table public.Orders of jdbc:postgresql://warehouse:5432/shop",
    "delta": "the Delta table s3a://lake/orders",
    "files": "files under s3a://lake/orders",
    "foreachBatch": "the function orders:write",
    "noop": "nowhere",
}


@pytest.mark.parametrize("value", [value for _, value in SINKS_TAKEN])
def test_a_sink_of_a_spec_is_one_of_the_driver(value: dict[str, Any]) -> None:
    (kind,) = value
    spec = StreamPipelineSpec.model_validate(
        change(example("pipeline"), "spec.sink", value)["spec"]
    )
    document = spec.results.document()
    assert document.kind == kind
    assert document.to_dict() == {"kind": kind} | value[kind]
    assert type(document).model_validate(document.to_dict()) == document
    open_sink(document)
    results = spec.results
    assert (results.words, results.kafkas, results.sends) == (WORDS[kind], (), False)
    assert results.stores == (kind in {"delta", "files", "jdbc"})


def test_a_kafka_sink_names_its_topic_and_sends() -> None:
    spec = reached(example("pipeline"))
    document = spec.results.document()
    assert isinstance(document, endpoints.KafkaSinkDocument)
    assert document.bootstrap_servers == "k:9092"
    assert spec.results.sends
    assert not spec.results.stores
    assert spec.results.words.startswith("topic ")


def several(*sinks: dict[str, Any]) -> StreamPipelineSpec:
    return reached(change(example("pipeline"), "spec", {"sink": None, "sinks": list(sinks)}))


def test_several_sinks_get_to_the_driver_each_with_its_name_and_query() -> None:
    spec = several(ALERTS, LAKES, TABLE)
    document = spec.results.document()
    assert isinstance(document, endpoints.SeveralSinksDocument)
    assert [(e.name, e.sql, e.sink.kind) for e in document.sinks] == [
        ("alerts", ALERTS["sql"], "kafka"), ("lake", None, "delta"), ("totals", None, "jdbc"),
    ]  # fmt: skip
    assert type(document).model_validate(document.to_dict()) == document
    assert [key.secret for key in document.secret_keys] == ["warehouse"]
    table = document.sinks[2].sink
    assert isinstance(table, endpoints.JdbcSinkDocument)
    assert table.name == "totals", "its batches are told from those of another table"
    assert spec.results.sends
    assert spec.results.words == "; ".join(
        ("topic alerts of k:9092", WORDS["delta"], WORDS["jdbc"])
    )
    assert isinstance(open_sink(document), SeveralSinks)


def test_each_topic_gets_the_address_of_its_kafka() -> None:
    own = {"cluster": "events", "topic": "copies"}
    spec = several(ALERTS, LAKES, {"name": "copies", "kafka": own})
    assert [kafka.servers for kafka in spec.results.kafkas] == ["k:9092", "k:9092"]
    assert [kafka.topic for kafka in spec.results.kafkas] == ["alerts", "copies"]
    assert spec.sinks
    assert spec.sinks[1].delta, "the others are as they were"
