"""What only shows later is said in words, and heals by itself when it is mended."""

from __future__ import annotations

import pytest
from tests.e2e.conftest import PLAIN, Stage, manifests, pipeline
from tests.long import LONG

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
NEW_CHECKPOINTS = True


def test_each_mistake_has_its_reason_and_heals(stage: Stage) -> None:
    """One pipeline, one mistake after the other; the last spec is right."""
    stage.apply(pipeline(transform={"sql": "SELEC key, value FROM source"}))
    assert "SELEC" in stage.wait_stalled("TransformFailed")
    stage.apply(pipeline(transform={"python": {"module": "nowhere:transform"}}))
    assert "nowhere" in stage.wait_stalled("ModuleNotFound")
    stage.apply(pipeline(transform=PLAIN, image="localhost/trimtab/no-such-image:1"))
    assert "no-such-image" in stage.wait_stalled("ImageCannotStart")
    stage.apply(pipeline(transform=PLAIN))
    stage.wait_ready()
    assert stage.condition("Stalled")["status"] == "False"


@LONG
def test_a_missing_topic_is_named_and_its_creation_heals(stage: Stage) -> None:
    sink = {"kafka": {"cluster": "events", "topic": "later"}}
    stage.apply(pipeline(transform=PLAIN, sink=sink))
    assert "later" in stage.wait_stalled("TopicNotFound")
    kafka = manifests("kafka")[0]
    kafka["spec"]["topics"].append({"name": "later", "partitions": 2})
    stage.apply(kafka)
    stage.wait_ready(300)


def test_a_kafka_that_cannot_be_reached_is_said(stage: Stage) -> None:
    source = {"kafka": {"bootstrapServers": "nobody.example.svc:9092", "topics": ["clicks"]}}
    stage.apply(pipeline(transform=PLAIN, source=source))
    assert "nobody.example.svc" in stage.wait_stalled("KafkaUnreachable", 240)
