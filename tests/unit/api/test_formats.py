"""A format gets from the spec to the driver, with its Secrets."""

from __future__ import annotations

from typing import Any

import pytest
from tests.bounds import AUTHORITY, FORMATS_TAKEN, LOGIN, avro
from tests.unit.workloads.manifests import changed, example, pipeline_children

from trimtab.api.contract import Job
from trimtab.api.v1alpha1.kafka_client import SecretKey


def job(format_: Any) -> Job:
    manifest = changed(example("pipeline"), "source.kafka.format", format_)
    return Job.from_json(pipeline_children(manifest)["ConfigMap"]["data"]["job.json"])


@pytest.mark.parametrize("value", [value for _, value in FORMATS_TAKEN])
def test_a_format_of_a_spec_is_that_of_the_driver(value: dict[str, Any]) -> None:
    made = job(value)
    assert made.schema_ == 2, "an older driver must not ignore it"
    assert made.source.format
    (kind,) = value
    told = made.to_dict()["source"]["format"][kind]
    assert told.items() >= {k: v for k, v in value[kind].items() if k != "schemaRegistry"}.items()


def test_pods_mount_what_a_registry_needs() -> None:
    made = job(avro(authentication=LOGIN, trustedCertificates=AUTHORITY))
    assert set(made.secret_keys) == {SecretKey("s", "p"), SecretKey("s", "ca.crt")}
    assert job(avro()).secret_keys == ()
