"""The hash of a driver's inputs: when it changes, the driver restarts."""

from __future__ import annotations

from typing import Any

from trimtab.api.contract import Job
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.ports import Manifest
from trimtab.workloads.common import digest
from trimtab.workloads.names import driver_name

UNSET = (
    ("executors", "checkpointClaim"), ("executors", "scratchBytes"),
    ("transform", "shufflePartitions"), ("transform", "script"), ("transform", "args"),
    ("transform", "class"), ("transform", "jar"),
    ("transform", "tables"), ("transform", "archives"),
    ("transform", "modulesFrom"),
    ("source", "includeHeaders"), ("source", "commitGroup"),
    ("source", "format"), ("source", "groupIdPrefix"), ("source", "options"), ("sink", "options"),
    *((part, field) for part in ("source", "sink") for field in ("tls", "authentication")),
)  # fmt: skip
"""Fields of later releases: while unset, they must not restart a driver of an older operator."""


def inputs_hash(spec: StreamPipelineSpec, job: Job, modules: Manifest | None) -> str:
    """Hash of everything that users can change and that only a driver restart applies."""
    told = {
        "job": _document(spec, job),
        "image": spec.image,
        "env": [(e.name, e.value_from.to_dict() if e.value_from else e.value) for e in spec.env],
        "nodeSelector": spec.node_selector,
        "driver": spec.resources.driver.model_dump(mode="json"),
        "modules": (modules or {}).get("data"),
    }
    if archives := (modules or {}).get("binaryData"):
        told["archives"] = archives
    if spec.volumes:
        told["volumes"] = [v.model_dump(mode="json", exclude_defaults=True) for v in spec.volumes]
    if spec.service_account and spec.service_account.annotations:
        told["serviceAccount"] = spec.service_account.annotations
    if spec.pod_template is not None:
        told["podTemplate"] = spec.pod_template.model_dump(mode="json", exclude_defaults=True)
    return digest(told)


def _document(spec: StreamPipelineSpec, job: Job) -> dict[str, Any]:
    """What of the job document users can change, as far as nothing else says it."""
    document = job.model_dump(mode="json", by_alias=True)
    for told_below in (
        "env",
        "envFrom",
        "nodeSelector",
        "podTemplate",
        "topologySpread",
        "volumes",
    ):
        document["executors"].pop(told_below)
    document["executors"].pop("podUser")  # the chart's choice, not the user's
    if packages := document["executors"].pop("packages"):
        document["packages"] = packages | {"index": None}  # the same
    for advised in ("javaOptions", "overheadBytes"):
        document["executors"].pop(advised)  # never a reason to restart
    for part, field in UNSET:
        if document[part].get(field) is None:
            document[part].pop(field, None)
    if spec.dead_letters is None:
        document.pop("deadLetters")
    document.pop("resume")  # only a new checkpoint reads it
    # as it was when drivers and executors shared an account: a new one is no reason to restart
    document["executors"]["serviceAccount"] = driver_name(job.pipeline)
    for field in ("hangTimeout", "sparkUI", "eventLogUri", "listeners", "execution"):
        if document[field] is None:
            document.pop(field)
    if spec.image is None:
        # trimtab's own image changes with an upgrade, which must not restart a driver
        document["executors"].pop("image")
    return document
