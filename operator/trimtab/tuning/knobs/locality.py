"""Locality: whether a task waits for the executor that holds its partition's consumer, live.

After Storm's locality-aware grouping (docs/seeds.md): stay near while the executors of the present
scope can handle the work, widen when their mean load (slots in use or waited for) reaches the
higher bound, narrow again when those of the narrower scope would have less than the lower one. If
tasks that run away from their data are the bottleneck, the scope narrows at once; the trial shows
whether that helped.

Two scopes are on the ladder, Process and Any. Node and Zone only place executors that start: Spark
on Kubernetes takes each pod for a host of its own and knows no racks, so it cannot prefer an
executor of the same node or zone for a task (docs/decisions/0032). Whoever sets one of them keeps
it until the ladder moves.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import ANY, PROCESS, SCOPE, SCOPES
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.diagnosis.locality import would_crowd
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.trials.comparison import Comparison, no_heavier

HOPED = 0.9
"""Assumed factor on the load with another scope: no model can predict it before the trial."""


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
        """Wider from Process, where tasks wait for its executors; nearer from all others."""
        scope = context.settings.scope
        if scope is None or context.policy.locality is None or _inert(context):
            return None
        wider, nearer = _beside(scope)
        then = wider if nearer is None else nearer
        if then is None or (then == nearer and _would_crowd(context)):
            return None
        return _proposal(context, then, HOPED * context.load.value)

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """A scope costs nothing, so it is kept if it does no harm."""
        return no_heavier(seen)

    def cause(self, context: Context, proposal: Proposal, bottleneck: Bottleneck) -> str:
        """The bottleneck, or else how loaded the executors of the deciding scope are."""
        if bottleneck.kind is not Kind.NONE:
            return super().cause(context, proposal, bottleneck)
        wider = proposal.reason is Reason.SCOPE_WIDENED
        scope = (context.settings if wider else proposal.settings).scope or 0
        load = _load(context, scope)
        would = "have" if wider else "would have"
        share = "an unknown load" if load is None else f"a mean load of {load:.2f}"
        return f"the executors of {SCOPES[scope]} {would} {share}"


KNOB = Locality()


def drift(context: Context) -> Proposal | None:
    """The next wider scope if the present one is loaded, the next nearer if that would be light."""
    scope, bounds = context.settings.scope, context.policy.locality
    if scope is None or bounds is None or _inert(context):
        return None
    wider, nearer = _beside(scope)
    load = _load(context, scope)
    if wider is not None and load is not None and load >= bounds.higher:
        return _proposal(context, wider, context.load.value)
    load = None if nearer is None else _load(context, nearer)
    if nearer is not None and load is not None and load < bounds.lower:
        return _proposal(context, nearer, context.load.value)
    return None


LADDER = (PROCESS, ANY)


def _load(context: Context, scope: int) -> float | None:
    """Mean load of the executors of a scope; Node and Zone have those of Any."""
    signals = context.snapshot.signals
    name = SCOPES[scope if scope in LADDER else LADDER[-1]]
    return signals.scope_load.get(name) if signals else None


def _would_crowd(context: Context) -> bool:
    signals = context.snapshot.signals
    return signals is not None and would_crowd(context.policy.locality, signals.scope_load)


def _beside(scope: int) -> tuple[int | None, int | None]:
    """The next wider and the next nearer scope of the ladder."""
    wider = min((each for each in LADDER if each > scope), default=None)
    return wider, max((each for each in LADDER if each < scope), default=None)


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
