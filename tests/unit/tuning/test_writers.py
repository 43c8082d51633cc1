"""Who writes a table or files: each task, or one for each slot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, batch, policy

from trimtab.api.knobs import SINK_WRITERS, How
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.reasons import Reason
from trimtab.tuning import guards, knobs
from trimtab.tuning.context import Context
from trimtab.tuning.controller_state import Verdict
from trimtab.tuning.knobs.writers import KNOB, SLOTS

SLOW = batch(records=2000, duration_s=10.0, overhead_s=1.0, sink_s=7.0)
BY_SLOTS = replace(START, writers=SLOTS)


def at(*, stores: bool = True, partitions: int = 12, sink_s: float | None = 7.0, settings=START,
       pinned: dict[str, float] | None = None, **changes: Any) -> Context:  # fmt: skip
    asked = replace(policy(), stores=stores, pinned=pinned or {})
    seen = {"batch": replace(SLOW, sink_s=sink_s), "partitions": partitions}
    return context(asked=asked, settings=settings, seen=seen, **changes)


def test_a_slow_table_with_more_tasks_than_slots_gets_a_writer_for_each_slot() -> None:
    seen = at()
    (first, *_) = knobs.raising(seen, Kind.SINK)
    assert (first.knob, first.how, first.reason) == ("writers", How.LIVE, Reason.WRITERS_CHANGED)
    assert first.settings == BY_SLOTS
    assert first.settings.knob_values().model_dump(by_alias=True, exclude_none=True)["sink"] == {
        "writers": "Slots"
    }
    assert first.predicted < seen.load.value
    assert seen.settings.differences(first.settings) == ("sink.writers unset -> Slots",)


def test_it_is_not_offered_where_it_could_not_help_or_nothing_is_known() -> None:
    assert KNOB.raise_(at(stores=False)) is None, "a topic has no files"
    assert KNOB.raise_(at(partitions=at().slots)) is None, "there are no more tasks than slots"
    assert KNOB.raise_(at(sink_s=None)) is None, "the time of writing is not known yet"
    assert KNOB.raise_(at(settings=BY_SLOTS)) is None, "it is so already"
    assert not [o for o in knobs.raising(at(), Kind.CPU) if o.knob == "writers"]


def test_a_pin_and_a_verdict_hold_it() -> None:
    pinned = at(pinned={SINK_WRITERS.name: 0.0})
    allowed, veto = guards.first_allowed(pinned, knobs.raising(pinned, Kind.SINK)[:1])
    assert allowed is None
    assert veto is not None
    assert veto.reason is Reason.PINNED
    failed = Verdict(
        "writers", raises=True, executors=1, input_rate=280.0, until_s=9e9, before=START
    )
    tried = at(verdicts=(failed,))
    allowed, _ = guards.first_allowed(tried, knobs.raising(tried, Kind.SINK)[:1])
    assert allowed is None


def test_batches_written_another_way_are_learned_apart() -> None:
    assert (START.way, BY_SLOTS.way) == ("", "sink.writers=1")
