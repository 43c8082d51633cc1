"""Locality: how far from its data a task may run, a ladder of four scopes, live.

After Storm's locality-aware grouping (seed 002): stay near while the executors of the scope can
take it, widen when their load reaches the higher bound, narrow again when the narrower scope would
be light. The measure is the executors' mean load (slots in use or waited for). Where tasks that run
away from their data are the bottleneck, the scope narrows at once; the trial tells if it helped.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import SCOPE, SCOPES, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal

NAME = "locality"
SETTINGS = (SCOPE.name,)
MOVES = frozenset({Kind.LOCALITY})

HOPED = 0.9
"""What a nearer scope is hoped to bring the load to: no model knows it before the trial."""


def raise_(context: Context) -> Proposal | None:
    """One scope nearer, where reading from afar is the bottleneck."""
    scope = context.settings.scope
    if not scope or context.policy.locality is None:
        return None
    return _proposal(context, scope - 1, HOPED * context.load.value)


def release(context: Context) -> Proposal | None:
    """None: a scope costs nothing that could be given back."""
    del context
    return None


def drift(context: Context) -> Proposal | None:
    """One scope wider where the executors are loaded, one narrower where they are light."""
    scope, signals = context.settings.scope, context.snapshot.signals
    load = signals.executor_load if signals else None
    bounds = context.policy.locality
    if scope is None or load is None or bounds is None or _inert(context):
        return None
    if load >= bounds.higher and scope < len(SCOPES) - 1:
        return _proposal(context, scope + 1, context.load.value)
    if load < bounds.lower and scope > 0:
        return _proposal(context, scope - 1, context.load.value)
    return None


def _inert(context: Context) -> bool:
    """Whether no task has an executor that it prefers: those of cut partitions have none."""
    signals = context.snapshot.signals
    return context.model.tasks > ((signals.partitions if signals else None) or context.model.tasks)


def _proposal(context: Context, scope: int, predicted: float) -> Proposal:
    now = context.settings.scope or 0
    return Proposal(
        knob=NAME,
        how=How.LIVE,
        settings=replace(context.settings, scope=scope),
        predicted=predicted,
        raises=True,
        reason=Reason.SCOPE_NARROWED if scope < now else Reason.SCOPE_WIDENED,
    )
