"""A pipeline with a secured Kafka: what its pods mount, and what its documents hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.bounds import OAUTH, SCRAM
from tests.unit.workloads.manifests import Json, changed, example, inputs, pipeline_children

from trimtab.api.contract import Executors, Job
from trimtab.job.executors.pod_template import pod_template
from trimtab.job.query.sinks import open_sink
from trimtab.job.query.sinks.kafka import KafkaSink

CA = [{"secretName": "kafka.ca", "certificate": "ca.crt"}]
USER = SCRAM | {"passwordSecret": {"secretName": "clicks", "password": "password"}}
SOURCE = {"bootstrapServers": "k:9092", "topics": ["in"], "tls": {"trustedCertificates": CA},
          "authentication": USER}  # fmt: skip
SINK = {"bootstrapServers": "k:9092", "topic": "out", "tls": {"trustedCertificates": CA},
        "authentication": OAUTH}  # fmt: skip
SECURED = changed(changed(example("pipeline"), "source.kafka", SOURCE), "sink.kafka", SINK)
MOUNTED = {
    "/etc/trimtab/secrets/clicks": ("clicks", ["password"]),
    "/etc/trimtab/secrets/kafka.ca": ("kafka.ca", ["ca.crt"]),
    "/etc/trimtab/secrets/s": ("s", ["k"]),
}


def job(manifest: Json = SECURED) -> Job:
    return Job.from_json(pipeline_children(manifest)["ConfigMap"]["data"]["job.json"])


def mounted(pod: Json, *, optional: bool = True) -> dict[str, tuple[str, list[str]]]:
    """Secret and keys by the folder that they are mounted in.

    In the driver they are `optional`, so that it starts and says what is missing.
    """
    secrets = {v["name"]: v["secret"] for v in pod["volumes"] if "secret" in v}
    assert all(each.get("optional", False) is optional for each in secrets.values())
    assert all(i["key"] == i["path"] for each in secrets.values() for i in each["items"])
    mounts = [m for m in pod["containers"][0]["volumeMounts"] if m["name"] in secrets]
    assert all(mount["readOnly"] for mount in mounts)
    found = {m["mountPath"]: secrets[m["name"]] for m in mounts}
    return {p: (s["secretName"], [i["key"] for i in s["items"]]) for p, s in found.items()}


def test_driver_and_executors_mount_the_keys_that_are_named_and_no_others() -> None:
    driver = pipeline_children(SECURED)["StatefulSet"]["spec"]["template"]["spec"]
    assert mounted(driver) == MOUNTED
    made = pod_template(Executors(image="i", memory_bytes=10**9), job().secret_keys)
    assert mounted(made["spec"], optional=False) == MOUNTED
    plain = pipeline_children(example("pipeline"))["StatefulSet"]["spec"]["template"]["spec"]
    assert mounted(plain) == {}


def test_one_volume_holds_all_keys_of_a_secret() -> None:
    pair = {"secretName": "kafka.ca", "certificate": "user.crt", "key": "user.key"}
    own = changed(
        SECURED, "source.kafka.authentication", {"type": "tls", "certificateAndKey": pair}
    )
    driver = pipeline_children(own)["StatefulSet"]["spec"]["template"]["spec"]
    keys = mounted(driver)["/etc/trimtab/secrets/kafka.ca"][1]
    assert keys == ["ca.crt", "user.crt", "user.key"]


def test_the_role_names_the_secrets_that_executors_may_mount_and_reads_none() -> None:
    rules = {rule["resources"][0]: rule for rule in pipeline_children(SECURED)["Role"]["rules"]}
    assert rules["secrets"]["verbs"] == ["mount"]
    assert rules["secrets"]["resourceNames"] == ["clicks", "kafka.ca", "s"]


def test_the_job_document_says_it_once_more_in_a_schema_that_older_drivers_refuse() -> None:
    told = pipeline_children(SECURED)["ConfigMap"]["data"]["job.json"]
    assert json.loads(told)["schema"] == 2
    assert json.loads(told)["source"] == SOURCE
    assert json.loads(told)["sink"] == SINK | {"kind": "kafka"}
    assert json.loads(job(example("pipeline")).to_json())["schema"] == 1


def test_source_and_sink_each_have_their_own_login() -> None:
    source, sink = job().source.connection.security, open_sink(job().sink)
    assert source.authentication is not None
    assert source.authentication.type == "scram-sha-512"
    assert isinstance(sink, KafkaSink)
    assert sink._target["kafka.sasl.mechanism"] == "OAUTHBEARER"
    assert sink._target["kafka.security.protocol"] == "SASL_SSL"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("source.kafka.tls", {}),
        ("source.kafka.authentication", USER | {"username": "other"}),
        ("sink.kafka.authentication.clientId", "other"),
        ("sink.kafka.tls.trustedCertificates", [{"secretName": "new", "certificate": "ca.crt"}]),
    ],
)
def test_another_login_restarts_the_driver(path: str, value: Any) -> None:
    assert inputs(changed(SECURED, path, value)) != inputs(SECURED)
