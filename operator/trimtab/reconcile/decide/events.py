"""What a tick announces as Events and log lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trimtab.api.common import get_condition
from trimtab.api.reasons import Reason
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.runs import RunEnd, RunPhase
from trimtab.api.v1alpha1.status import ConditionType as Type
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.reconcile.observe.observation import Observation
from trimtab.tuning.advice import jvm, oversize
from trimtab.tuning.decision import Decision
from trimtab.workloads import pipeline


@dataclass(frozen=True, slots=True)
class Announcement:
    """One Event."""

    reason: str
    message: str
    warning: bool = False


def announcements(
    seen: Observation,
    wide: StreamPipelineSpec,
    new: StreamPipelineStatus,
    decisions: Sequence[Decision],
) -> tuple[Announcement, ...]:
    """Decisions, changed advice, and new problems since the last tick, in this order."""
    old = seen.status
    return (
        *(Announcement(d.reason, f"{d.action}: {d.message}") for d in decisions),
        *(Announcement("JvmAdvice", w[:1024]) for w in jvm.news(wide, seen.advice.jvm, new.jvm)),
        *_partitions(old, new),
        *_oversize(seen, new),
        *_ledger(old, new),
        *_sink(seen, new),
        *_run(old, new),
        *_problems(old, new),
    )


def _partitions(old: StreamPipelineStatus, new: StreamPipelineStatus) -> Iterator[Announcement]:
    advised = new.partitions_advice
    if advised and advised != old.partitions_advice:
        words = f"{advised.partitions} partitions of the source would help: {advised.reason}"
        yield Announcement("PartitionsAdvice", words[:1024])


def _oversize(seen: Observation, new: StreamPipelineStatus) -> Iterator[Announcement]:
    if new.oversize and oversize.is_news(seen.advice.oversize, new.oversize):
        words = oversize.message(new.oversize)
        yield Announcement(Reason.PLANNED_OVERSIZE, words, warning=True)


def _ledger(old: StreamPipelineStatus, new: StreamPipelineStatus) -> Iterator[Announcement]:
    if (lost := _mismatches(new) - _mismatches(old)) > 0:
        message = (
            f"{lost} more records were read but not written, or the reverse: compare"
            " trimtab_ledger_records_total and trimtab_ledger_xor of both sides"
        )
        yield Announcement("LedgerMismatch", message, warning=True)
    if (gone := _missing(new)) > _missing(old):
        message = (
            f"{gone} records of committed batches are not in the sink, by its own count: its broker"
            " has lost them, or the topic was deleted and created again"
        )
        yield Announcement("RecordsMissing", message, warning=True)
    late, before = _late(new), _late(old)
    if late >= 2 * max(before, 1) or (late and not before):
        message = (
            f"{late} rows came after the watermark and were dropped: let it wait longer, or see why"
            " they are late"
        )
        yield Announcement("LateRecords", message, warning=True)


def _sink(seen: Observation, new: StreamPipelineStatus) -> Iterator[Announcement]:
    """Another sink keeps the checkpoint. While something is Stalled, nothing is written anew."""
    known = (seen.identity_holder or {}).get("metadata", {}).get("annotations", {})
    before, now = known.get(pipeline.SINK_ANNOTATION), seen.spec.results.words
    stalled = get_condition(new.conditions, Type.STALLED)
    if before and before != now and stalled and stalled.status == "False":
        message = (
            f"the output goes to {now} from the next driver start on; what was written to {before}"
            " stays there, and the query goes on from its checkpoint"
        )
        yield Announcement("SinkChanged", message)


def _run(old: StreamPipelineStatus, new: StreamPipelineStatus) -> Iterator[Announcement]:
    """The start and the end of a run."""
    before, now = old.run, new.run
    if now is None or (before and before.phase is now.phase):
        return
    if now.phase is RunPhase.RUNNING:
        yield Announcement("RunStarted", "a run takes on what is in the topics now")
    elif now.end is RunEnd.DRAINED:
        yield Announcement("RunDrained", f"the run that started at {now.started} has taken all on")
    elif now.end is RunEnd.DEADLINE_EXCEEDED:
        words = (
            f"the run that started at {now.started} is not done: it stops at a batch boundary, and"
            " the next one goes on from there. Raise runs.deadline, or the limits of the executors"
        )
        yield Announcement("RunDeadlineExceeded", words, warning=True)


def _mismatches(status: StreamPipelineStatus) -> int:
    return (status.ledger.mismatches or 0) if status.ledger else 0


def _missing(status: StreamPipelineStatus) -> int:
    return (status.ledger.missing or 0) if status.ledger else 0


def _late(status: StreamPipelineStatus) -> int:
    return (status.ledger.late or 0) if status.ledger else 0


def _problems(old: StreamPipelineStatus, new: StreamPipelineStatus) -> Iterator[Announcement]:
    for type_ in (Type.STALLED, Type.EXECUTORS_MISSING, Type.RECORDS_EXPIRING):
        before, now = get_condition(old.conditions, type_), get_condition(new.conditions, type_)
        if now and now.status == "True" and (before is None or before.reason != now.reason):
            yield Announcement(now.reason, now.message, warning=True)
