"""The status of the policies: whether they can be followed, and what they select."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trimtab.api.common import Condition, set_condition, timestamp
from trimtab.api.v1alpha1.policies import TuningPolicyStatus
from trimtab.ports import Manifest
from trimtab.reconcile.contained import contained
from trimtab.reconcile.observe.observation import Observation
from trimtab.reconcile.observe.policies import Policies, Seen
from trimtab.reconcile.tick import TickContext

READY = "Ready"


def report(policies: Policies, pipelines: Sequence[Observation], tick: TickContext) -> None:
    """Write what became of each policy, where that is news."""
    for seen in policies.seen:
        with contained(seen.manifest):
            _report(seen, pipelines, tick)


def _report(seen: Seen, pipelines: Sequence[Observation], tick: TickContext) -> None:
    old = TuningPolicyStatus.model_validate(seen.manifest.get("status") or {})
    new = status(seen, old, pipelines, tick.now_s)
    if new == old or not tick.writer.status(seen.manifest, _plain(new)):
        return
    ready = new.conditions[0]
    if ready.status == "False" and (not old.conditions or old.conditions[0] != ready):
        tick.writer.event(seen.manifest, warning=True, reason=ready.reason, message=ready.message)


def _plain(new: TuningPolicyStatus) -> Manifest:
    return new.model_dump(mode="json", by_alias=True)


def status(
    seen: Seen, old: TuningPolicyStatus, pipelines: Iterable[Observation], now_s: float
) -> TuningPolicyStatus:
    """The status of one policy."""
    selected = [each for each in pipelines if seen.selects(each.parent)]
    ready, reason, message = _verdict(seen, selected)
    generation = seen.manifest["metadata"].get("generation", 0)
    condition = Condition(
        type=READY,
        status="True" if ready else "False",
        reason=reason,
        message=message[:1024],
        observed_generation=generation,
        last_transition_time=timestamp(now_s),
    )
    return TuningPolicyStatus(
        observed_generation=generation,
        conditions=set_condition(old.conditions, condition),
        pipelines=len(selected),
        cores=sum(_cores(each) for each in selected),
    )


def _verdict(seen: Seen, selected: Sequence[Observation]) -> tuple[bool, str, str]:
    if seen.wrong:
        words = f"nothing is changed in what it selects until it is mended: {seen.wrong}"
        return False, "InvalidSpec", words
    fights = {
        fight.message: None
        for each in selected
        for fight in each.rules.fights
        if seen.layer in fight.layers
    }
    if fights:
        return False, "PolicyConflict", "; ".join(fights)
    over = _over(seen, selected)
    return (False, "OverBudget", over) if over else (True, "Accepted", "")


def _over(seen: Seen, selected: Sequence[Observation]) -> str:
    """Whether the minimums alone are more than the budget."""
    budget = seen.layer.spec.budget
    least = sum(
        each.policy.min_executors * each.policy.cores for each in selected if not each.spec.suspend
    )
    if budget.cores is None or least <= budget.cores:
        return ""
    return (
        f"the minimums of its pipelines are {least} cores, the budget is {budget.cores}: raise it,"
        " or lower limits.executors.min of some"
    )


def _cores(seen: Observation) -> int:
    if seen.memory is None or seen.spec.suspend:
        return 0
    return seen.policy.executor_cores(seen.memory.in_force)
