"""Name the bottleneck before any knob moves: exactly one kind, with evidence.

Each cause is one small function that inspects the facts and returns its evidence, or nothing. They
run in the order of `CAUSES`: our own limits first, because they hide everything else while they
bind; then phases that take a large part of the batch regardless of slots; then the slots' limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from trimtab.api.knobs import TRIGGERS_S
from trimtab.api.quantities import counted, format_rate
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.tuning.capacity.fit import MORE_CALLS
from trimtab.tuning.capacity.load import Load, admitted
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.controller_state import FastestCall
from trimtab.tuning.diagnosis import locality
from trimtab.tuning.diagnosis.facts import Bottleneck, Facts
from trimtab.tuning.snapshot import Batch, Snapshot

GC_HIGH = 0.2
"""Share of task time in garbage collection that makes memory the bottleneck."""

CPU_HIGH = 0.7
"""Share of the tasks' time on a CPU that makes the work CPU-bound."""

OVERHEAD_HIGH = 0.5
"""Share of the trigger spent on fixed overhead that makes it the bottleneck."""

PART_HIGH = 0.4
"""Share of a batch that makes one of its phases the bottleneck."""

SINK_HIGH = 0.5
"""The same for writing, which overlaps the tasks' work: the larger part hides the other."""

SKEWED = 1.5
"""The busiest partition takes this factor longer than the slots' even share."""

CALLS_FULL = 0.9
"""Share of the allowed calls in flight above which the tasks are waiting for calls."""

FETCHES = 8
"""Fetches of a partition in a batch from which a set fetch size is too small: one would do."""

IN_PROPORTION = 0.7
"""Call time growing by this share of the growth in calls is no gain: the service queues them."""

WAITING_LOW = 0.3
"""Share of a record's time that more calls were seen to save, below which they do not help."""

PAST_KNEE = 1.1
"""A batch counts as past the knee when it is larger than the knee by this factor."""

SHORTER_HELPS = 0.9
"""A shorter trigger helps if it reduces the latency by 10 %."""


def diagnose(
    snapshot: Snapshot, model: Model, load: Load, fastest: FastestCall | None = None
) -> Bottleneck:
    """The bottleneck of an overloaded pipeline."""
    signals = snapshot.signals
    if signals is None or signals.batch is None:
        return Bottleneck(Kind.NONE, "no metrics")
    facts = Facts(
        snapshot.policy, snapshot.settings, snapshot.capacity, signals, signals.batch, model, load,
        fastest,
    )  # fmt: skip
    found = next((cause for look in CAUSES if (cause := look(facts))), None)
    return found or _concurrency(facts)


def _limit(facts: Facts) -> Bottleneck | None:
    """The demand is limited by our own batch limit, not by the work."""
    settings, model = facts.settings, facts.model
    full_s = model.duration_s(settings.max_offsets, facts.slots)
    lets_in = admitted(model, facts.slots, settings)
    if full_s >= settings.trigger_s or facts.load.demand <= facts.policy.higher * lets_in:
        return None
    return Bottleneck(
        Kind.ADMISSION_LIMIT,
        f"maxOffsetsPerTrigger {settings.max_offsets} lets in {format_rate(lets_in)} records/s at a"
        f" trigger of {settings.trigger_s:g} s, the slots could do more",
    )


def _past_the_knee(facts: Facts) -> Bottleneck | None:
    """Batches are in the third of the seeds' regimes: larger ones only take longer."""
    knee, records = facts.model.knee(facts.slots), facts.batch.records
    if knee is None or records <= PAST_KNEE * knee:
        return None
    words = f"a batch of {records} records takes disproportionately longer than one of {knee}"
    if facts.share(facts.batch.sink_s) >= SINK_HIGH:
        words += f": the sink takes {facts.batch.sink_s:.1f} s of it{_most_of_it(facts)}"
        return Bottleneck(Kind.SINK, words)
    return Bottleneck(Kind.ADMISSION_LIMIT, f"{words}: maxOffsetsPerTrigger lets too many in")


