"""Cores: task slots of each executor, by a driver restart, once there may be no more executors.

The most disruptive knob: all executors go and new ones come. A slot keeps its share of CPU and
memory, so an executor of more slots is a larger pod, and no cheaper one. It is not released by
itself: fewer executors cost less without a pause, and a person may lower `limits.executorCores`.
"""

from __future__ import annotations

from dataclasses import replace

from trimtab.api.knobs import EXECUTOR_CORES, EXECUTORS, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.policy import Policy

NAME = "cores"
SETTINGS = (EXECUTOR_CORES.name, EXECUTORS.name)
MOVES = frozenset({Kind.CPU, Kind.CONCURRENCY, Kind.BATCH_OVERHEAD, Kind.FETCH})

WORTH = 0.9
"""Cores that do not reach the goal are taken only if they bring the load down by 10 %."""


def raise_(context: Context) -> Proposal | None:
    """The fewest cores, then executors, that hold the goal; else the most if they clearly help.

    None while there may be more executors, and while only the age of one batch speaks for it.
    """
    policy = context.policy
    reached = context.settings.executors >= policy.max_executors
    if policy.max_cores is None or not reached or context.late is not None:
        return None
    best: Proposal | None = None
    for cores in range(policy.slots_per_executor + 1, policy.max_cores + 1):
        wider = policy.at_cores(cores)
        if wider.max_executors * cores <= context.slots:
            continue
        offer = _offer(context, wider, wider.max_executors)
        if offer.predicted <= context.band.higher and not policy.maximum:
            return _fewest(context, wider)
        best = offer if best is None or offer.predicted < best.predicted else best
    helps = best is not None and best.predicted < WORTH * context.load.value
    return best if helps else None


def to_allow(context: Context, kind: Kind) -> str:
    """What a person may allow where there may be neither more executors nor larger ones."""
    policy, now = context.policy, context.settings
    ended = now.executors >= policy.max_executors and policy.widest <= context.slots
    if kind not in MOVES or not ended:
        return ""
    return "; limits.executors allows no more of them, nor limits.executorCores larger ones"


def _fewest(context: Context, wider: Policy) -> Proposal:
    """The fewest executors of a width that is enough that hold the goal."""
    counts = range(wider.min_executors, wider.max_executors + 1)
    offers = (_offer(context, wider, executors) for executors in counts)
    return next(offer for offer in offers if offer.predicted <= context.band.higher)


def _offer(context: Context, wider: Policy, executors: int) -> Proposal:
    settings = replace(context.settings, cores=wider.slots_per_executor, executors=executors)
    there = replace(context, snapshot=replace(context.snapshot, policy=wider))
    return there.offer(NAME, How.DRIVER, settings, Reason.CORES_RAISED, raises=True)
