"""Variables whose values are in a Secret or a ConfigMap: in the pods, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

from tests.bounds import FROM_SECRET
from tests.unit.workloads.manifests import CONFIG, example, pipeline_children, reached

from trimtab.api.contract import Executors
from trimtab.job.executors.pod_template import pod_template
from trimtab.workloads.inputs import inputs_hash
from trimtab.workloads.pipeline import job_definition

FROM_CONFIG = {"configMapKeyRef": {"name": "site", "key": "region"}}
ENV = [
    {"name": "LEVEL", "value": "info"},
    {"name": "AWS_ACCESS_KEY_ID", "valueFrom": FROM_SECRET},
    {"name": "AWS_REGION", "valueFrom": FROM_CONFIG},
]


def children(env: list[dict[str, Any]]) -> dict[str, Any]:
    manifest = example("pipeline")
    manifest["spec"]["env"] = env
    return pipeline_children(manifest)


def test_driver_and_executors_read_them_where_they_are() -> None:
    made = children(ENV)
    (driver,) = made["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    assert driver["env"][-3:] == ENV
    job = json.loads(made["ConfigMap"]["data"]["job.json"])
    assert job["executors"]["env"] == {"LEVEL": "info"}
    executors = Executors.model_validate(job["executors"])
    (container,) = pod_template(executors, ())["spec"]["containers"]
    assert [each for each in container["env"] if each in ENV] == ENV[1:]


def test_the_driver_may_hand_on_that_secret_alone() -> None:
    rules = children(ENV)["Role"]["rules"]
    named = [rule["resourceNames"] for rule in rules if rule["resources"] == ["secrets"]]
    assert named == [["s3"]]


def test_an_older_driver_refuses_a_job_with_them() -> None:
    plain, more = (
        json.loads(children(env)["ConfigMap"]["data"]["job.json"])["schema"]
        for env in (ENV[:1], ENV)
    )
    assert (plain, more) == (1, 2)


def test_another_key_restarts_the_driver() -> None:
    other = [*ENV[:2], {"name": "AWS_REGION", "valueFrom": {"configMapKeyRef": {
        "name": "site", "key": "other"}}}]  # fmt: skip

    def inputs(env: list[dict[str, Any]]) -> str:
        manifest = example("pipeline")
        manifest["spec"]["env"] = env
        spec = reached(manifest)
        job = job_definition(manifest, spec, CONFIG)
        return inputs_hash(spec, job, None)

    assert inputs(ENV) == inputs(ENV)
    assert inputs(ENV) != inputs(other)
