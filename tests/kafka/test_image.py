"""The scripts of the Kafka image against a real broker."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import ConfigResource, ResourceType
from dev.kafka import KafkaBroker, jars
from dev.loadgen.verify import read_all
from tests.faults.record import Row
from tests.long import LONG

pytestmark = pytest.mark.kafka
IMAGE = Path(__file__).parents[2] / "images/kafka"
NODE = "1"


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, str]:
    """The environment in which `kafka` runs one of Kafka's own tools, as in the image."""
    script = tmp_path / "bin" / "kafka"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\nmain=$1\nshift\n"
        f'exec java -Xmx128m -XX:TieredStopAtLevel=1 -cp "{jars("kafka")}/*" "$main" "$@"\n'
    )
    script.chmod(0o755)
    log = {"TERMINATION_LOG": str(tmp_path / "said")}
    return {"PATH": f"{script.parent}:{os.environ['PATH']}"} | log


def make(broker: KafkaBroker, tools: dict[str, str], *topics: str) -> None:
    argv = ["sh", IMAGE / "topics", broker.bootstrap, *topics]
    subprocess.run(argv, env=tools, check=True, timeout=120)


def partitions(broker: KafkaBroker, topic: str) -> int:
    return len(broker.admin().list_topics(topic, timeout=10).topics[topic].partitions)


def settings(broker: KafkaBroker, topic: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = broker.admin()  # the answer never comes if its client is collected
    (found,) = admin.describe_configs([resource]).values()
    return {name: entry.value for name, entry in found.result(10).items()}


def probe(node: str, port: int) -> tuple[int, str]:
    argv = [sys.executable, "-I", IMAGE / "in_sync.py", node, str(port)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    return done.returncode, done.stdout.strip()


def test_topics_are_made_grown_and_changed_by_kafkas_own_tools(
    broker: KafkaBroker, tools: dict[str, str], tmp_path: Path
) -> None:
    make(broker, tools, "image.a:1::1", "image-a:1::1", "image-b:2:60000:1:8388608")
    assert settings(broker, "image-b").items() >= {
        "retention.ms": "60000", "segment.ms": "600000",
        "retention.bytes": "8388608", "segment.bytes": "2097152",
    }.items()  # fmt: skip
    make(broker, tools, "image.a:3:-1:1", "image-a:1::1", "image-b:1:120000:1:-1")
    assert (partitions(broker, "image.a"), partitions(broker, "image-a")) == (3, 1)
    assert partitions(broker, "image-b") == 2
    assert settings(broker, "image.a")["retention.ms"] == "-1"
    assert settings(broker, "image-b").items() >= {
        "retention.ms": "120000", "retention.bytes": "-1", "segment.bytes": "1073741824",
    }.items()  # fmt: skip
    said = (tmp_path / "said").read_text()
    assert said == "topic image-b has 2 partitions, not 1: Kafka cannot remove any\n"


def test_a_broker_says_whether_it_is_in_sync(broker: KafkaBroker, tmp_path: Path) -> None:
    broker.create_topic("image-in-sync", 3)
    assert probe(NODE, broker.port) == (0, "")
    code, said = probe("7", broker.port)
    assert (code, said) == (1, "broker 7 is fenced")
    own = KafkaBroker(tmp_path / "broker")
    own.start()
    try:
        assert probe(NODE, own.port) == (0, "")
    finally:
        own.stop()
    assert probe(NODE, own.port)[0] == 1


MIB = 1 << 20


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MiB, as a volume that is too small."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    place = tmp_path / "broker" / "data"
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


@LONG
def test_a_full_volume_is_named_and_a_larger_one_brings_the_broker_back(
    small: Path, tools: dict[str, str], tmp_path: Path, fault: Row
) -> None:
    own = KafkaBroker(small.parent)
    own.start()
    try:
        own.create_topic("full")
        acknowledged: list[int] = []

        def noted(number: int) -> Callable[[KafkaError | None, Message], None]:
            return lambda error, _: None if error else acknowledged.append(number)

        producer = Producer({
            "bootstrap.servers": own.bootstrap, "acks": "all", "log_level": 0,
            "delivery.timeout.ms": 15_000,
        })  # fmt: skip
        for number in range(200):
            value = number.to_bytes(4, "big") + os.urandom(MIB // 2)
            producer.produce("full", value=value, on_delivery=noted(number))
            producer.poll(0)
        producer.flush(60)
        deadline = time.monotonic() + 60
        while not own.ended():
            assert time.monotonic() < deadline, "a broker without room ends"
            time.sleep(0.2)
        assert 0 < len(acknowledged) < 200

        script = ["sh", IMAGE / "run", own.directory / "server.properties"]
        again = subprocess.run(script, env=tools, capture_output=True, timeout=120, check=False)
        assert again.returncode != 0
        said = (tmp_path / "said").read_text()
        assert said.startswith("DiskFull: ")

        subprocess.run(["mount", "-o", "remount,size=256m", small], check=True)
        own.start()
        kept = [
            int.from_bytes((each or b"")[:4], "big") for each in read_all(own.bootstrap, "full")
        ]
        assert set(acknowledged) <= set(kept)
        fault.lost, fault.said = len(set(acknowledged) - set(kept)), f"Stalled/{said}"
    finally:
        own.stop()
