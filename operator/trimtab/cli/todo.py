"""What a person has to do about a pipeline."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.api.common import get_condition
from trimtab.api.v1alpha1.status import ConditionType as Type
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.cli.rows import line
from trimtab.tuning.recommending import ANNOTATION

BAD = (Type.STALLED, Type.RECORDS_EXPIRING, Type.SATURATED, Type.EXECUTORS_MISSING)
"""Conditions that need somebody while they are True."""


def to_do(name: str, status: StreamPipelineStatus) -> Iterator[str]:
    """Conditions that need somebody, missing metrics, and what waits for approval."""
    found = [c for t in BAD if (c := get_condition(status.conditions, t)) and c.status == "True"]
    ready = get_condition(status.conditions, Type.READY)
    metrics = get_condition(status.conditions, Type.METRICS_AVAILABLE)
    if metrics and metrics.status == "False" and ready and ready.status == "True":
        found.append(metrics)
    for condition in found:
        reason = "" if condition.reason == condition.type else f" {condition.reason}"
        yield line(f"{condition.type}{reason}: {condition.message}")
    if standing := status.recommendation:
        cores = f"cores {standing.cores}" + (f", cost {standing.cost}" if standing.cost else "")
        yield line(
            f"Recommended: {', '.join(standing.changes)}; load {standing.load} ->"
            f" {standing.predicted_load}, {cores}. To apply it: kubectl annotate"
            f" --overwrite spl {name} {ANNOTATION}={standing.generation}"
        )
