"""Names and labels of a pipeline's children, by which the operator finds them."""

from __future__ import annotations

from trimtab.ports import Manifest
from trimtab.workloads.common import PIPELINE_LABEL


def driver_name(pipeline: str) -> str:
    """The driver's StatefulSet, service account and role."""
    return f"{pipeline}-driver"


def driver_pod(pipeline: str) -> str:
    """The one pod of the driver's StatefulSet."""
    return f"{driver_name(pipeline)}-0"


def job_name(pipeline: str) -> str:
    """The ConfigMap with job.json."""
    return f"{pipeline}-job"


def tuning_name(pipeline: str) -> str:
    """The ConfigMap with settings.json."""
    return f"{pipeline}-tuning"


def claim_name(pipeline: str) -> str:
    """The claim with the checkpoint."""
    return f"{pipeline}-checkpoint"


def labels(parent: Manifest) -> dict[str, str]:
    """Labels of every child of a pipeline."""
    return {PIPELINE_LABEL: parent["metadata"]["name"]}
