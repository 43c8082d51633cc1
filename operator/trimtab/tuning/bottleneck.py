"""Name what holds the pipeline back before any knob moves: exactly one kind, with evidence."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.tuning.load import Load, admitted
from trimtab.tuning.model import Model
from trimtab.tuning.snapshot import Signals, Snapshot

GC_HIGH = 0.2
"""Share of task time in garbage collection that makes memory the bottleneck."""

CPU_HIGH = 0.7
"""Share of the tasks' time on a CPU that makes the work CPU-bound."""

OVERHEAD_HIGH = 0.5
"""Share of the trigger that does not grow with the records."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """What holds the pipeline back, and how that is seen."""

    kind: Kind
    evidence: str


def diagnose(snapshot: Snapshot, model: Model, load: Load) -> Bottleneck:
    """The bottleneck of an overloaded pipeline."""
    signals = snapshot.signals
    if signals is None:
        return Bottleneck(Kind.NONE, "no metrics")
    policy, settings = snapshot.policy, snapshot.settings
    slots = settings.executors * policy.slots_per_executor
    if _limit_binds(snapshot, model, load, slots):
        return Bottleneck(
            Kind.ADMISSION_LIMIT,
            f"maxOffsetsPerTrigger {settings.max_offsets} lets in"
            f" {admitted(model, slots, settings):.0f} records/s at a trigger of"
            f" {settings.trigger_s:g} s, the slots could do more",
        )
    if load.capacity < policy.higher:
        if settings.trigger_s >= load.duration_s:
            return Bottleneck(
                Kind.ADMISSION_LIMIT,
                f"records wait up to {settings.trigger_s:g} s for the trigger,"
                f" a batch takes {load.duration_s:.1f} s",
            )
        return _work(signals, model, slots)
    overhead_s = model.overhead_s(slots)
    if overhead_s >= OVERHEAD_HIGH * settings.trigger_s:
        return Bottleneck(
            Kind.BATCH_OVERHEAD,
            f"{overhead_s:.1f} s of each trigger of {settings.trigger_s:g} s do not grow with"
            " the records",
        )
    return _work(signals, model, slots)


def _limit_binds(snapshot: Snapshot, model: Model, load: Load, slots: int) -> bool:
    """Whether our own batch limit, and not the work, keeps the demand out."""
    settings = snapshot.settings
    full_s = model.duration_s(settings.max_offsets, slots)
    lets_in = admitted(model, slots, settings)
    return full_s < settings.trigger_s and load.demand > snapshot.policy.higher * lets_in


def _work(signals: Signals, model: Model, slots: int) -> Bottleneck:
    """Which resource the work on records runs out of."""
    batch = signals.batch
    if signals.gc_ratio is not None and signals.gc_ratio >= GC_HIGH:
        words = f"{signals.gc_ratio:.0%} of the tasks' time is garbage collection"
        if signals.heap_used is not None:
            words += f", the fullest heap was at {signals.heap_used:.0%}"
        return Bottleneck(Kind.MEMORY, words)
    if batch is not None and batch.overhead_s > 0.5 * batch.duration_s:
        return Bottleneck(
            Kind.DRIVER_PLANNING,
            f"{batch.overhead_s:.1f} s of {batch.duration_s:.1f} s pass in the driver",
        )
    if signals.partitions is not None and slots >= signals.partitions:
        return Bottleneck(
            Kind.SOURCE_PARTITIONS,
            f"{slots} slots, but only {signals.partitions} partitions to read",
        )
    busy = f"slots busy {_share(signals.slots_busy)}"
    if signals.cpu_ratio is not None and signals.cpu_ratio >= CPU_HIGH:
        words = f"{busy}: the tasks compute {signals.cpu_ratio:.0%} of their time"
        return Bottleneck(Kind.CPU, words)
    computes = (
        "whether the tasks compute or wait is not known"
        if signals.cpu_ratio is None
        else f"the tasks compute {signals.cpu_ratio:.0%} of their time"
    )
    rate = model.capacity(slots)
    return Bottleneck(
        Kind.CONCURRENCY, f"{busy}, {computes}: {slots} slots work off {rate:.0f} records/s"
    )


def _share(ratio: float | None) -> str:
    return "unknown" if ratio is None else f"{ratio:.0%}"