def _trigger(facts: Facts) -> Bottleneck | None:
    """The slots keep up; records wait for the trigger, and a shorter one would help."""
    settings, load = facts.settings, facts.load
    if load.capacity >= facts.policy.higher or settings.trigger_s < load.duration_s:
        return None
    q = facts.policy.quantile
    now_s = q * settings.trigger_s + load.duration_s
    for trigger_s in (t for t in TRIGGERS_S if t < settings.trigger_s):
        batch_s = facts.model.duration_s(load.input_rate * trigger_s, facts.slots)
        if batch_s <= trigger_s and q * trigger_s + batch_s <= SHORTER_HELPS * now_s:
            return Bottleneck(
                Kind.ADMISSION_LIMIT,
                f"records wait up to {settings.trigger_s:g} s for the trigger,"
                f" a batch takes {load.duration_s:.1f} s",
            )
    return None


def _memory(facts: Facts) -> Bottleneck | None:
    gc, heap = facts.signals.gc_ratio, facts.signals.heap_used
    if gc is None or gc < GC_HIGH:
        return None
    words = f"{gc:.0%} of the tasks' time is garbage collection"
    return Bottleneck(
        Kind.MEMORY, words if heap is None else f"{words}, the fullest heap was at {heap:.0%}"
    )


def _part(
    kind: Kind, words: str, seconds: Callable[[Batch], float | None], least: float = PART_HIGH
) -> Callable[[Facts], Bottleneck | None]:
    """The cause that one phase takes at least a given share of the batch."""

    def look(facts: Facts) -> Bottleneck | None:
        part_s = seconds(facts.batch)
        if facts.share(part_s) < least:
            return None
        return Bottleneck(kind, f"{words} {part_s:.1f} s of {facts.batch.duration_s:.1f} s")

    return look


def _sink(facts: Facts) -> Bottleneck | None:
    """Writing takes most of the batch."""
    found = _part(Kind.SINK, "writing takes", lambda batch: batch.sink_s, SINK_HIGH)(facts)
    return found and replace(found, evidence=found.evidence + _most_of_it(facts))


def _most_of_it(facts: Facts) -> str:
    """Which of several sinks takes the longest."""
    name = facts.batch.slowest_sink
    return f", the sink {name} the most of it" if name else ""


def _overhead(facts: Facts) -> Bottleneck | None:
    """Fixed overhead fills the trigger."""
    overhead_s, trigger_s = facts.model.overhead_s(facts.slots), facts.settings.trigger_s
    binds = facts.load.capacity >= facts.policy.higher and overhead_s >= OVERHEAD_HIGH * trigger_s
    if not binds and facts.batch.overhead_s <= OVERHEAD_HIGH * facts.batch.duration_s:
        return None
    return Bottleneck(
        Kind.BATCH_OVERHEAD,
        f"{overhead_s:.1f} s of each trigger of {trigger_s:g} s do not grow with the records",
    )


def _skew(facts: Facts) -> Bottleneck | None:
    share = facts.signals.hottest_share
    working = facts.model.slots(facts.slots)
    split = facts.model.tasks > (facts.signals.partitions or 0)
    if share is None or split or share * working < SKEWED:
        return None
    return Bottleneck(
        Kind.SKEW,
        f"the busiest partition holds {share:.0%} of the records, an even share for"
        f" {round(working, 1):g} slots is {1 / working:.0%}",
    )


