"""A KafkaCluster with TLS and logins: pipelines use it by its name, and its keys are renewed."""

from __future__ import annotations

import pytest
from tests.e2e.conftest import PLAIN, Json, Stage, manifests, pipeline

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

GOAL = {"latency": {"percentile": 95, "target": "20s"}}
LOGIN, BROKER = "vault-kafka-user-pipelines", "vault-kafka-broker"


def vault() -> Json:
    """The quickstart's Kafka with security, under another name."""
    (made,) = manifests("kafka")
    made["metadata"] = {"name": "vault"}
    made["spec"] |= {"security": {}, "topics": [{"name": "marks", "partitions": 2}]}
    return made


def writer() -> Json:
    """Writes what Spark makes into the secured topic."""
    made = pipeline(
        source={"rate": {"rowsPerSecond": 20, "partitions": 1}}, goal=GOAL, tuning=None,
        transform={"sql": "SELECT CAST(value AS STRING) AS value FROM source"},
        sink={"kafka": {"cluster": "vault", "topic": "marks"}},
    )  # fmt: skip
    made["metadata"] = {"name": "writer"}
    return made


def reader() -> Json:
    return pipeline(
        source={"kafka": {"cluster": "vault", "topics": ["marks"]}}, goal=GOAL, transform=PLAIN,
        sink={"noop": {}}, tuning=None,
    )  # fmt: skip


def goes_on(stage: Stage, what: str) -> None:
    """Wait until the reader reads further than it has by now."""
    own = f'namespace="{stage.kube.namespace}",pipeline="clicks"'
    figure = f"max(trimtab_batch_committed_timestamp_seconds{{{own}}})"
    records = f"max(trimtab_batch_records{{{own}}})"
    before = stage.metric(figure) or 0.0
    stage.wait_long(
        f"records come through after {what}", 240,
        lambda: (stage.metric(figure) or 0) > before + 10 and (stage.metric(records) or 0) > 0,
    )  # fmt: skip


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


def test_pipelines_log_in_and_go_on_with_renewed_keys(stage: Stage) -> None:
    stage.apply(vault(), writer(), reader())
    stage.wait_ready(480)
    goes_on(stage, "the start")
    starts = restarts(stage)
    renew(stage, LOGIN)
    stage.wait_long("the driver takes the password", 240, lambda: restarts(stage) > starts)
    goes_on(stage, "another password")
    broker = stage.uid("vault-kafka-0")
    renew(stage, BROKER)
    stage.wait_replaced("vault-kafka-0", broker, 240)
    goes_on(stage, "another certificate")
    stage.kube.call("delete", "spl", "writer", "--ignore-not-found")
