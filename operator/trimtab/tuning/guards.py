"""The veto chain: every reason why a proposed change must not be made now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.trial import holds


@dataclass(frozen=True, slots=True)
class Veto:
    """Why not."""

    reason: Reason
    message: str


def pinned(context: Context, proposal: Proposal) -> Veto | None:
    """A value written by a person is never touched."""
    now, new = context.settings.numbers(), proposal.settings.numbers()
    touched = [k for k in context.policy.pinned if now[k] != new[k]]
    if touched:
        return Veto(Reason.PINNED, f"{', '.join(touched)} is pinned in spec.tuning.pinned")
    return None


def failed_before(context: Context, proposal: Proposal) -> Veto | None:
    """A change that did not help at this load is not tried again for a while."""
    for verdict in context.memory.verdicts:
        same = (verdict.knob, verdict.raises) == (proposal.knob, proposal.raises)
        # more of what did not help will not help either; a smaller release may still be fine
        as_far = verdict.raises or proposal.settings.executors <= verdict.executors
        left_s = verdict.until_s - context.snapshot.now_s
        if same and as_far and left_s > 0 and holds(verdict, context.settings, context.load.steady):
            times = "" if verdict.failures == 1 else f", {verdict.failures} times in a row"
            return Veto(
                Reason.FAILED_BEFORE,
                f"{proposal.knob} did not help at {verdict.steady:.0f} records/s{times}; it is"
                f" tried again in {left_s:.0f} s",
            )
    return None


def pods_pending(context: Context, proposal: Proposal) -> Veto | None:
    """Executors that wait for a place do not get company."""
    signals = context.snapshot.signals
    pending = signals.executors_pending if signals else None
    if pending and proposal.settings.executors > context.settings.executors:
        return Veto(Reason.PODS_PENDING, f"{pending} executor pods still wait for a node")
    return None


CHAIN: tuple[Callable[[Context, Proposal], Veto | None], ...] = (
    pinned,
    failed_before,
    pods_pending,
)


def first_allowed(
    context: Context, proposals: list[Proposal]
) -> tuple[Proposal | None, Veto | None]:
    """The first proposal that no guard vetoes, and the first veto that was met."""
    first_veto: Veto | None = None
    for proposal in proposals:
        veto = next((v for guard in CHAIN if (v := guard(context, proposal))), None)
        if veto is None:
            return proposal, first_veto
        first_veto = first_veto or veto
    return None, first_veto
