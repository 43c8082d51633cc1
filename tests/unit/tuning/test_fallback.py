"""A bottleneck may be named wrongly: once its knobs are exhausted, the others are tried."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, policy

from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning import guards, knobs
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.context import Context, Proposal, Veto
from trimtab.tuning.controller_state import Verdict
from trimtab.tuning.snapshot import ExternalConstraints

PINNED = replace(policy(), pinned={"trigger": 10.0, "maxOffsetsPerTrigger": 10_000.0})


def chosen(seen: Context, kind: Kind) -> tuple[Proposal | None, Veto | None]:
    return guards.first_allowed(seen, knobs.raising(seen, kind))


@pytest.mark.parametrize(
    "kind", [Kind.ADMISSION_LIMIT, Kind.SKEW, Kind.SINK, Kind.STATE_COMMIT, Kind.LOCALITY]
)
def test_executors_are_tried_where_nothing_that_the_bottleneck_asks_for_can_move(
    kind: Kind,
) -> None:
    offer, _ = chosen(context(asked=PINNED), kind)
    assert offer is not None
    assert offer.settings == replace(START, executors=offer.settings.executors)
    assert offer.settings.executors > START.executors


def test_a_service_that_answers_no_more_is_left_alone() -> None:
    assert knobs.raising(context(asked=PINNED), Kind.REMOTE_RATE) == []


def test_a_fallback_that_failed_is_not_tried_again() -> None:
    failed = Verdict(
        "parallelism", raises=True, executors=2, input_rate=280.0, until_s=9e9, before=START
    )
    offer, veto = chosen(context(asked=PINNED, verdicts=(failed,)), Kind.SKEW)
    assert offer is None
    assert veto is not None
    assert veto.reason is Reason.FAILED_BEFORE


def test_the_knobs_of_the_bottleneck_come_first() -> None:
    offers = knobs.raising(context(), Kind.CPU)
    assert offers[0].knob == "parallelism"


def test_what_reaches_the_goal_without_executors_comes_before_them() -> None:
    """1 s of each trigger of 2 s do not grow with the records, though the slots only seem busy."""
    points = tuple(Point(1, n, 0.5, 1.0 + 0.003 * n, batches=5) for n in (100, 400, 1000))
    short = replace(START, executors=1, trigger_s=2.0)
    asked = policy(target_s=30.0)
    offers = knobs.raising(
        context(load=185.0, settings=short, points=points, asked=asked), Kind.CPU
    )
    assert [offer.knob for offer in offers][:2] == ["batch-size", "parallelism"]
    assert offers[0].settings == replace(short, trigger_s=5.0)
    pinned = replace(asked, pinned={"trigger": 2.0})
    seen = context(load=185.0, settings=short, points=points, asked=pinned)
    offer, _ = chosen(seen, Kind.CPU)
    assert offer is not None
    assert offer.knob == "parallelism"


@pytest.mark.parametrize(("missing", "other"), [("", False), ("no node fits", True)])
def test_while_executors_start_nothing_else_is_tried(missing: str, other: bool) -> None:
    """A longer trigger would help too; it is an answer only if no executor can start."""
    held = ExternalConstraints(executors_missing=missing)
    hurried = replace(START, trigger_s=2.0)
    seen = context(load=65.0, settings=hurried, seen={"executors_pending": 1}, constraints=held)
    assert [offer.knob for offer in knobs.raising(seen, Kind.CPU)] == ["parallelism", "batch-size"]
    offer, veto = chosen(seen, Kind.CPU)
    assert veto is not None
    assert veto.reason is Reason.PODS_PENDING
    assert (offer is not None) is other


def test_of_what_reaches_the_goal_the_cheapest_to_run_comes_first() -> None:
    """A longer trigger pauses the query, and costs nothing afterwards; an executor does."""
    hurried = replace(START, trigger_s=5.0)
    wide = replace(policy(), target_s=40.0)
    seen = context(load=60.0, settings=hurried, asked=wide)
    reaching = [
        offer for offer in knobs.raising(seen, Kind.BATCH_OVERHEAD)
        if offer.predicted <= seen.band.higher
    ]  # fmt: skip
    assert [offer.reason for offer in reaching][:2] == [
        Reason.TRIGGER_LENGTHENED, Reason.EXECUTORS_RAISED,
    ]  # fmt: skip
