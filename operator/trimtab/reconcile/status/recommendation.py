"""The recommendation that waits for approval, and what became of those before it. Pure."""

from __future__ import annotations

from trimtab.api.common import timestamp
from trimtab.api.v1alpha1.status import AdviceRecordStatus, RecommendationStatus
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.policy import Policy


def recommendation(memory: ControllerState, policy: Policy | None) -> RecommendationStatus | None:
    """What waits for approval; None if nothing does."""
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
    )


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
