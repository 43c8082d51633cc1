"""Cores: task slots per executor, changed by a driver restart once executors reach their limit.

The most disruptive knob: it replaces all executors. A slot keeps its share of CPU and memory, so an
executor with more slots is a larger pod and not a cheaper one. It is never released automatically:
fewer executors cost less without a pause, and a user may lower `limits.executorCores`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from trimtab.api.knobs import EXECUTOR_CORES, EXECUTORS, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.trials.comparison import Comparison, more_capacity

WORTH = 0.9
"""Cores that do not reach the goal are used only if they reduce the load by 10 %."""


class Cores(Knob):
    """The task slots of each executor."""

    name = "cores"
    values = (EXECUTOR_CORES, EXECUTORS)
    moves = frozenset({Kind.CPU, Kind.CONCURRENCY, Kind.BATCH_OVERHEAD})
    how: ClassVar[How] = How.DRIVER
    fallback: ClassVar[bool] = True
    starts_executors: ClassVar[bool] = True

    def clamp(self, policy: Policy, settings: Settings) -> Settings:
        """At most the limit; None if that does not exceed the spec's cores."""
        return replace(settings, cores=policy.wider(settings.cores))

    def excess(self, policy: Policy, settings: Settings) -> str:
        """More cores than the limit allows."""
        cores = settings.cores
        if cores is None or cores <= (policy.max_cores or 0):
            return ""
        return f"{cores} cores are more than limits.executorCores allows"

    def raise_(self, context: Context) -> Proposal | None:
        """The fewest cores, then executors, that meet the goal; else the most if they clearly help.

        None while more executors are allowed, or while a late batch is the only evidence.
        """
        policy = context.policy
        reached = context.settings.executors >= context.executor_range[1]
        if policy.max_cores is None or not reached or context.late is not None:
            return None
        best: Proposal | None = None
        for cores in range(context.capacity.cores + 1, policy.max_cores + 1):
            _, most = policy.executors_of(cores)
            if most * cores <= context.slots:
                continue
            offer = _offer(context, cores, most)
            if offer.predicted <= context.band.higher and not policy.maximum:
                return _fewest(context, cores)
            best = offer if best is None or offer.predicted < best.predicted else best
        helps = best is not None and best.predicted < WORTH * context.load.value
        return best if helps else None

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        """Judge by capacity: more slots should raise it."""
        return more_capacity(seen)


KNOB = Cores()


def to_allow(context: Context, kind: Kind) -> str:
    """Which limits a user could raise if neither more nor larger executors are allowed."""
    policy, capacity = context.policy, context.capacity
    reached = capacity.executors >= context.executor_range[1]
    ended = reached and policy.most_slots_from(capacity.cores) <= capacity.slots
    if kind not in KNOB.moves or not ended:
        return ""
    return "; limits.executors allows no more executors, limits.executorCores no larger ones"


def _fewest(context: Context, cores: int) -> Proposal:
    """The fewest executors with `cores` cores that meet the goal, given that the most do."""
    least, most = context.policy.executors_of(cores)
    offers = (_offer(context, cores, executors) for executors in range(least, most + 1))
    return next(offer for offer in offers if offer.predicted <= context.band.higher)


def _offer(context: Context, cores: int, executors: int) -> Proposal:
    settings = replace(context.settings, cores=cores, executors=executors)
    return context.offer(KNOB.name, KNOB.how, settings, Reason.CORES_RAISED, raises=True)
