"""The recommendation that waits for approval, and what became of those before it. Pure."""

from __future__ import annotations

from trimtab.api.common import timestamp
from trimtab.api.v1alpha1.status import AdviceRecordStatus, RecommendationStatus
from trimtab.reconcile.status.conditions import Situation
from trimtab.reconcile.status.cost import HOUR_S, price
from trimtab.settings import FREE
from trimtab.tuning.controller_state import ControllerState


def recommendation(situation: Situation) -> RecommendationStatus | None:
    """What waits for approval; None if nothing does."""
    memory, policy = situation.memory, situation.policy
    standing = memory.recommendation
    if standing is None or policy is None:
        return None
    now, then = (policy.executor_cores(each) for each in (memory.settings, standing.settings))
    return RecommendationStatus(
        generation=standing.generation,
        since=timestamp(standing.since_s),
        changes=list(memory.settings.differences(standing.settings))[:8],
        load=f"{standing.load:.2f}",
        predicted_load=f"{standing.predicted:.2f}",
        cores=f"{now} -> {then}",
        cost=_cost(situation, (now, then), memory.settings.cores or policy.cores),
    )


def _cost(situation: Situation, slots: tuple[int, int], of_one: int) -> str | None:
    """What the executors cost now and then; a slot keeps its share of their CPU and memory."""
    if situation.pricing == FREE:
        return None
    one = situation.executor
    hour = price(situation.pricing, one.cores * HOUR_S, one.size * HOUR_S)
    now, then = (f"{hour * each / of_one:.4g}" for each in slots)
    return f"{now} -> {then} an hour"


def record(memory: ControllerState) -> AdviceRecordStatus | None:
    """How good the recommendations were; None before there was one."""
    kept = memory.advice_record
    if not kept.given:
        return None
    return AdviceRecordStatus(
        given=kept.given,
        approved=kept.approved,
        asked=kept.asked,
        held_advised=kept.held_advised,
        held_as_run=kept.held_as_run,
    )
