"""What a pipeline's model has learned about its capacity, and how far partitions let it grow."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trimtab.api.knobs import KNOBS
from trimtab.api.quantities import counted, format_rate
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.cli.rows import row
from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.policy import Policy

MAX_ROWS = 10
"""Lines of the capacity table; beyond that, only learned counts, the present one and the limits."""

UNKNOWN_TASKS = 10**6
"""Used until the status has the number of partitions."""


def partitions(policy: Policy, cores: int, status: StreamPipelineStatus) -> str:
    """A partition is one task, and an executor without a task is idle."""
    if status.partitions is None:
        return "not known yet"
    most, (_, allowed) = math.ceil(status.partitions / cores), policy.executors_of(cores)
    above = f", though limits allow {allowed}" if allowed > most else ""
    if above:
        above += f", which needs {allowed * cores} partitions"
    return f"{status.partitions}, so more than {counted(most, 'executor')} cannot help{above}"


def partitions_advice(status: StreamPipelineStatus) -> Iterator[str]:
    """How many partitions would help; nothing if they are not the limit."""
    advised = status.partitions_advice
    if advised is not None:
        yield row("", f"{advised.partitions} would help: {advised.reason}")


def capacity(
    memory: ControllerState | None, policy: Policy, cores: int, status: StreamPipelineStatus
) -> Iterator[str]:
    """The highest rate for each number of executors, and which of these were learned."""
    of_source = status.partitions or UNKNOWN_TASKS
    model = learning.at_settings(memory.points, memory.settings, of_source) if memory else None
    if memory is None or model is None:
        yield row("Capacity", "nothing learned yet")
        return
    settings = memory.settings
    trigger = KNOBS["trigger"].format(settings.trigger_s)
    yield row("Capacity", f"at trigger {trigger}, points learned: {len(memory.points)}")
    least, most = policy.executors_of(cores)
    for executors in _counts(memory, least, most, cores):
        count = counted(executors, "executor").ljust(len(counted(most, "executor")))
        yield f"  {count} {_rate(executors, cores, memory, model)}"


def _counts(memory: ControllerState, least: int, most: int, cores: int) -> list[int]:
    """Every count within the limits, or the most useful ones if there are too many."""
    settings = memory.settings
    learned = {int(p.slots) // cores for p in memory.points}
    counts = set(range(least, most + 1))
    if len(counts | learned) > MAX_ROWS:
        counts = {least, settings.executors, most}
        learned = set(sorted(learned - counts)[: MAX_ROWS - len(counts)])
    return sorted((counts | learned | {settings.executors}) - {0})


def _rate(executors: int, cores: int, memory: ControllerState, model: Model) -> str:
    slots = executors * cores
    rate = model.sustainable(slots, memory.settings.trigger_s)
    known = any(p.slots == slots for p in memory.points)
    now = "  <- now" if executors == memory.settings.executors else ""
    return f"{format_rate(rate):>8} records/s  {'learned' if known else 'estimated'}{now}"
