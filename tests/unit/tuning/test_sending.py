"""How the sink sends: three steps, each by itself, within what a person keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, batch, policy, signals

from trimtab.api.knobs import COMPRESSIONS, PRODUCER_IN_FLIGHT, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning import guards, knobs
from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.load import Load
from trimtab.tuning.capacity.points import Point, learn
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.controller_state import Trial, Verdict
from trimtab.tuning.regime import Band
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Snapshot
from trimtab.tuning.trials import judgement, trial

LZ4 = COMPRESSIONS.index("lz4")
SLOW = batch(records=2000, duration_s=10.0, overhead_s=1.0, sink_s=7.0)


def at(
    settings: Settings = START, pinned: dict[str, float] | None = None, *, sends: bool = True,
    **changes: Any,
) -> Context:  # fmt: skip
    asked = replace(policy(), sends=sends, pinned=pinned or {})
    seen = {"batch": SLOW} | changes.pop("seen", {})
    return context(asked=asked, settings=settings, seen=seen, **changes)


def offers(seen: Context) -> list[Proposal]:
    able = [group for group in knobs.LADDER if group.name.startswith("producer")]
    return [offer for group in able if (offer := group.raise_(seen))]


def test_the_steps_are_those_of_the_tuner_in_its_order() -> None:
    low = replace(START, producer_in_flight=1)
    found = offers(at(low))
    assert [o.knob for o in found] == [
        "producer-batch", "producer-in-flight", "producer-compression",
    ]  # fmt: skip
    assert [o.settings for o in found] == [
        replace(low, producer_batch=8 << 14, producer_linger_ms=5),
        replace(low, producer_in_flight=5),
        replace(low, producer_compression=LZ4),
    ]
    assert {(o.how, o.reason, o.raises) for o in found} == {
        (How.LIVE, Reason.PRODUCER_CHANGED, True)
    }
    assert all(o.settings.producer_in_flight in {1, PRODUCER_IN_FLIGHT.maximum} for o in found)


def test_nothing_is_offered_where_it_is_at_its_end_or_nothing_is_known() -> None:
    done = replace(
        START, producer_in_flight=5, producer_batch=1_000_000, producer_compression=LZ4
    )  # fmt: skip
    assert offers(at(done)) == []
    assert offers(at(seen={"batch": replace(SLOW, sink_s=None)})) == []
    assert offers(at(sends=False)) == []


def test_kafkas_own_requests_in_flight_are_all_already() -> None:
    assert [o.knob for o in offers(at())] == ["producer-batch", "producer-compression"]


def test_half_of_the_writing_is_hoped_for() -> None:
    seen = at()
    larger = offers(seen)[0]
    assert larger.predicted < seen.load.value
    model = seen.model.slowed(1 - 0.5 * 7 / 9)
    assert larger.predicted == pytest.approx(
        replace(seen, model=model).predicted(larger.settings)
    )  # fmt: skip


def test_what_a_person_pinned_stays() -> None:
    linger = at(pinned={"producer.lingerMs": 20.0})
    assert offers(linger)[0].settings.producer_linger_ms is None
    batches = at(pinned={"producer.batchSize": 16384.0})
    allowed, veto = guards.first_allowed(batches, offers(batches))
    assert allowed is not None
    assert allowed.knob == "producer-compression"
    assert veto is not None
    assert veto.reason is Reason.PINNED


def test_the_sink_asks_the_producer_and_a_step_that_failed_leads_to_the_next() -> None:
    seen = at()
    raised = [o.knob for o in knobs.raising(seen, Kind.SINK)]
    assert raised[:1] == ["producer-batch"]
    failed = Verdict(
        "producer-batch", raises=True, executors=1, input_rate=280.0, until_s=9e9, before=START
    )
    seen = at(verdicts=(failed,))
    allowed, _ = guards.first_allowed(seen, knobs.raising(seen, Kind.SINK))
    assert allowed is not None
    assert allowed.knob == "producer-compression"
    assert not [o for o in knobs.raising(seen, Kind.CPU) if o.knob.startswith("producer")]


def test_once_no_step_has_helped_alone_all_are_tried_together() -> None:
    low = replace(START, producer_in_flight=1)
    single = [
        Verdict(name, raises=True, executors=1, input_rate=280.0, until_s=9e9, before=low)
        for name in ("producer-batch", "producer-in-flight", "producer-compression")
    ]
    assert "producer" not in [o.knob for o in offers(at(low, verdicts=tuple(single[:2])))]
    seen = at(low, verdicts=tuple(single))
    allowed, _ = guards.first_allowed(seen, knobs.raising(seen, Kind.SINK))
    assert allowed is not None
    assert allowed.knob == "producer"
    assert allowed.settings == replace(
        low, producer_batch=1_000_000, producer_linger_ms=5, producer_in_flight=4,
        producer_compression=LZ4,
    )  # fmt: skip
    packed = replace(low, producer_batch=1_000_000, producer_compression=LZ4)
    assert "producer" not in [o.knob for o in offers(at(packed, verdicts=tuple(single)))]


def test_what_was_learned_before_counts_only_until_something_was_since() -> None:
    packed = replace(START, producer_compression=LZ4)
    old = Point(1, 2000, 1.0, 10.0)
    now = Snapshot(0.0, policy(), packed, signals())
    before = learning.fitted(now, (old,))
    assert before is not None
    points = learn((old,), Point(1, 2000, 1.0, 5.0, producer=packed.way))
    assert len(points) == 2, "a class of its own"
    after = learning.fitted(now, points)
    assert after is not None
    assert after.capacity(1) > 2 * before.capacity(1)
    back = learning.fitted(replace(now, settings=START), points)
    assert back == before


@pytest.mark.parametrize(
    ("value", "rate", "helped"),
    [(0.79, 100, True), (1.3, 105, False), (1.3, 111, True), (1.05, 100, True), (1.1, 100, False)],
)
def test_a_step_is_kept_where_it_relieves_or_its_batches_are_faster(
    value: float, rate: float, helped: bool
) -> None:
    """The load was 1.2 and the batches worked off 100 records/s; a backlog may raise the load."""
    watched = Trial(
        "producer-batch", 2, START, 0.0, raises=True, input_rate=100.0, load_before=1.2,
        predicted_load=0.7, judged=trial.JUDGED, rate_before=100.0, rate=float(rate),
    )  # fmt: skip
    load = Load(100.0, 100.0, 100.0, 0.0, value, None, 5.0)
    seen = at()
    end = judgement.judge(watched, seen.snapshot, seen.model, load, Band(0.8, 0.5))
    assert end is not None
    assert (end.reason is Reason.TRIAL_KEPT) is helped
