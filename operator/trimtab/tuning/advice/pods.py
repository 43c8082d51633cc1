"""Apply advice on memory and collector to a pipeline's pods when its driver restarts.

Advice never causes a restart. The values in `resources` are the minimum, and nothing exceeds what
the user allows: `limits.memory` for the executors, `limits.driverMemory` for the driver.
"""

from __future__ import annotations

import math

from trimtab.api.quantities import format_quantity, parse_cpu
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import JvmAdvice, JvmStatus
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.sizing.collector import Collector, java_options
from trimtab.sizing.heap import overhead_bytes
from trimtab.sizing.jvm import NEW_SHARE
from trimtab.tuning.controller_state import ControllerState

LIMITS = {"driver": "limits.driverMemory", "executor": "limits.memory"}
"""The field that limits how far the pods of a role may grow."""


def cores_in_force(spec: StreamPipelineSpec, memory: ControllerState | None) -> int | None:
    """The cores that the tuner chose for an executor, within the limit; None: the spec's own."""
    told, most = memory.settings.cores if memory else None, spec.limits.executor_cores
    if told is None or most is None or told <= spec.resources.executor.cores:
        return None
    return max(min(told, most), spec.resources.executor.cores)


def with_cores(spec: StreamPipelineSpec, cores: int | None) -> StreamPipelineSpec:
    """The spec with this many cores per executor; the CPU and memory per slot stay the same."""
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
    """The largest pod of a role that the limits allow; None if unlimited.

    The memory is divided by the most executors that the limits allow at the spec's size: larger
    pods must not reduce their number.
    """
    if role == "driver":
        return spec.limits.driver_memory
    if spec.limits.memory is None:
        return None
    executors = spec.limits.most_executors(spec.resources.executor)
    return spec.limits.memory // max(1, executors)


def own_memory(spec: StreamPipelineSpec, role: str) -> int:
    """Bytes of a pod of the role as the spec says."""
    resources = spec.resources
    return resources.driver.memory if role == "driver" else resources.executor.memory


def free(spec: StreamPipelineSpec, role: str) -> bool:
    """Whether the advice for a role may be applied."""
    jvm = spec.tuning.jvm
    return spec.tuning.mode is Mode.AUTO and (jvm.driver if role == "driver" else jvm.executor)


def memory(spec: StreamPipelineSpec, role: str, advice: JvmAdvice | None) -> int:
    """Bytes of a pod of the role: the spec's value, or the advice within the limits."""
    own, most = own_memory(spec, role), most_memory(spec, role)
    if advice is None or advice.memory is None or most is None or not free(spec, role):
        return own
    return max(own, min(advice.memory, most))


def memory_in_force(spec: StreamPipelineSpec, advice: JvmStatus | None) -> int:
    """Bytes of a driver pod created now."""
    return memory(spec, "driver", advice.driver if advice else None)


def overhead(spec: StreamPipelineSpec, advice: JvmAdvice | None) -> int | None:
    """Bytes outside the executors' heap, if advice on them is in force; None is the default.

    The advice belongs to a pod size; in a smaller pod the heap would have to shrink.
    """
    if advice is None or advice.overhead is None or advice.memory is None:
        return None
    whole = memory(spec, "executor", advice) >= advice.memory
    return advice.overhead if whole and free(spec, "executor") else None


def largest_new(size: int, beside: int | None) -> int:
    """The most bytes of new generation in a pod; `beside` None is the default overhead."""
    return int(NEW_SHARE * (size - (beside or overhead_bytes(size))))


def options(spec: StreamPipelineSpec, role: str, advice: JvmAdvice | None) -> str:
    """The JVM options of the role; empty if the JVM keeps its defaults."""
    if advice is None or not free(spec, role):
        return ""
    size, new = memory(spec, role, advice), None
    if advice.new_generation and size > own_memory(spec, role):
        new = min(advice.new_generation, largest_new(size, overhead(spec, advice)))
    return java_options(Collector(advice.collector) if advice.collector else None, new)


def words(advice: JvmAdvice) -> str:
    """Advice in one line."""
    parts = [f"memory {format_quantity(advice.memory)}" if advice.memory else "",
             f"{format_quantity(advice.overhead)} outside the heap" if advice.overhead else "",
             f"collector {advice.collector}" if advice.collector else ""]  # fmt: skip
    what = ", ".join(part for part in parts if part)
    return f"{what}: {advice.reason}" if what else advice.reason


def when(spec: StreamPipelineSpec, role: str, advice: JvmAdvice) -> str:
    """A message saying whether a driver that starts now gets the advice."""
    if not advice.memory and not advice.collector:
        return "needs manual action"
    if not free(spec, role):
        return "not applied: the mode is not Auto, or tuning.jvm forbids it"
    if advice.memory and most_memory(spec, role) is None:
        return f"not applied: {LIMITS[role]} must say how far it may be raised"
    return f"from the next driver start: {format_quantity(memory(spec, role, advice))}"
