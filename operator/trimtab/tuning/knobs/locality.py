"""Locality: how far from its data a task may run, a ladder of four scopes, live.

After Storm's locality-aware grouping (docs/seeds.md): stay near while the executors of the scope
can handle the work, widen when their load reaches the higher bound, narrow again when the narrower
scope would be light. The measure is the executors' mean load (slots in use or waited for). If tasks
that run away from their data are the bottleneck, the scope narrows at once; the trial shows whether
that helped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trimtab.api.knobs import SCOPE, SCOPES
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.diagnosis.bottleneck import Bottleneck
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.trials.comparison import Comparison, no_heavier

HOPED = 0.9
"""Assumed factor on the load with a nearer scope: no model can predict it before the trial."""


class Locality(Knob):
    """The scope in which a task may run; it costs nothing, so there is nothing to release."""

    name = "locality"
    values = (SCOPE,)
    moves = frozenset({Kind.LOCALITY})

    def clamp(self, policy: Policy, settings: Settings) -> Settings:
        """The ladder starts at the nearest scope; without it, only a user sets a scope."""
        if policy.locality is not None:
            return replace(settings, scope=settings.scope or 0)
        return settings if policy.scope_said else replace(settings, scope=None)

    def raise_(self, context: Context) -> Proposal | None:
        """The next nearer scope, if remote reads are the bottleneck."""
        scope = context.settings.scope
        if not scope or context.policy.locality is None:
            return None
        _, nearer = _beside(context, scope)
        return None if nearer is None else _proposal(context, nearer, HOPED * context.load.value)

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """A scope costs nothing, so it is kept if it does no harm."""
        return no_heavier(seen)

    def cause(self, context: Context, proposal: Proposal, bottleneck: Bottleneck) -> str:
        """The bottleneck, or else how loaded the executors are; and any skipped scopes."""
        why = super().cause(context, proposal, bottleneck)
        if bottleneck.kind is Kind.NONE:
            wider = proposal.reason is Reason.SCOPE_WIDENED
            why = f"the executors are {'loaded' if wider else 'light'}"
        skipped = _left_out(context, proposal)
        return f"{why}; {skipped}" if skipped else why


KNOB = Locality()


def drift(context: Context) -> Proposal | None:
    """One scope wider if the executors are loaded, one narrower if they are light."""
    scope, signals = context.settings.scope, context.snapshot.signals
    load = signals.executor_load if signals else None
    bounds = context.policy.locality
    if scope is None or load is None or bounds is None or _inert(context):
        return None
    wider, nearer = _beside(context, scope)
    if load >= bounds.higher and wider is not None:
        return _proposal(context, wider, context.load.value)
    if load < bounds.lower and nearer is not None:
        return _proposal(context, nearer, context.load.value)
    return None


LEAST_PLACES = {"Node": 1, "Zone": 2}
"""Broker nodes, or zones, that a scope needs to be meaningful: a single zone covers everything."""


def _left_out(context: Context, proposal: Proposal) -> str:
    """Which scopes a change skips, and why; empty if none."""
    now, then = context.settings.scope or 0, proposal.settings.scope or 0
    between = SCOPES[min(now, then) + 1 : max(now, then)]
    places = _places(context)
    words = [f"{s} is skipped: the source has leaders in {places.get(s, 0)}" for s in between]
    return "; ".join(words)


def _places(context: Context) -> Mapping[str, int]:
    signals = context.snapshot.signals
    return signals.places if signals else {}


def _beside(context: Context, scope: int) -> tuple[int | None, int | None]:
    """The next wider and the next nearer scope that are meaningful here."""
    places = _places(context)
    real = [i for i, s in enumerate(SCOPES) if places.get(s, 0) >= LEAST_PLACES.get(s, 0)]
    wider = min((i for i in real if i > scope), default=None)
    return wider, max((i for i in real if i < scope), default=None)


def _inert(context: Context) -> bool:
    """Whether no task has a preferred executor: tasks of split partitions have none."""
    signals = context.snapshot.signals
    return context.model.tasks > ((signals.partitions if signals else None) or context.model.tasks)


def _proposal(context: Context, scope: int, predicted: float) -> Proposal:
    now = context.settings.scope or 0
    return Proposal(
        knob=KNOB.name,
        how=KNOB.how,
        settings=replace(context.settings, scope=scope),
        predicted=predicted,
        raises=True,
        reason=Reason.SCOPE_NARROWED if scope < now else Reason.SCOPE_WIDENED,
    )
