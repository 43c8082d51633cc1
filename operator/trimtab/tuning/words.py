"""What a decision says: the sentences that become condition, Event and log."""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import MAX_IN_FLIGHT
from trimtab.api.reasons import BottleneckKind, Reason
from trimtab.tuning.bottleneck import Bottleneck
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs import locality, max_pending
from trimtab.tuning.learning import WARM_UP_BATCHES
from trimtab.tuning.load import least_latency_s
from trimtab.tuning.memory import Trial
from trimtab.tuning.snapshot import Batch, Snapshot
from trimtab.tuning.trial import needed, waits_for_producers


def loads(context: Context) -> str:
    """Both loads, and the running batch where it is late."""
    load = context.load
    latency = "unknown" if load.latency is None else f"{load.latency:.2f}"
    said = f"load {load.value:.2f} (capacity {load.capacity:.2f}, latency {latency})"
    return f"{said}, {context.late.words}," if context.late else said


def cause(context: Context, proposal: Proposal, bottleneck: Bottleneck) -> str:
    """Why a change is made, and what else a person should know of it."""
    why = f"{bottleneck.kind} ({bottleneck.evidence})" if proposal.raises else "more than needed"
    if proposal.knob == locality.NAME and bottleneck.kind is BottleneckKind.NONE:
        wider = proposal.reason is Reason.SCOPE_WIDENED
        why = f"the executors are {'loaded' if wider else 'light'}"
    if proposal.knob == locality.NAME and (skipped := locality.left_out(context, proposal)):
        why += f"; {skipped}"
    why += f"; {proposal.purpose}" if proposal.purpose else ""
    why += f"; {context.late.words}" if context.late else ""
    forbidden = infeasible(context) if proposal.raises else ""
    return f"{why}; {forbidden}" if forbidden else why


def infeasible(context: Context) -> str:
    """That physics forbids the goal, with the numbers; empty where it does not."""
    policy, load = context.policy, context.load
    # neither one late batch nor small ones tell what a setting could do at best at this load
    if policy.target_s is None or context.late is not None or context.extrapolates:
        return ""
    tasks = max(context.model.tasks, policy.max_tasks or 0, policy.max_topic_partitions or 0)
    model = replace(context.model, tasks=tasks)
    if context.settings.max_in_flight and MAX_IN_FLIGHT.name not in policy.pinned:
        if max_pending.crowding(context) > max_pending.CROWDED:
            return ""
        model = (model.apart or model).with_in_flight(int(MAX_IN_FLIGHT.maximum))
    least_s = least_latency_s(model, policy, load.steady)
    if least_s <= policy.target_s:
        return ""
    return (
        f"no setting within the limits can hold {policy.goal_text()}: the least at"
        f" {load.steady:.0f} records/s is {least_s:.1f} s"
    )


def progress(watched: Trial, snapshot: Snapshot) -> str:
    """How far a trial is, and what it waits for."""
    waits = "; the topic's producers do not write to its new partitions yet"
    return (
        f"trial of {watched.knob} (generation {watched.generation}): {watched.settled} batches"
        f" left out, {watched.judged} of {needed(snapshot.policy)} judged"
        f"{waits if waits_for_producers(watched, snapshot) else ''}"
    )


def calibrating(batch: Batch) -> str:
    """How long each part of a batch took, for the time in which nothing is known yet."""
    parts = {
        "planning": batch.planning_s, "reading": batch.fetch_s, "writing": batch.sink_s,
        "state": batch.state_s,
    }  # fmt: skip
    known = [f"{name} {seconds:.1f} s" for name, seconds in parts.items() if seconds]
    of_it = f", {', '.join(known)} of it" if known else ""
    return (
        f"{batch.records} records in {batch.duration_s:.1f} s{of_it}; the first"
        f" {WARM_UP_BATCHES} batches after a start, and those that ran with other executors, teach"
        " nothing"
    )
