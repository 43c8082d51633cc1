"""The messages of decisions, used in conditions, Events and logs."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.api.quantities import format_rate
from trimtab.tuning import knobs
from trimtab.tuning.capacity.learning import WARM_UP_BATCHES
from trimtab.tuning.capacity.load import Load, least_latency_s
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.controller_state import Trial
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.snapshot import Batch, Snapshot
from trimtab.tuning.trials.trial import needed


def loads(context: Context) -> str:
    """Both loads, and the running batch if it is late."""
    load = context.load
    latency = "unknown" if load.latency is None else f"{load.latency:.2f}"
    said = f"load {load.value:.2f} (capacity {load.capacity:.2f}, latency {latency})"
    said += f", {load.expected.words}," if load.expected else ""
    return f"{said}, {context.late.words}," if context.late else said


def cause(context: Context, proposal: Proposal, bottleneck: Bottleneck) -> str:
    """Why a change is made, and what else a user should know about it."""
    why = knobs.named(proposal.knob).cause(context, proposal, bottleneck)
    why += f"; {proposal.purpose}" if proposal.purpose else ""
    why += f"; {context.late.words}" if context.late else ""
    why += f"; {context.load.expected.words}" if context.load.expected else ""
    forbidden = infeasible(context) if proposal.raises else ""
    return f"{why}; {forbidden}" if forbidden else why


def change(why: str, load: Load, changes: Iterable[str], predicted: float) -> str:
    """What a change is for, the load before it, and what it should become."""
    return (
        f"{why}; load {load.value:.2f} at {format_rate(load.demand)} records/s:"
        f" {', '.join(changes)}, predicted load {predicted:.2f}"
    )


def infeasible(context: Context) -> str:
    """Why no setting can meet the goal, with the numbers; empty if one can."""
    policy, load = context.policy, context.load
    # neither one late batch nor small batches show the best that a setting could do at this load
    if policy.target_s is None or context.late is not None or context.extrapolates:
        return ""
    model = context.model
    for knob in knobs.LADDER:
        best = knob.at_best(context, model)
        if best is None:
            return ""
        model = best
    most = policy.most_slots_from(context.capacity.cores)
    # where the capacity falls, fewer slots than the most carry more
    learned = (slots for slots, _ in model.per_record if slots <= most)
    least_s = min(least_latency_s(model, policy, load.input_rate, n) for n in (most, *learned))
    if least_s <= policy.target_s:
        return ""
    return (
        f"no setting within the limits can meet {policy.goal_text()}: the minimum at"
        f" {format_rate(load.input_rate)} records/s is {least_s:.1f} s"
    )


def progress(watched: Trial, snapshot: Snapshot) -> str:
    """A trial's progress, and what it waits for."""
    waits = knobs.named(watched.knob).waits(watched, snapshot)
    return (
        f"trial of {watched.knob} (generation {watched.generation}): {watched.settled} batches"
        f" left out, {watched.judged} of {needed(snapshot.policy)} judged"
        f"{f'; {waits}' if waits else ''}"
    )


def calibrating(batch: Batch) -> str:
    """How long each part of a batch took, shown until the model knows enough."""
    parts = {
        "planning": batch.planning_s, "writing": batch.sink_s, "state": batch.state_s,
    }  # fmt: skip
    known = [f"{name} {seconds:.1f} s" for name, seconds in parts.items() if seconds]
    of_it = f", {', '.join(known)} of it" if known else ""
    return (
        f"{batch.records} records in {batch.duration_s:.1f} s{of_it}; the first"
        f" {WARM_UP_BATCHES} batches after a start, and those that ran with other executors, are"
        " ignored"
    )
