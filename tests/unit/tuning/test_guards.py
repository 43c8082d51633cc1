"""Every guard vetoes what it is there for, with its reason, and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.contexts import context, proposal
from tests.unit.tuning.test_decision import START, batch, overloaded, policy, signals

from trimtab.api.knobs import How
from trimtab.api.reasons import Reason
from trimtab.tuning import guards
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.controller_state import Verdict
from trimtab.tuning.dwell import DwellCounter
from trimtab.tuning.governance.windows import Closed
from trimtab.tuning.law import decide
from trimtab.tuning.recurrence import Recurrence
from trimtab.tuning.snapshot import ExternalConstraints

MORE = proposal()
FOUR = replace(START, executors=4)
FEWER = proposal(raises=False, executors=3)
QUERY = proposal(how=How.QUERY, trigger_s=5.0)
GROWN = proposal(topic_partitions=24)
BROKEN_CLOCK = batch(committed_at_s=1100.0)


def around(**changes: Any) -> Context:
    allowed = policy(max_topic_partitions=24)
    return context(asked=allowed, constraints=ExternalConstraints(**changes))


VETOED: dict[Reason, tuple[Context, Proposal]] = {
    Reason.OUT_OF_LIMITS: (context(), proposal(executors=6)),
    Reason.PINNED: (context(asked=policy(pinned={"executors": 1.0})), MORE),
    Reason.LOCKED: (context(asked=policy(locked=frozenset({"executors"}))), MORE),
    Reason.OVER_BUDGET: (around(budget_executors=1), MORE),
    Reason.TOO_MANY_PAUSES: (
        context(asked=policy(pauses_per_hour=2), paused_at_s=(100.0, 900.0)), QUERY),
    Reason.WINDOW_CLOSED: (around(closed=Closed("changes begin at 22:00")), MORE),
    Reason.TOO_MANY_CHANGES: (around(others_changing="3 are, 3 may be"), MORE),
    Reason.METRICS_CONTRADICT: (context(seen={"batch": BROKEN_CLOCK}), MORE),
    Reason.PODS_PENDING: (context(seen={"executors_pending": 2}), MORE),
    Reason.KAFKA_REBALANCING: (context(seen={"out_of_sync": 3}), QUERY),
    Reason.TOPIC_FIXED: (around(topic_fixed="others read it too"), GROWN),
    Reason.RECENT_PEAK: (context(settings=FOUR, recurrence=Recurrence(900.0, 970.0)), FEWER),
    Reason.BATCH_WITHOUT_END: (context(seen={"running_s": 301.0}), MORE),
    Reason.FAILED_BEFORE: (
        context(verdicts=(Verdict("parallelism", True, 2, 280.0, 9e9, 2),)), MORE),
}  # fmt: skip

SPARED: dict[Reason, tuple[Context, Proposal]] = {
    Reason.OUT_OF_LIMITS: (context(), proposal(executors=5)),
    Reason.PINNED: (context(asked=policy(pinned={"trigger": 10.0})), MORE),
    Reason.LOCKED: (context(asked=policy(locked=frozenset({"trigger"}))), MORE),
    Reason.OVER_BUDGET: (around(budget_executors=3), MORE),
    Reason.TOO_MANY_PAUSES: (
        context(asked=policy(pauses_per_hour=2), paused_at_s=(-3000.0, 900.0)), QUERY),
    Reason.WINDOW_CLOSED: (around(closed=Closed("closed", raises=True)), MORE),
    Reason.TOO_MANY_CHANGES: (around(), MORE),
    Reason.METRICS_CONTRADICT: (context(seen={"batch": batch(committed_at_s=1050.0)}), MORE),
    Reason.PODS_PENDING: (context(seen={"executors_pending": 2}), QUERY),
    Reason.KAFKA_REBALANCING: (context(seen={"out_of_sync": 3}), MORE),
    Reason.TOPIC_FIXED: (around(topic_fixed="others read it too"), MORE),
    Reason.RECENT_PEAK: (context(settings=FOUR, recurrence=Recurrence(280.0)), FEWER),
    Reason.BATCH_WITHOUT_END: (context(seen={"running_s": 299.0}), MORE),
    Reason.FAILED_BEFORE: (
        context(verdicts=(Verdict("parallelism", True, 2, 280.0, 900.0, 1),)), MORE),
}  # fmt: skip


@pytest.mark.parametrize("reason", VETOED)
def test_a_guard_vetoes_with_its_reason(reason: Reason) -> None:
    chosen, veto = guards.first_allowed(VETOED[reason][0], [VETOED[reason][1]])
    assert chosen is None
    assert veto is not None
    assert (veto.reason, veto.message != "") == (reason, True)


@pytest.mark.parametrize("reason", SPARED)
def test_a_guard_spares_what_is_none_of_its_business(reason: Reason) -> None:
    assert guards.first_allowed(SPARED[reason][0], [SPARED[reason][1]]) == (SPARED[reason][1], None)


def test_every_guard_has_its_case() -> None:
    budget = {Reason.OVER_BUDGET}  # cut, not vetoed, as long as something is left
    assert VETOED.keys() == SPARED.keys() >= budget
    assert len(guards.CHAIN) == len(VETOED.keys() - budget)


def test_the_first_guard_that_objects_is_told_and_the_next_proposal_tried() -> None:
    pinned = context(asked=policy(pinned={"executors": 1.0}), paused_at_s=())
    chosen, veto = guards.first_allowed(pinned, [MORE, QUERY])
    assert chosen == QUERY
    assert veto is not None
    assert veto.reason is Reason.PINNED


def test_executors_that_run_already_are_not_taken_by_a_smaller_budget() -> None:
    """The budget says what may be added; what to give back is not decided by a veto."""
    tight = around(budget_executors=0)
    fewer = proposal(executors=1, raises=False)
    assert guards.first_allowed(tight, [fewer]) == (fewer, None)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"input_rate": -1.0}, "the input rate is -1"),
        ({"lag_records": math.nan}, "the lag is nan"),
        ({"batch": batch(duration_s=2.0, overhead_s=9.0)}, "of which 9.0 s outside the work"),
        ({"batch": BROKEN_CLOCK}, "101 s after the sample"),
    ],
)
def test_what_cannot_be_true_is_told(wrong: dict[str, Any], words: str) -> None:
    assert words in guards.contradiction(signals(**wrong))


def test_a_veto_is_the_decision() -> None:
    """The whole way: a pipeline that is Over, and a closed window."""
    held = context(
        evidence=DwellCounter(over=1), constraints=ExternalConstraints(closed=Closed("closed"))
    )
    over = replace(held.snapshot, signals=overloaded())
    decision, after = decide(over, held.memory)
    assert (decision.reason, decision.message) == (Reason.WINDOW_CLOSED, "closed")
    assert after.settings == held.settings
