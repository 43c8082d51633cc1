"""The script of the topics Job: what it asks of Kafka's tools, which a stand-in writes down."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

IMAGE = Path(__file__).parents[3] / "images/kafka"
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
STAND_IN = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in *--describe*) cat "$KNOWN" ;; esac
exit "${FAILS:-0}"
"""


class Tools:
    """Kafka's tools as the script sees them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "kafka").write_text(STAND_IN)
        (directory / "kafka").chmod(0o755)
        self.known("")

    def known(self, text: str) -> None:
        (self.directory / "known").write_text(text)

    def run(self, *topics: str, **more: str) -> int:
        environment = {
            "PATH": f"{self.directory}:{os.environ['PATH']}",
            "CALLS": str(self.directory / "calls"), "KNOWN": str(self.directory / "known"),
            "TERMINATION_LOG": str(self.directory / "said"),
        } | more  # fmt: skip
        argv = ["sh", IMAGE / "topics", "k:9092", *topics]
        return subprocess.run(argv, env=environment, check=False, timeout=30).returncode

    @property
    def calls(self) -> list[str]:
        """What was asked, without the server."""
        lines = (self.directory / "calls").read_text().splitlines()
        return [line.replace(" --bootstrap-server k:9092", "") for line in lines]

    @property
    def said(self) -> str:
        file = self.directory / "said"
        return file.read_text() if file.exists() else ""


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


def described(name: str, partitions: int, configs: str = "min.insync.replicas=1") -> str:
    """A topic in the words of Kafka's tool."""
    first = f"Topic: {name}\tTopicId: x-y\tPartitionCount: {partitions}\tReplicationFactor: 1"
    rows = (
        f"\tTopic: {name}\tPartition: {i}\tLeader: 0\tReplicas: 0\tIsr: 0\tElr: N/A"
        for i in range(partitions)
    )
    return "\n".join((f"{first}\tConfigs: {configs}", *rows, ""))


DESCRIBE = f"{TOPICS} --describe"


def test_a_new_topic_is_made(tools: Tools) -> None:
    assert tools.run("a:2::1", "b:3:60000:1:8388608") == 0
    assert tools.calls == [
        DESCRIBE,
        f"{TOPICS} --create --if-not-exists --topic a --partitions 2 --replication-factor 1",
        f"{TOPICS} --create --if-not-exists --topic b --partitions 3 --replication-factor 1"
        " --config retention.ms=60000 --config segment.ms=600000"
        " --config retention.bytes=8388608 --config segment.bytes=2097152",
    ]
    assert tools.said == ""


def test_a_topic_that_is_as_it_should_be_is_left_alone(tools: Tools) -> None:
    kept = "cleanup.policy=delete,retention.ms=86400000,segment.ms=86400000,x=1"
    tools.known(described("b", 1) + described("a", 2, kept))
    assert tools.run("a:2:86400000:1", "b:1::1") == 0
    assert tools.calls == [DESCRIBE]


def test_an_edited_retention_acts_on_a_topic_that_is_there(tools: Tools) -> None:
    tools.known(described("a", 2, "retention.ms=60000,segment.ms=600000"))
    assert tools.run("a:2:-1:1:-1") == 0
    assert tools.calls[1:] == [
        f"{CONFIGS} --alter --entity-type topics --entity-name a --add-config"
        " retention.ms=-1,segment.ms=604800000,retention.bytes=-1,segment.bytes=1073741824"
    ]


@pytest.mark.parametrize(
    ("retention", "segment"),
    [
        ("1000::", "segment.ms=600000"),
        ("86400000::", "segment.ms=86400000"),
        ("1000000000000::", "segment.ms=604800000"),
        (":1048576", "segment.bytes=1048576"),
        (":1000000000000000", "segment.bytes=1073741824"),
    ],
)
def test_segments_are_small_enough_for_the_retention_to_act(
    tools: Tools, retention: str, segment: str
) -> None:
    milliseconds, _, size = retention.partition(":")
    assert tools.run(f"a:1:{milliseconds}:1:{size.strip(':')}") == 0
    assert segment in tools.calls[-1].replace(",", " ").split()


def test_partitions_are_added_to_this_topic_alone(tools: Tools) -> None:
    """The tool takes a pattern: `a.b` would be `a-b` too."""
    tools.known(described("a-b", 1) + described("a.b", 2))
    assert tools.run("a.b:4::1") == 0
    assert tools.calls[1:] == [f"{TOPICS} --alter --topic a\\.b --partitions 4"]


def test_partitions_that_are_there_already_are_said(tools: Tools) -> None:
    tools.known(described("a", 24))
    assert tools.run("a:12::1") == 0
    assert tools.calls == [DESCRIBE]
    assert tools.said == "topic a has 24 partitions, not 12: Kafka cannot remove any\n"


def test_a_topic_whose_name_begins_alike_is_another_one(tools: Tools) -> None:
    tools.known(described("clicks-out", 6) + described("my-clicks", 6))
    assert tools.run("clicks:6::1") == 0
    assert "--create --if-not-exists --topic clicks " in tools.calls[-1]


def test_a_tool_that_fails_fails_the_job(tools: Tools) -> None:
    assert tools.run("a:1::1", FAILS="1") != 0
    assert tools.calls == [DESCRIBE]
