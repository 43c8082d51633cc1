"""A KafkaCluster with TLS and logins, read into a table in S3 while its keys are renewed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from dev.localcluster.network import node_address
from dev.localcluster.paths import REPO
from dev.s3 import ACCESS_KEY, SECRET_KEY, S3Server
from tests.e2e.conftest import Json, Stage, pipeline

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

EXAMPLE = REPO / "examples/65-secured-lake"
LOGIN, BROKER = "vault-kafka-user-pipelines", "vault-kafka-broker"
LOCAL = ("--bootstrap-server", "localhost:9095")
"""The listener of a broker for its own pod."""


@pytest.fixture
def lake(tmp_path: Any) -> Iterator[S3Server]:
    """An S3 server outside the cluster, that pods reach."""
    server = S3Server(tmp_path / "s3", node_address(0))
    server.start()
    yield server
    server.stop()


def example(name: str) -> Json:
    made: Json = yaml.safe_load((EXAMPLE / f"{name}.yaml").read_text())
    return made


def writer() -> Json:
    """Writes what Spark makes into the secured topic."""
    made = pipeline(
        source={"rate": {"rowsPerSecond": 20, "partitions": 1}}, tuning=None,
        goal={"latency": {"percentile": 95, "target": "20s"}},
        transform={"sql": "SELECT CAST(value AS STRING) AS value FROM source"},
        sink={"kafka": {"cluster": "vault", "topic": "orders"}},
    )  # fmt: skip
    made["metadata"] = {"name": "writer"}
    return made


def reader(lake: S3Server) -> Json:
    """The example's pipeline, with the S3 server of the test."""
    spec = example("pipeline")["spec"]
    return pipeline(**spec | {"sparkConf": lake.spark_conf, "tuning": None})


def rows(lake: S3Server) -> int:
    """Rows of the table, as its log counts them."""
    found = 0
    for file in (lake.bucket / "orders/_delta_log").glob("*.json"):
        for line in file.read_text().splitlines():
            added = json.loads(line).get("add")
            found += json.loads(added["stats"])["numRecords"] if added else 0
    return found


def goes_on(stage: Stage, lake: S3Server, what: str) -> None:
    """Wait until the table has more rows than by now."""
    before = rows(lake)
    stage.wait_long(f"rows come after {what}", 240, lambda: rows(lake) > before + 100)


def secret_uid(stage: Stage, name: str) -> str | None:
    found = stage.kube.get("secret", name)
    return found["metadata"]["uid"] if found else None


def renew(stage: Stage, name: str) -> None:
    """Delete a Secret and wait for the next one."""
    before = secret_uid(stage, name)
    stage.kube.call("delete", "secret", name)
    stage.wait_long(f"{name} anew", 90, lambda: secret_uid(stage, name) not in {None, before})


def restarts(stage: Stage) -> int:
    """How often the driver has started anew in its pod."""
    (container,) = (stage.kube.get("pod", "clicks-driver-0") or {})["status"]["containerStatuses"]
    return int(container["restartCount"])


def in_the_topic(stage: Stage) -> int:
    """Records of the topic, as the broker tells itself."""
    tool = ("kafka", "org.apache.kafka.tools.GetOffsetShell", *LOCAL, "--topic", "orders")
    said = stage.kube.call("exec", "vault-kafka-0", "--", *tool)
    return sum(int(line.rpartition(":")[2]) for line in said.split())


def test_each_record_is_in_the_table_once_while_keys_are_renewed(
    stage: Stage, lake: S3Server
) -> None:
    keys = {"access-key": ACCESS_KEY, "secret-key": SECRET_KEY}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "lake"}}
    stage.apply(secret | {"stringData": keys}, example("kafka"), writer(), reader(lake))
    stage.wait_ready(480)
    goes_on(stage, lake, "the start")
    starts = restarts(stage)
    renew(stage, LOGIN)
    stage.wait_long("the driver takes the password", 240, lambda: restarts(stage) > starts)
    goes_on(stage, lake, "another password")
    broker = stage.uid("vault-kafka-0")
    renew(stage, BROKER)
    stage.wait_replaced("vault-kafka-0", broker, 240)
    goes_on(stage, lake, "another certificate")
    stage.kube.call("delete", "spl", "writer")
    stage.wait_long("the writer is gone", 120, lambda: stage.uid("writer-driver-0") is None)
    there = in_the_topic(stage)
    stage.wait_long("all is in the table", 120, lambda: rows(lake) >= there)
    assert rows(lake) == there
