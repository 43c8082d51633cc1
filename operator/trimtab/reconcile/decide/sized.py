"""A pipeline's pods with the advice in force, for the next driver that starts."""

from __future__ import annotations

from trimtab.api.contract import Job
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import JvmStatus
from trimtab.tuning.advice.pods import memory, options, overhead


def sized(
    spec: StreamPipelineSpec, job: Job, advice: JvmStatus | None
) -> tuple[StreamPipelineSpec, Job, str]:
    """Spec and job with the advice in force, and the JVM options of the driver."""
    if advice is None or job.executors is None:
        return spec, job, ""
    driver = spec.resources.driver.model_copy(
        update={"memory": memory(spec, "driver", advice.driver)}
    )
    executors = job.executors.model_copy(
        update={
            "memory_bytes": memory(spec, "executor", advice.executor),
            "overhead_bytes": overhead(spec, advice.executor),
            "java_options": options(spec, "executor", advice.executor) or None,
        }
    )
    resources = spec.resources.model_copy(update={"driver": driver})
    return (
        spec.model_copy(update={"resources": resources}),
        job.model_copy(update={"executors": executors}),
        options(spec, "driver", advice.driver),
    )
