"""Advice on memory and collector, put into a pipeline's pods: at a driver restart, never for one.

What a person wrote in `resources` is the least that is used, and nothing is raised above what a
person allowed: `limits.memory` for the executors, `limits.driverMemory` for the driver.
"""

from __future__ import annotations

import math

from trimtab.api.quantities import format_quantity, parse_cpu
from trimtab.api.v1alpha1.pipeline import Mode, StreamPipelineSpec
from trimtab.api.v1alpha1.status import JvmAdvice, JvmStatus
from trimtab.sizing.collector import Collector, java_options
from trimtab.sizing.heap import overhead_bytes
from trimtab.sizing.jvm import NEW_SHARE
from trimtab.tuning.controller_state import ControllerState

LIMITS = {"driver": "limits.driverMemory", "executor": "limits.memory"}
"""What a person says how far the pods of a role may grow with."""


def cores_in_force(spec: StreamPipelineSpec, memory: ControllerState | None) -> int | None:
    """The cores that the tuner chose for an executor, within the limit; None: the spec's own."""
    told, most = memory.settings.cores if memory else None, spec.limits.executor_cores
    if told is None or most is None or told <= spec.resources.executor.cores:
        return None
    return max(min(told, most), spec.resources.executor.cores)


def with_cores(spec: StreamPipelineSpec, cores: int | None) -> StreamPipelineSpec:
    """The spec with executors of so many cores; what a slot has of CPU and memory stays."""
    own = spec.resources.executor
    if cores is None or cores == own.cores:
        return spec
    wider = own.model_copy(
        update={
            "cores": cores,
            "cpu_request": f"{math.ceil(1000 * parse_cpu(own.cpu_request) * cores / own.cores)}m",
            "memory": own.memory * cores // own.cores,
        }
    )
    resources = spec.resources.model_copy(update={"executor": wider})
    return spec.model_copy(update={"resources": resources})


def most_memory(spec: StreamPipelineSpec, role: str) -> int | None:
    """The largest pod of a role that the limits allow; None where they say nothing.

    Executors are counted as many as the limits allow at the size that the spec gives: what a
    larger pod takes must not take executors away.
    """
    if role == "driver":
        return spec.limits.driver_memory
    if spec.limits.memory is None:
        return None
    executors = spec.limits.most_executors(spec.resources.executor)
    return spec.limits.memory // max(1, executors)


def own_memory(spec: StreamPipelineSpec, role: str) -> int:
    """The pod of a role as a person wrote it."""
    resources = spec.resources
    return resources.driver.memory if role == "driver" else resources.executor.memory


def free(spec: StreamPipelineSpec, role: str) -> bool:
    """Whether the advice of a role may be put in force."""
    jvm = spec.tuning.jvm
    return spec.tuning.mode is Mode.AUTO and (jvm.driver if role == "driver" else jvm.executor)


def memory(spec: StreamPipelineSpec, role: str, advice: JvmAdvice | None) -> int:
    """Bytes of a pod of that role: what the spec says, or the advice within the limits."""
    own, most = own_memory(spec, role), most_memory(spec, role)
    if advice is None or advice.memory is None or most is None or not free(spec, role):
        return own
    return max(own, min(advice.memory, most))


def memory_in_force(spec: StreamPipelineSpec, advice: JvmStatus | None) -> int:
    """Bytes of a driver's pod that is made now."""
    return memory(spec, "driver", advice.driver if advice else None)


def overhead(spec: StreamPipelineSpec, advice: JvmAdvice | None) -> int | None:
    """What executors have beside their heap, where advice on it is in force; None is as usual.

    It came with a size of the pod, and without that the heap would have to be smaller.
    """
    if advice is None or advice.overhead is None or advice.memory is None:
        return None
    whole = memory(spec, "executor", advice) >= advice.memory
    return advice.overhead if whole and free(spec, "executor") else None


def largest_new(size: int, beside: int | None) -> int:
    """The most bytes of new generation in a pod; None beside the heap is the usual share."""
    return int(NEW_SHARE * (size - (beside or overhead_bytes(size))))


def options(spec: StreamPipelineSpec, role: str, advice: JvmAdvice | None) -> str:
    """The JVM options of that role; empty where the JVM is left alone."""
    if advice is None or not free(spec, role):
        return ""
    size, new = memory(spec, role, advice), None
    if advice.new_generation and size > own_memory(spec, role):
        new = min(advice.new_generation, largest_new(size, overhead(spec, advice)))
    return java_options(Collector(advice.collector) if advice.collector else None, new)


def words(advice: JvmAdvice) -> str:
    """Advice in one line."""
    parts = [f"memory {format_quantity(advice.memory)}" if advice.memory else "",
             f"of it {format_quantity(advice.overhead)} beside the heap" if advice.overhead else "",
             f"collector {advice.collector}" if advice.collector else ""]  # fmt: skip
    what = ", ".join(part for part in parts if part)
    return f"{what}: {advice.reason}" if what else advice.reason


def when(spec: StreamPipelineSpec, role: str, advice: JvmAdvice) -> str:
    """Whether a driver that starts now has the advice, in words."""
    if not advice.memory and not advice.collector:
        return "for you to do"
    if not free(spec, role):
        return "not applied: the mode is not Auto, or tuning.jvm forbids it"
    if advice.memory and most_memory(spec, role) is None:
        return f"not applied: {LIMITS[role]} must say how far it may be raised"
    return f"a driver that starts from now on has {format_quantity(memory(spec, role, advice))}"
