"""What a pipeline's pods reserve from this tick on. Pure."""

from __future__ import annotations

from trimtab.api.quantities import parse_cpu
from trimtab.api.v1alpha1.limits import DriverResources, ExecutorResources
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.reconcile.observe.observation import Observation
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.snapshot import Snapshot
from trimtab.tuning.spent import NOTHING, Size, Spent, resized
from trimtab.tuning.static_peak import with_peak


def size_of(pod: DriverResources | ExecutorResources, executors: int) -> Size:
    """What a number of pods reserves; 0 executors: it is the one driver."""
    count = executors or 1
    return Size(executors, count * parse_cpu(pod.cpu_request), float(count * pod.memory))


def spent(
    seen: Observation, wide: StreamPipelineSpec, snapshot: Snapshot | None, memory: ControllerState
) -> Spent:
    """The account of a pipeline after this tick; without a driver it grows no more."""
    size, count = NOTHING, memory.in_force.executors
    if seen.pod.exists and not seen.spec.suspend:
        own, executor = size_of(wide.resources.driver, 0), size_of(wide.resources.executor, 1)
        cores, memory_bytes = own.cores + count * executor.cores, own.size + count * executor.size
        size = Size(count, round(cores, 3), memory_bytes)
    account = resized(memory.spent, size, seen.now_s)
    return account if snapshot is None else with_peak(account, snapshot, memory)
