"""Each kind of sink gets from the spec to the driver."""

from __future__ import annotations

from typing import Any

import pytest
from tests.bounds import SINKS_TAKEN, change
from tests.unit.workloads.manifests import example, reached

from trimtab.api import endpoints
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.job.query.sinks import open_sink

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
    document = spec.sink.document()
    assert document.kind == kind
    assert document.to_dict() == {"kind": kind} | value[kind]
    assert type(document).model_validate(document.to_dict()) == document
    open_sink(document)
    assert (spec.sink.words, spec.sink.reference, spec.sink.sends) == (WORDS[kind], None, False)


def test_a_kafka_sink_names_its_topic_and_sends() -> None:
    spec = reached(example("pipeline"))
    document = spec.sink.document()
    assert isinstance(document, endpoints.KafkaSinkDocument)
    assert document.bootstrap_servers == "k:9092"
    assert spec.sink.sends
    assert spec.sink.words.startswith("topic ")
