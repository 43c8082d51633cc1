"""The veto chain: every reason why a proposed change must not be made now.

Each guard is one function of the context and the proposal that returns a reason and a message, or
nothing. They run in the order of `CHAIN`: the user's wishes first, then the pipeline's environment,
then what was learned. A missing or stale metric never gets this far: without signals nothing is
proposed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from trimtab.api.knobs import How
from trimtab.api.quantities import counted, format_rate
from trimtab.api.reasons import Reason
from trimtab.tuning import knobs
from trimtab.tuning.context import Context, Proposal, Veto
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.governance import restraint
from trimtab.tuning.snapshot import ExternalConstraints, Signals, Snapshot
from trimtab.tuning.trials.outcome import expires_after_s
from trimtab.tuning.trials.verdicts import holds

HOUR_S = 3600.0

CLOCKS_APART_S = 60.0
"""Largest tolerated clock difference: a batch committed this much after its own sample."""


def limits(context: Context, proposal: Proposal) -> Veto | None:
    """Hard limits are never exceeded, not even in a trial."""
    wanted = (knob.excess(context.policy, proposal.settings) for knob in knobs.LADDER)
    words = next((excess for excess in wanted if excess), "")
    return Veto(Reason.OUT_OF_LIMITS, words) if words else None


def pinned(context: Context, proposal: Proposal) -> Veto | None:
    """A value pinned by a user is never touched."""
    touched = [k for k in _moved(context, proposal) if k in context.policy.pinned]
    if touched:
        return Veto(Reason.PINNED, f"{', '.join(touched)} is pinned in spec.tuning.pinned")
    return None


def locked(context: Context, proposal: Proposal) -> Veto | None:
    """A knob locked by a policy above the pipeline stays."""
    touched = [k for k in _moved(context, proposal) if k in context.policy.locked]
    return Veto(Reason.LOCKED, f"{', '.join(touched)} is locked by a policy") if touched else None


def others_changing(context: Context, proposal: Proposal) -> Veto | None:
    """As many pipelines as a policy allows are in the middle of a change already."""
    del proposal
    return crowded(context.snapshot.constraints)


def crowded(constraints: ExternalConstraints) -> Veto | None:
    """The same for any change."""
    words = constraints.others_changing
    return Veto(Reason.TOO_MANY_CHANGES, words) if words else None


def pauses(context: Context, proposal: Proposal) -> Veto | None:
    """The disruption budget: a maximum of changes per hour that pause the pipeline."""
    live = proposal.how is How.LIVE
    return None if live else paused_often(context.snapshot, context.memory)


def paused_often(snapshot: Snapshot, memory: ControllerState) -> Veto | None:
    """The same for a change that is known to pause it."""
    most, now_s = snapshot.policy.pauses_per_hour, snapshot.now_s
    if most is None:
        return None
    recent = [at_s for at_s in memory.paused_at_s if now_s - at_s < HOUR_S]
    if len(recent) < most:
        return None
    left_s = HOUR_S - (now_s - min(recent)) if recent else HOUR_S
    return Veto(
        Reason.TOO_MANY_PAUSES,
        f"{len(recent)} changes have paused the pipeline within the hour, {most} are allowed; the"
        f" next is allowed in {left_s:.0f} s",
    )


def window(context: Context, proposal: Proposal) -> Veto | None:
    """Changes are made only in their windows; some policies except raises."""
    return closed(context.snapshot.constraints, raises=proposal.raises)


def closed(constraints: ExternalConstraints, *, raises: bool) -> Veto | None:
    """The same for any change that raises or releases."""
    now = constraints.closed
    if not now.message or (now.raises and raises):
        return None
    return Veto(Reason.WINDOW_CLOSED, now.message)


def contradictory(context: Context, proposal: Proposal) -> Veto | None:
    """Metrics that cannot all be true do not justify a change."""
    del proposal
    signals = context.snapshot.signals
    words = contradiction(signals) if signals else ""
    return Veto(Reason.METRICS_CONTRADICT, words) if words else None


def contradiction(signals: Signals) -> str:
    """A message naming what cannot be true in the signals; empty if they agree."""
    batch = signals.batch
    numbers = {
        "input rate": signals.input_rate, "input rate over a minute": signals.input_rate_long,
        "lag": signals.lag_records, "lag in time": signals.lag_s,
        "seconds of the running batch": signals.running_s,
        "seconds of the last batch": batch.duration_s if batch else None,
        "seconds outside the work": batch.overhead_s if batch else None,
    }  # fmt: skip
    for name, value in numbers.items():
        if value is not None and not 0 <= value < math.inf:
            return f"the {name} is {value:g}"
    if batch and batch.committed_at_s > signals.sampled_at_s + CLOCKS_APART_S:
        ahead_s = batch.committed_at_s - signals.sampled_at_s
        return f"the last batch was committed {ahead_s:.0f} s after the sample that shows it"
    if batch and batch.overhead_s > batch.duration_s + 1:
        return (
            f"the last batch took {batch.duration_s:.1f} s, of which {batch.overhead_s:.1f} s"
            " outside the work"
        )
    return ""


def pods_pending(context: Context, proposal: Proposal) -> Veto | None:
    """No further executors while some have still not started."""
    signals, why = context.snapshot.signals, context.snapshot.constraints.executors_missing
    pending = signals.executors_pending if signals else None
    if pending and proposal.settings.executors > context.settings.executors:
        words = f"{counted(pending, 'executor pod')} still missing"
        return Veto(Reason.PODS_PENDING, f"{words}: {why}" if why else words)
    return None


def rebalancing(context: Context, proposal: Proposal) -> Veto | None:
    """While Kafka moves or repairs replicas, figures are about to change.

    More executors are still allowed: a broker may be down for hours, but the goal still applies.
    """
    signals = context.snapshot.signals
    count = signals.out_of_sync if signals else None
    if not count or proposal.settings.executors > context.settings.executors:
        return None
    words = f"{counted(count, 'partition')} of the source"
    return Veto(Reason.KAFKA_REBALANCING, f"{words}: replicas are not in sync")


def own(context: Context, proposal: Proposal) -> Veto | None:
    """A veto of the knob itself whose value moves."""
    moved = _moved(context, proposal)
    asked = (knob.veto(context) for knob in knobs.LADDER if knob.values[0].name in moved)
    return next((veto for veto in asked if veto), None)


def recent_peak(context: Context, proposal: Proposal) -> Veto | None:
    """Executors stay while they would be missing if the input came back to its recent peak."""
    fewer = proposal.settings.executors < context.settings.executors
    more = proposal.raises or context.policy.maximum
    if not fewer or more or context.carries_peak(proposal.settings):
        return None
    seen, now_s = context.memory.recurrence, context.snapshot.now_s
    ago_s = now_s - seen.left_s if seen.left_s is not None else 0.0
    return Veto(
        Reason.RECENT_PEAK,
        f"{format_rate(seen.rate)} records/s came in {ago_s:.0f} s ago, too much for"
        f" {counted(proposal.settings.executors, 'executor')}: none is released within"
        f" {seen.window_s(now_s):.0f} s of such a peak",
    )


def batch_without_end(context: Context, proposal: Proposal) -> Veto | None:
    """No more executors for the backlog of a batch that does not end: they may not help it.

    A batch that ran from its start to now with the executors that there are is evidence, and found
    late; one that has already been given more is not, once its trial would have expired.
    """
    signals, settings = context.snapshot.signals, context.settings
    more = proposal.settings.executors > settings.executors
    if signals is None or not more or context.late is not None:
        return None
    if signals.running_s <= expires_after_s(settings.trigger_s):
        return None
    return Veto(
        Reason.BATCH_WITHOUT_END,
        f"the running batch has lasted {signals.running_s:.0f} s: whether more executors help is"
        " not known before it ends",
    )


def failed_before(context: Context, proposal: Proposal) -> Veto | None:
    """A change that did not help at this load is not retried until something changes."""
    for verdict in context.memory.verdicts:
        same = (verdict.knob, verdict.raises) == (proposal.knob, proposal.raises)
        # a larger raise will not help either; a smaller release may still be fine
        as_far = verdict.raises or proposal.settings.executors <= verdict.executors
        if same and as_far and holds(verdict, context):
            words = f"{proposal.knob} did not help at {format_rate(verdict.input_rate)} records/s"
            words += "" if verdict.failures == 1 else f", {verdict.failures} times in a row"
            again = "until something changes"
            if verdict.until_s > context.snapshot.now_s:
                again = f"for {verdict.until_s - context.snapshot.now_s:.0f} s, or {again}"
            return Veto(Reason.FAILED_BEFORE, f"{words}; it is not tried again {again}")
    return None


def _moved(context: Context, proposal: Proposal) -> list[str]:
    return sorted(context.settings.moved(proposal.settings))


CHAIN: tuple[Callable[[Context, Proposal], Veto | None], ...] = (
    limits, pinned, locked, pauses, window, others_changing, contradictory,
    own, pods_pending, rebalancing, recent_peak, batch_without_end, failed_before,
)  # fmt: skip


def _first_veto(context: Context, proposal: Proposal) -> Veto | None:
    return next((veto for guard in CHAIN if (veto := guard(context, proposal))), None)


def first_allowed(
    context: Context, proposals: list[Proposal]
) -> tuple[Proposal | None, Veto | None]:
    """The first proposal that no guard vetoes, and the first veto, if any.

    Nothing else is tried instead of executors that are starting: they are what was wanted.
    """
    first_veto: Veto | None = None
    for offered in proposals:
        proposal = restraint.restrained(context, offered)
        veto = proposal if isinstance(proposal, Veto) else _first_veto(context, proposal)
        if veto is None and isinstance(proposal, Proposal):
            return proposal, first_veto
        first_veto = first_veto or veto
        starting = not context.snapshot.constraints.executors_missing
        if veto and veto.reason is Reason.PODS_PENDING and starting:
            break
    return None, first_veto
