"""What people have already: a Kafka with TLS and logins, outside the cluster and named by Strimzi's
objects, and a PySpark script."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer
from dev.demo import load
from dev.demo.kube import condition
from dev.loadgen.verify import read_messages
from dev.localcluster.network import node_address
from dev.localcluster.paths import REPO
from dev.strimzi import MODELS, crds
from tests import strimzi
from tests.e2e.conftest import Json, Stage, pipeline
from tests.kafka.secured import PASSWORD, USER, SecuredBroker
from tests.long import LONG

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

NEW_CHECKPOINTS = True
EXAMPLE = REPO / "examples/80-migrated-job"
NEW_PASSWORD = f"{PASSWORD}-new"
RIGHTS = (("topic", "clicks", "read"), ("topic", "clicks-out", "write"))
BATCH = 500
"""Records that are sent at a time."""


@pytest.fixture(scope="module")
def kafka(home: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker that pods reach, with two topics and a user that may use them."""
    running = SecuredBroker(tmp_path_factory.mktemp("secured"), node_address(0))
    running.start()
    for topic in ("clicks", "clicks-out"):
        running.create_topic(topic, 4)
    running.set_password(PASSWORD)
    running.allow(*RIGHTS)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def named(home: Stage, kafka: SecuredBroker) -> None:
    """The broker as a Kafka of Strimzi."""
    for kind in MODELS:
        home.kube.call("apply", "--server-side", "-f", str(crds() / f"{kind}.yaml"))
    names = [f"{kind.lower()}s.kafka.strimzi.io" for kind in MODELS]
    for name in names:
        home.wait_long(f"{name} is served", 60, lambda crd=name: (
            condition(home.kube.get("crd", crd), "Established") == "True"))  # fmt: skip
    at = {"namespace": home.kube.namespace}
    told = {"listeners": [{"name": "scram", "bootstrapServers": kafka.sasl}]}
    user = strimzi.user(name=USER, **at)
    for made in (strimzi.kafka(**at) | {"status": told}, user):
        home.apply({k: v for k, v in made.items() if k != "status"})
        home.kube.call(
            "patch", made["kind"], made["metadata"]["name"], "--subresource=status",
            "--type=merge", "-p", yaml.safe_dump({"status": made["status"]}),
        )  # fmt: skip


def held(name: str, **values: str) -> Json:
    """A Secret."""
    return {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in values.items()},
    }  # fmt: skip


def send(kafka: SecuredBroker, start: int) -> int:
    """Send a batch of records; returns how many there are now."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": "all", "log_level": 0})
    for number in range(start, start + BATCH):
        producer.produce("clicks", key=str(number), value=f"click {number}")
    assert producer.flush(30) == 0
    return start + BATCH


def written(kafka: SecuredBroker) -> list[str]:
    """The keys of all records of the sink's topic, sorted as numbers."""
    found = read_messages(kafka.bootstrap, "clicks-out", 30)
    return sorted(((message.key() or b"").decode() for message in found), key=int)


def everywhere(stage: Stage) -> str:
    """All that people who may not read Secrets can see of a pipeline, and its processes."""
    kinds = "spl,pods,configmaps,statefulsets,events,serviceaccounts,roles,kafkausers"
    seen = [stage.kube.call("get", kinds, "-o", "yaml")]
    for pod in ["clicks-driver-0", *(e["metadata"]["name"] for e in stage.executors())]:
        seen.append(stage.kube.call("logs", pod))
        look = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' ' '"
        seen.append(stage.kube.call("exec", pod, "--", "sh", "-c", look))
    return "".join(seen)


@LONG
@pytest.mark.usefixtures("named")
def test_a_pipeline_uses_a_secured_kafka_and_takes_a_new_password(
    stage: Stage, kafka: SecuredBroker
) -> None:
    by_names = {"strimzi": {"name": "events", "listener": "scram", "user": USER}}
    by_address: dict[str, Any] = {
        "bootstrapServers": kafka.sasl,
        "tls": {"trustedCertificates": [{"secretName": "kafka-ca", "certificate": "ca.crt"}]},
        "authentication": {
            "type": "scram-sha-512", "username": USER,
            "passwordSecret": {"secretName": f"{USER}-login", "password": "password"},
        },
    }  # fmt: skip
    topics = {"topics": ["clicks"], "startingOffsets": "earliest"}
    stage.apply(
        pipeline(
            source={"kafka": by_names | topics},
            sink={"kafka": by_address | {"topic": "clicks-out"}},
            transform={"sql": "SELECT key, value FROM source"},
        )
    )
    assert "Secret" in stage.wait_stalled("CredentialsMissing")
    authority = {"ca.crt": kafka.authority.certificate}
    stage.apply(held("kafka-ca", **authority), held("events-cluster-ca-cert", **authority))
    stage.apply(held(f"{USER}-login", password=PASSWORD))
    stage.wait_ready()
    count = send(kafka, 0)
    stage.wait_long("all are written", 120, lambda: len(written(kafka)) >= count)
    assert PASSWORD not in everywhere(stage)

    uid = stage.uid("clicks-driver-0")
    starts = restarts(stage)
    kafka.set_password(NEW_PASSWORD)
    stage.apply(held(f"{USER}-login", password=NEW_PASSWORD))
    count = send(kafka, count)
    stage.wait_long("the driver starts anew", 240, lambda: restarts(stage) > starts)
    assert stage.uid("clicks-driver-0") == uid, "in the same pod"
    stage.wait_ready()
    count = send(kafka, count)
    stage.wait_long("all are written", 120, lambda: len(written(kafka)) >= count)
    assert written(kafka) == [str(number) for number in range(count)], "each once"
    assert PASSWORD not in everywhere(stage)


def restarts(stage: Stage) -> int:
    """How often the driver's container has started anew."""
    pod = stage.kube.get("pod", "clicks-driver-0") or {}
    (container,) = pod["status"]["containerStatuses"]
    return int(container["restartCount"])


@LONG
def test_a_script_with_three_lines_changed_is_a_transform(stage: Stage) -> None:
    example = yaml.safe_load((EXAMPLE / "pipeline.yaml").read_text())["spec"]
    stage.apply(yaml.safe_load((EXAMPLE / "script.yaml").read_text()))
    stage.apply(pipeline(source=example["source"], transform=example["transform"]))
    stage.wait_ready()
    stage.start_load([(20, 50)])
    stage.wait_long("load ends", 90, lambda: load.finished(stage.kube, "load"))
    sent = load.result(stage.kube, "load")["acknowledged"]
    own = f'namespace="{stage.kube.namespace}",pipeline="clicks"'
    written = f'sum(trimtab_ledger_records_total{{{own},side="sink"}})'
    stage.wait_long("all are written", 120, lambda: stage.metric(written) == sent)
    assert stage.known(f"sum(trimtab_ledger_mismatch_total{{{own}}})") == 0
