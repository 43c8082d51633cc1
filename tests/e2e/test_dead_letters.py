"""Records that cannot be decoded or computed, on a real cluster, while the driver is killed."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import yaml
from dev.demo.kube import DemoError
from dev.demo.load import BOOTSTRAP
from dev.localcluster.paths import REPO
from tests.e2e.conftest import Json, Stage, manifests, pipeline
from tests.long import LONG

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

EXAMPLE = REPO / "examples/70-avro-dead-letters"
SENT, DEAD = 4000, "clicks-dead"
NO_NUMBERS = (1234, 2345)
WHOLE, CAST = "to_json(record)", "to_json(named_struct('id', CAST(record.id AS INT)))"
"""The example's words, and others that raise an error for those numbers."""
PRODUCE = f"""
import sys
from confluent_kafka import Producer
producer = Producer({{"bootstrap.servers": sys.argv[1]}})
for n in range({SENT}):
    id_ = (b"x" if n in {NO_NUMBERS} else b"") + str(n).encode()
    value = bytes([len(id_) << 1]) + id_ + bytes([2, 10])
    producer.produce("clicks", value, key=id_)
    if n % 100 == 3:
        producer.produce("clicks", b"", key=id_)
    producer.poll(0)
assert producer.flush(60) == 0
"""
READ = """
import json, sys
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "e2e"})
found = consumer.list_topics(sys.argv[2], timeout=30).topics[sys.argv[2]]
consumer.assign([TopicPartition(sys.argv[2], p, OFFSET_BEGINNING) for p in found.partitions])
keys, quiet = [], 0
while quiet < 5:
    got = consumer.consume(1000, timeout=1.0)
    quiet = 0 if got else quiet + 1
    keys += [m.key().decode() for m in got]
print(json.dumps(keys))
"""


def orders() -> Json:
    """The example's pipeline, on the Kafka of the tests."""
    spec = yaml.safe_load((EXAMPLE / "pipeline.yaml").read_text())["spec"]
    source = copy.deepcopy(spec["source"])
    source["kafka"] |= {"cluster": "events", "topics": ["clicks"]}
    letters = spec["deadLetters"] | {"topic": DEAD}
    assert WHOLE in spec["transform"]["sql"]
    transform = {"sql": spec["transform"]["sql"].replace(WHOLE, CAST)}
    return pipeline(source=source, transform=transform, deadLetters=letters)


def run(stage: Stage, script: str, *arguments: str) -> str:
    """What a script prints in the driver's pod, which reaches Kafka and has its client."""
    servers = BOOTSTRAP.format(namespace=stage.kube.namespace)
    command = ("exec", "-i", "clicks-driver-0", "--", "python", "-", servers, *arguments)
    return stage.kube.call(*command, text=script, limit_s=180)


def keys(stage: Stage, topic: str) -> list[str]:
    """Those of all records of a topic; none while the driver's container is being made."""
    try:
        found: list[str] = json.loads(run(stage, READ, topic).strip().splitlines()[-1])
    except DemoError:
        return []
    return found


@LONG
def test_each_record_is_in_one_topic_or_the_other_whatever_is_killed(stage: Stage) -> None:
    kafka: list[Any] = manifests("kafka")
    kafka[0]["spec"]["topics"].append({"name": DEAD, "partitions": 1})
    stage.apply(*kafka)
    stage.apply(orders())
    stage.wait_ready()
    run(stage, PRODUCE)
    uid = stage.uid("clicks-driver-0")
    stage.kube.call("delete", "pod", "clicks-driver-0", "--grace-period=0", "--force")
    stage.wait_replaced("clicks-driver-0", uid)
    stage.wait_ready()
    bad = {str(n) for n in range(SENT) if n % 100 == 3} | {f"x{n}" for n in NO_NUMBERS}
    good = SENT - len(NO_NUMBERS)
    stage.wait_long("all are written", 120, lambda: len(set(keys(stage, "clicks-out"))) == good)
    stage.wait_long("the rest are set aside", 60, lambda: set(keys(stage, DEAD)) == bad)
