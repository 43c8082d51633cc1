"""The models refuse what the API server refuses, in the same words."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError
from tests.bounds import (
    KAFKA_REFUSED,
    KAFKA_TAKEN,
    PIPELINES_REFUSED,
    PIPELINES_TAKEN,
    change,
)
from tests.unit.workloads.manifests import example

from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec

MODELS = {"pipeline": StreamPipelineSpec, "kafka": KafkaClusterSpec}
REFUSED = [("pipeline", *row) for row in PIPELINES_REFUSED] + [
    ("kafka", *row) for row in KAFKA_REFUSED
]
TAKEN = [("pipeline", *row) for row in PIPELINES_TAKEN] + [("kafka", *row) for row in KAFKA_TAKEN]


def named(value: Any) -> str | None:
    return value if isinstance(value, str) else None


@pytest.mark.parametrize(("file", "path", "value", "words"), REFUSED, ids=named)
def test_what_is_out_of_bounds_is_refused(file: str, path: str, value: Any, words: str) -> None:
    bad = change(example(file), path, value)
    with pytest.raises(ValidationError, match=re.escape(words)):
        MODELS[file].model_validate(bad["spec"])


@pytest.mark.parametrize(("file", "path", "value"), TAKEN, ids=named)
def test_a_bound_itself_is_taken(file: str, path: str, value: Any) -> None:
    MODELS[file].model_validate(change(example(file), path, value)["spec"])


def test_two_lists_with_an_address_in_common_are_one_kafka() -> None:
    loop = {
        "source.kafka": {"bootstrapServers": "a:9092,b:9092", "topics": ["clicks"]},
        "sink.kafka": {"bootstrapServers": "b:9092,c:9092", "topic": "clicks"},
    }
    with pytest.raises(ValidationError, match="would read what it writes"):
        StreamPipelineSpec.model_validate(change(example("pipeline"), "spec", loop)["spec"])