def _calls(facts: Facts) -> Bottleneck | None:
    """The tasks wait for a remote service, because of its latency or its rate limit."""
    in_flight, signals = facts.settings.max_in_flight, facts.signals
    if not in_flight or signals.pending_calls is None or not signals.executors_running:
        return None
    most = signals.executors_running * facts.capacity.cores * in_flight
    if signals.pending_calls < CALLS_FULL * most:
        return None
    call_s, fastest = signals.pending_call_s, facts.fastest
    words = f"all {most} calls allowed are under way"
    if call_s and fastest and _queues(signals.pending_calls / fastest.calls, call_s, fastest):
        words += (
            f" and take {1000 * call_s:.0f} ms each; {fastest.calls:.0f} at once took"
            f" {1000 * fastest.seconds:.0f} ms"
        )
        return Bottleneck(Kind.REMOTE_RATE, f"{words}: the service answers no more in total")
    if facts.model.waiting < WAITING_LOW:
        return Bottleneck(Kind.REMOTE_RATE, f"{words}, and more of them were answered no faster")
    if call_s:
        words += f", {1000 * call_s:.0f} ms each"
    return Bottleneck(Kind.CONCURRENCY, words)


def _queues(more: float, call_s: float, fastest: FastestCall) -> bool:
    """Whether call time grows in proportion to the calls: they queue inside the service."""
    return more >= MORE_CALLS and call_s / fastest.seconds >= IN_PROPORTION * more


def _partitions(facts: Facts) -> Bottleneck | None:
    partitions = facts.signals.partitions
    if partitions is None or facts.slots < facts.model.tasks:
        return None
    words = f"{counted(facts.slots, 'slot')}, but only {counted(partitions, 'partition')} to read"
    if facts.model.tasks > partitions:
        words += f", split into {facts.model.tasks} tasks"
    return Bottleneck(Kind.SOURCE_PARTITIONS, words)


def _cpu(facts: Facts) -> Bottleneck | None:
    cpu = facts.signals.cpu_ratio
    if cpu is None or cpu < CPU_HIGH:
        return None
    return Bottleneck(
        Kind.CPU, f"slots busy {_share(facts.signals.slots_busy)}: the tasks compute {cpu:.0%} of"
        " their time",
    )  # fmt: skip


def _fetch(facts: Facts) -> Bottleneck | None:
    """The tasks wait for Kafka, because the user's fetch size cuts a batch into many fetches."""
    share, size = facts.signals.partition_bytes, facts.signals.fetch_bytes
    if not share or not size or share < FETCHES * size:
        return None
    return Bottleneck(
        Kind.FETCH,
        f"a batch has {share / 1024:.0f} kB in each partition, which take up to {share / size:.0f}"
        f" fetches of {size / 1024:.0f} kB: remove fetch.maxPartitionBytes and fetch.maxBytes from"
        " the spec, then one fetch brings them",
    )


def _concurrency(facts: Facts) -> Bottleneck:
    cpu, slots = facts.signals.cpu_ratio, facts.slots
    computes = (
        "whether the tasks compute or wait is not known"
        if cpu is None
        else f"the tasks compute {cpu:.0%} of their time"
    )
    return Bottleneck(
        Kind.CONCURRENCY,
        f"slots busy {_share(facts.signals.slots_busy)}, {computes}: {counted(slots, 'slot')}"
        f" can work off {format_rate(facts.model.capacity(slots))} records/s{_shown(facts)}",
    )


def _shown(facts: Facts) -> str:
    """A warning where that was concluded from far smaller batches than may come."""
    if not facts.model.extrapolates(facts.settings.max_offsets):
        return ""
    return f", judged by batches of {facts.model.largest} records and less, with a margin"


CAUSES: tuple[Callable[[Facts], Bottleneck | None], ...] = (
    _past_the_knee, _limit, _trigger, _memory,
    _part(Kind.STATE_COMMIT, "the commit of state takes", lambda batch: batch.state_s),
    _part(Kind.DRIVER_PLANNING, "the driver plans for", lambda batch: batch.planning_s),
    _sink, _overhead, _skew,
    _calls, _partitions, locality.crowded, locality.away, _cpu, _fetch,
)  # fmt: skip


def _share(ratio: float | None) -> str:
    return "unknown" if ratio is None else f"{ratio:.0%}"
