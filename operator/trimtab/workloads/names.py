"""Names and labels of a pipeline's children, by which the operator finds them."""

from __future__ import annotations

from trimtab.ports import Manifest
from trimtab.workloads.common import PIPELINE_LABEL, digest

DRIVER_ACCOUNT = "trimtab-driver-"


def driver_name(pipeline: str) -> str:
    """The driver's StatefulSet."""
    return f"{pipeline}-driver"


def ui_name(pipeline: str) -> str:
    """The Service of Spark's web UI."""
    return f"{pipeline}-ui"


def driver_account(pipeline: str) -> str:
    """The driver's service account and its role.

    The chart's admission policy knows drivers by this prefix, so no other account should have it.
    """
    return f"{DRIVER_ACCOUNT}{pipeline}"


def executor_account(pipeline: str) -> str:
    """The executors' service account, which may do nothing."""
    return f"trimtab-executor-{pipeline}"


def driver_pod(pipeline: str) -> str:
    """The one pod of the driver's StatefulSet."""
    return f"{driver_name(pipeline)}-0"


def job_name(pipeline: str, document: str) -> str:
    """The ConfigMap with this job.json.

    Its name is a hash of the document, so that a driver that starts again in its old pod finds the
    document that its image understands.
    """
    return f"{pipeline}-job-{digest(document)}"


def tuning_name(pipeline: str) -> str:
    """The ConfigMap with settings.json."""
    return f"{pipeline}-tuning"


def history_name(pipeline: str) -> str:
    """The ConfigMap with the decisions so far."""
    return f"{pipeline}-history"


def claim_name(pipeline: str) -> str:
    """The claim with the checkpoint."""
    return f"{pipeline}-checkpoint"


def labels(parent: Manifest) -> dict[str, str]:
    """Labels of every child of a pipeline."""
    return {PIPELINE_LABEL: parent["metadata"]["name"]}
