"""Once the work or a service has another pace, what was learned before is brought to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.test_decision import batch, memory, signals, snapshot

from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.epochs import pace_of_calls
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.controller_state import ControllerState, FastestCall, Trial, Verdict

KNOWN = (
    Point(1, 500, 0.1, 4.1, batches=5),
    Point(1, 1000, 0.1, 8.1, batches=5),
    Point(4, 1000, 0.1, 2.1, batches=5),
)
VERDICT = Verdict("parallelism", True, 4, 280.0, 9e9)


def taught(
    held: ControllerState, *durations_s: float, records: int = 1000, first: int = 100
) -> ControllerState:
    for number, duration_s in enumerate(durations_s):
        one = batch(id=first + number, records=records, duration_s=duration_s, overhead_s=0.1)
        held = learning.observe(snapshot(signals(batch=one), held), held, one)
    return held


def seconds(held: ControllerState) -> dict[tuple[float, int], float]:
    return {(p.slots, p.records): p.duration_s for p in held.points}


@pytest.mark.parametrize(("slowdown", "factor"), [(2.0, 2.0), (1.0, 1.0)])
def test_a_slow_batch_that_follows_a_late_one_is_about_the_pace(
    slowdown: float, factor: float
) -> None:
    """Two slots were never seen. Alone it may show how they scale; after a late batch at one slot
    it shows that all work is slower, and that no pause made that one late."""
    before = memory(points=KNOWN).settings
    trial = Trial("parallelism", 1, before, 0.0, True, 280.0, 2.0, 0.8, slowdown, judged=1)
    held = memory(points=KNOWN, settings=replace(before, executors=2), trial=trial,
                  surprise=slowdown, unproven=1)  # fmt: skip
    one = batch(id=300, records=1000, duration_s=8.1, overhead_s=0.1, executors_min=2)
    held = learning.observe(snapshot(signals(batch=one, executors_running=2), held), held, one)
    assert seconds(held)[4, 1000] == pytest.approx(0.1 + 2.0 * factor, rel=0.05)
    assert held.trial is not None
    assert held.trial.slowdown == 1.0, "the points have it now"


@pytest.mark.parametrize(("took_s", "factor", "batches"), [(16.1, 2.0, 2), (4.1, 0.5, 6)])
def test_surprises_in_a_row_bring_all_points_to_the_new_pace(
    took_s: float, factor: float, batches: int
) -> None:
    """To believe in a faster pace by mistake breaks the goal; in a slower one, it costs."""
    told = memory(points=KNOWN, verdicts=(VERDICT,))
    early = taught(told, *[took_s] * (batches - 1))
    assert (seconds(early), early.verdicts) == (seconds(told), (VERDICT,))
    held = taught(told, *[took_s] * batches)
    for point in KNOWN:
        expected = point.out_s + factor * (point.duration_s - point.out_s)
        assert seconds(held)[point.slots, point.records] == pytest.approx(expected, rel=0.02)
    assert held.verdicts == ()
    assert (held.surprise, held.unproven) == (0, 0)


@pytest.mark.parametrize(("other", "more"), [("trigger_s", 1), ("executors", 5)])
def test_a_change_on_trial_explains_a_faster_pace(other: str, more: int) -> None:
    """Two batches are enough then. Another number of executors explains nothing."""
    held = memory(points=KNOWN)
    before = replace(held.settings, **{other: 4})
    trial = Trial("parallelism", held.generation, before, 0.0, True, 280.0, 2.0, 0.8, judged=1)
    assert taught(replace(held, trial=trial), 4.1).unproven == more


@pytest.mark.parametrize("others", [(16.1,), (16.1, 8.1), (16.1, 8.1, 16.1), (16.1, 4.1)])
def test_one_surprise_is_not_believed(others: tuple[float, ...]) -> None:
    held = taught(memory(points=KNOWN, verdicts=(VERDICT,)), *others)
    assert seconds(held)[4, 1000] == 2.1
    assert held.verdicts == (VERDICT,)


def test_a_larger_batch_than_all_says_nothing_of_the_pace() -> None:
    """It may lie past a knee: it is learned, and the others stay."""
    held = taught(memory(points=KNOWN), 40.0, 40.0, records=2000)
    assert seconds(held) == {(p.slots, p.records): p.duration_s for p in KNOWN} | {(1, 2000): 40.0}


@pytest.mark.parametrize(
    ("first_s", "larger_s", "paced"),
    [(16.1, 32.1, True), (8.1, 32.1, False), (13.0, 36.0, False)],
)
def test_a_larger_batch_after_a_slow_one_of_a_known_size_confirms_the_pace(
    first_s: float, larger_s: float, *, paced: bool
) -> None:
    """Batches grow while they are slow, so no second one comes of a known size. One that is slow by
    far more may lie past a knee."""
    held = taught(taught(memory(points=KNOWN), first_s), larger_s, records=2000, first=200)
    assert seconds(held)[4, 1000] == pytest.approx(4.1 if paced else 2.1, rel=0.02)
    assert not held.surprise_alike


@pytest.mark.parametrize(("other", "rate"), [("executors", 50.0), ("trigger_s", 100.0)])
def test_a_slower_pace_slows_what_was_before_the_trial_too(other: str, rate: float) -> None:
    """Else more executors seem to carry less. A change of how slots work may be why they are
    slower, so that what was before it stays."""
    held = memory(points=KNOWN)
    before = replace(held.settings, **{other: 4})
    trial = Trial("parallelism", held.generation, before, 0.0, True, 280.0, 2.0, 0.8, judged=1,
                  rate_before=100.0)  # fmt: skip
    after = taught(replace(held, trial=trial), 16.1, 16.1).trial
    assert after is not None
    assert after.rate_before == pytest.approx(rate, rel=0.02)


def test_more_executors_than_ever_that_carry_less_slow_nothing_before_the_trial() -> None:
    """Slow batches at slots never seen show what these carry, not the pace. Were what was before
    the trial slowed too, it would look as if more executors had helped; and were verdicts dropped,
    they would be tried again and again."""
    failed = Verdict("parallelism", True, 1, 280.0)
    held = memory(points=tuple(p for p in KNOWN if p.slots == 1), verdicts=(failed,))
    before = held.settings
    trial = Trial("parallelism", held.generation, before, 0.0, True, 280.0, 2.0, 0.8, judged=1,
                  rate_before=100.0)  # fmt: skip
    held = replace(held, settings=replace(before, executors=2), trial=trial)
    for number in range(2):
        one = batch(id=200 + number, records=1000, duration_s=16.1, overhead_s=0.1,
                    committed_at_s=90.0, executors_min=2)  # fmt: skip
        held = learning.observe(snapshot(signals(batch=one, executors_running=2), held), held, one)
    assert seconds(held)[2, 1000] == 16.1
    assert held.trial is not None
    assert held.trial.rate_before == 100.0
    assert held.verdicts == (failed,)


def test_a_size_between_the_known_ones_shows_the_pace() -> None:
    held = taught(memory(points=KNOWN), 12.1, 12.1, records=750)
    assert seconds(held)[4, 1000] == pytest.approx(4.1, rel=0.02)


@pytest.mark.parametrize(("took_s", "back"), [(2.1, True), (3.5, False)])
def test_a_pace_that_was_none_is_taken_back_at_other_slots_too(
    took_s: float, *, back: bool
) -> None:
    """Two slow batches at one slot made those at four twice as slow: 1000 records take 4.1 s. Fewer
    slots cannot do it in 2.1 s, if that is true."""
    slowed = taught(memory(points=KNOWN), 16.1, 16.1)
    assert seconds(slowed)[4, 1000] == pytest.approx(4.1, rel=0.02)
    held = replace(slowed, settings=replace(slowed.settings, executors=2))
    for number in range(6):
        one = batch(id=200 + number, records=1000, duration_s=took_s, overhead_s=0.1,
                    committed_at_s=90.0, executors_min=2)  # fmt: skip
        seen = snapshot(signals(batch=one, executors_running=2), held)
        held = learning.observe(seen, held, one)
    assert seconds(held)[4, 1000] == pytest.approx(2.1 if back else 4.1, rel=0.03)


@pytest.mark.parametrize(
    ("seconds_", "calls", "pace"),
    [
        (0.10, 36.0, 2.5),
        (0.10, 80.0, 1.0),
        (0.05, 32.0, 1.0),
        (0.02, 32.0, 0.5),
        (0.02, 8.0, 1.0),
    ],
    ids=["slower", "crowded by more calls", "noise", "faster", "relieved by fewer calls"],
)
def test_as_many_calls_that_take_another_time_show_the_pace_of_a_service(
    seconds_: float, calls: float, pace: float
) -> None:
    found = pace_of_calls(FastestCall(0.04, 32.0), FastestCall(seconds_, calls))
    assert found == pytest.approx(pace)


def test_a_slower_service_makes_waiting_longer_and_nothing_else() -> None:
    """1,000 records wait 5 s of 8 for a call of 20 ms, 4 at once; now a call takes 40 ms."""
    waits = Point(1, 1000, 0.0, 8.0, in_flight=4, call_s=0.02, batches=5)
    held = memory(points=(waits,), fastest=FastestCall(0.02, 4.0, 900.0))
    one = batch(since_start=1)
    seen = signals(batch=one, pending_call_s=0.04, pending_calls=4.0)
    held = learning.observe(snapshot(seen, held), held, one)
    (point,) = held.points
    assert (point.duration_s, point.call_s) == (13.0, 0.04)
    assert held.fastest == FastestCall(0.04, 4.0, 1000.0)


def test_calls_of_a_batch_at_older_settings_say_nothing_of_the_pace() -> None:
    """They were not as many as are under way now."""
    waits = Point(1, 1000, 0.0, 8.0, in_flight=4, call_s=0.02, batches=5)
    held = memory(points=(waits,), fastest=FastestCall(0.02, 4.0, 900.0), generation=2)
    one = batch(since_start=1, settings_generation=1)
    seen = signals(batch=one, pending_call_s=0.04, pending_calls=4.0)
    held = learning.observe(snapshot(seen, held), held, one)
    assert held.points == (waits,)


@pytest.mark.parametrize(("age_s", "calls"), [(1799.0, 2.0), (1800.0, 8.0)])
def test_a_fastest_call_that_is_old_is_looked_for_anew(age_s: float, calls: float) -> None:
    """Eight calls at once are slower than two, so it is not told from a slower service."""
    held = memory(fastest=FastestCall(0.02, 2.0, 1000.0 - age_s))
    one = batch(since_start=1)
    seen = signals(batch=one, pending_call_s=0.03, pending_calls=8.0)
    held = learning.observe(snapshot(seen, held), held, one)
    assert held.fastest is not None
    assert held.fastest.calls == calls
