"""One decision at a time: unknown holds, guards veto, trials end, memory goes through JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.api.reasons import Action, BottleneckKind, Reason, Regime
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.controller_state import ControllerState, Trial, Verdict
from trimtab.tuning.dwell import DwellCounter
from trimtab.tuning.law import decide
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, ExternalConstraints, Signals, Snapshot
from trimtab.tuning.trials.trial import observe

START = Settings(executors=1, trigger_s=10.0, max_offsets=2500)
POINTS = (Point(1, 250, 0.1, 4.9), Point(1, 2500, 0.1, 22.9))


def policy(**changes: Any) -> Policy:
    base = Policy(
        target_s=15.0, quantile=0.95, rate=None, catch_up_s=90.0, min_executors=1,
        max_executors=5, dwell_up=2, dwell_down=4,
    )  # fmt: skip
    return replace(base, **changes)


def batch(**changes: Any) -> Batch:
    base = Batch(
        run=1, id=7, committed_at_s=990.0, records=250, duration_s=4.9, overhead_s=0.1,
        settings_generation=1, executors_min=1, since_start=9, latency_s=12.0,
    )  # fmt: skip
    return replace(base, **changes)


def signals(**changes: Any) -> Signals:
    base = Signals(
        sampled_at_s=999.0, settings_generation=1, rejected_generation=0, batch=batch(),
        input_rate=25.0, input_rate_long=25.0, lag_records=200.0, partitions=12,
        executors_running=1, executors_pending=0, slots_busy=0.5, cpu_ratio=None, gc_ratio=0.01,
    )  # fmt: skip
    return replace(base, **changes)


def snapshot(
    seen: Signals | None, memory: ControllerState, asked: Policy | None = None
) -> Snapshot:
    return Snapshot(1000.0, asked or policy(), memory.settings, seen, "" if seen else "down")


def memory(**changes: Any) -> ControllerState:
    return replace(ControllerState(generation=1, settings=START, points=POINTS), **changes)


def overloaded(**changes: Any) -> Signals:
    base = signals(batch=batch(records=2500, duration_s=22.9), input_rate=280.0,
                   input_rate_long=280.0, lag_records=6000.0)  # fmt: skip
    return replace(base, **changes)


AT_THE_EDGE = DwellCounter(over=1)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (None, Reason.NO_METRICS),
        (signals(batch=None), Reason.NO_BATCH_YET),
        (signals(settings_generation=0), Reason.NOT_APPLIED_YET),
        (signals(lag_records=None), Reason.LOAD_UNKNOWN),
        (signals(input_rate=None, input_rate_long=None), Reason.LOAD_UNKNOWN),
    ],
)
def test_what_is_unknown_holds(seen: Signals | None, reason: Reason) -> None:
    before = memory(evidence=DwellCounter(over=5))
    decision, after = decide(snapshot(seen, before), before)
    assert (decision.action, decision.reason) == (Action.HOLD, reason)
    assert after.settings == before.settings
    assert after.generation == before.generation


def test_a_trigger_that_holds_records_back_is_shortened_not_paid_with_executors() -> None:
    before = memory(evidence=AT_THE_EDGE)
    decision, after = decide(snapshot(signals(), before), before)
    assert decision.reason is Reason.TRIGGER_SHORTENED
    assert decision.bottleneck.kind is BottleneckKind.ADMISSION_LIMIT
    assert after.settings == Settings(1, 5.0, 2500)
    assert after.trial is not None
    assert after.generation == 2


def test_overload_raises_executors_to_the_fewest_that_hold() -> None:
    before = memory(evidence=AT_THE_EDGE, settings=replace(START, trigger_s=5.0))
    asked = policy(max_executors=8)
    decision, after = decide(snapshot(overloaded(partitions=64), before, asked), before)
    assert decision.reason is Reason.EXECUTORS_RAISED
    assert after.settings.executors == 5
    assert "executors 1 -> 5" in decision.message


@pytest.mark.parametrize(("partitions", "executors"), [(12, 4), (13, 5), (10, 5), (64, 5), (5, 5)])
def test_an_executor_that_saves_no_wave_is_not_asked_for(partitions: int, executors: int) -> None:
    """Twelve tasks take three waves on five slots, as on four, and four are within the bound."""
    before = memory(evidence=AT_THE_EDGE, settings=replace(START, trigger_s=5.0))
    seen = overloaded(partitions=partitions)
    _, after = decide(snapshot(seen, before, policy(max_executors=8)), before)
    assert after.settings.executors == executors


@pytest.mark.parametrize(("learned", "raised_to"), [((1,), 5), ((1, 8), 5), ((1, 4), 4)])
def test_a_raise_beyond_what_is_learned_stays_clear_of_the_bound(
    learned: tuple[int, ...], raised_to: int
) -> None:
    """Four carry the 380/s at a load of 0.76, if each carries 125/s: known only if it was seen."""
    points = tuple(Point(p, 1000 * p, 0.0, 8.0) for p in learned)
    before = memory(
        evidence=AT_THE_EDGE, points=points, settings=replace(START, max_offsets=10_000)
    )
    asked = policy(target_s=None, rate=380.0, max_executors=8)
    seen = overloaded(
        batch=batch(records=1000, duration_s=8.0, overhead_s=0.0), partitions=64, input_rate=380.0,
        input_rate_long=380.0,
    )  # fmt: skip
    _, after = decide(snapshot(seen, before, asked), before)
    assert after.settings.executors == raised_to


def test_dwell_counts_new_evidence_only() -> None:
    before = memory(settings=replace(START, trigger_s=5.0))
    seen = overloaded()
    first, after = decide(snapshot(seen, before), before)
    again, later = decide(snapshot(seen, after), after)
    assert first.reason is again.reason is Reason.DWELLING
    assert later.evidence.over == 1
    moved, _ = decide(snapshot(replace(seen, sampled_at_s=1004.0), later), later)
    assert moved.action is Action.CHANGE


def test_recommend_says_and_does_not_move() -> None:
    before = memory(evidence=AT_THE_EDGE, settings=replace(START, trigger_s=5.0))
    asked = policy(mode=Mode.RECOMMEND)
    decision, after = decide(snapshot(overloaded(), before, asked), before)
    assert decision.action is Action.RECOMMEND
    assert decision.settings.executors == 4
    assert after.settings == before.settings
    assert not decision.moves


def test_observe_only_says_it_in_words() -> None:
    before = memory(evidence=AT_THE_EDGE, settings=replace(START, trigger_s=5.0))
    decision, after = decide(snapshot(overloaded(), before, policy(mode=Mode.OBSERVE)), before)
    assert (decision.action, decision.reason) == (Action.HOLD, Reason.OBSERVE_ONLY)
    assert after.generation == before.generation


def test_a_pinned_knob_is_not_touched() -> None:
    before = memory(evidence=AT_THE_EDGE, settings=replace(START, trigger_s=5.0))
    asked = policy(pinned={"executors": 1.0, "trigger": 5.0})
    decision, after = decide(snapshot(overloaded(), before, asked), before)
    assert decision.reason is Reason.PINNED
    assert after.settings == before.settings


def test_new_limits_clamp_at_once_and_that_is_a_decision() -> None:
    before = memory(settings=replace(START, executors=5))
    decision, after = decide(snapshot(signals(), before, policy(max_executors=3)), before)
    assert (decision.action, decision.reason) == (Action.CHANGE, Reason.CLAMPED)
    assert after.settings.executors == 3
    assert after.generation == 2


def test_a_failed_change_is_not_repeated_at_that_load() -> None:
    verdict = Verdict("parallelism", True, 3, 280.0, until_s=1500.0)
    before = memory(evidence=AT_THE_EDGE, settings=Settings(1, 10.0, 2500), verdicts=(verdict,))
    seen = overloaded()
    decision, _ = decide(snapshot(seen, before), before)
    assert decision.reason is Reason.FAILED_BEFORE
    later, _ = decide(replace(snapshot(seen, before), now_s=1600.0), before)
    assert later.action is Action.CHANGE
    at_another_trigger = replace(verdict, before=Settings(1, 30.0, 2500))
    before = replace(before, verdicts=(at_another_trigger,))
    moved, _ = decide(snapshot(seen, before), before)
    assert moved.action is Action.CHANGE


def test_a_draining_backlog_is_left_alone() -> None:
    before = memory(settings=Settings(4, 5.0, 2500), evidence=DwellCounter(over=5))
    seen = overloaded(
        batch=batch(records=2500, duration_s=5.8, executors_min=4), executors_running=4,
        lag_records=9000.0,
    )  # fmt: skip
    decision, after = decide(snapshot(seen, before), before)
    assert decision.reason is Reason.CATCHING_UP
    assert after.regime is Regime.CATCHING_UP
    assert after.evidence == DwellCounter()


def open_trial(**changes: Any) -> Trial:
    base = Trial(
        knob="parallelism", generation=2, before=replace(START, trigger_s=5.0),
        opened_at_s=960.0, raises=True, input_rate=280.0, load_before=5.2, predicted_load=0.69,
    )  # fmt: skip
    return replace(base, **changes)


def on_trial(trial: Trial, executors: int = 4) -> ControllerState:
    settings = Settings(executors, 5.0, 2500)
    return memory(generation=trial.generation, settings=settings, trial=trial)


def after_change(executors: int, duration_s: float, **changes: Any) -> Signals:
    seen = batch(
        id=20, records=1400, duration_s=duration_s, executors_min=executors, settings_generation=2
    )
    base = signals(batch=seen, settings_generation=2, executors_running=executors)
    return replace(base, input_rate=280.0, input_rate_long=280.0, lag_records=1500.0, **changes)


def test_nothing_else_moves_while_a_trial_is_open() -> None:
    before = on_trial(open_trial())
    decision, after = decide(snapshot(after_change(4, 60.0), before), before)
    assert decision.reason is Reason.TRIAL_OPEN
    assert after.settings == before.settings


def test_a_change_that_helped_is_kept() -> None:
    before = on_trial(open_trial(settled=3, judged=1, batch="1/19"))
    decision, after = decide(snapshot(after_change(4, 3.6), before), before)
    assert (decision.action, decision.reason) == (Action.KEEP, Reason.TRIAL_KEPT)
    assert after.trial is None
    assert after.settings.executors == 4


def test_what_outgrew_a_raise_under_trial_is_answered_in_the_same_tick() -> None:
    """The end of the trial is told first, then the change that follows it."""
    asked = policy(max_executors=20, dwell_up=1)
    before = replace(on_trial(open_trial(input_rate=100.0), executors=2), evidence=AT_THE_EDGE)
    seen = replace(after_change(2, 6.0), lag_records=9000.0, partitions=64)
    decision, after = decide(snapshot(seen, before, asked), before)
    assert [d.action for d in decision.told] == [Action.UNPROVEN, Action.CHANGE]
    assert "the load went from 100 to 280" in decision.told[0].message
    assert after.settings.executors > 2
    assert after.trial is not None
    assert (after.trial.generation, after.generation) == (3, 3)


@pytest.mark.parametrize(("duration_s", "judged"), [(25.0, 1), (6.0, 0)])
def test_executors_are_warm_after_three_batches_or_twenty_seconds(
    duration_s: float, judged: int
) -> None:
    before = on_trial(open_trial(settled=1, settled_s=duration_s, batch="1/19"))
    _, after = decide(snapshot(after_change(4, 3.6), before), before)
    assert after.trial is not None
    assert after.trial.judged == judged
    assert after.trial.settled == 2 - judged


@pytest.mark.parametrize(
    ("knob", "executors_before", "duration_s", "judged"),
    [
        ("max-in-flight", 1, 25.0, 1),
        ("max-in-flight", 1, 6.0, 0),
        ("parallelism", 2, 25.0, 0),  # fewer executors: tasks may wait for those that went
    ],
)
def test_a_batch_of_twenty_seconds_counts_at_once_where_no_executors_start_or_go(
    knob: str, executors_before: int, duration_s: float, judged: int
) -> None:
    before = replace(START, executors=executors_before, trigger_s=5.0)
    opened = open_trial(knob=knob, before=before, raises=executors_before == 1)
    watched = observe(opened, snapshot(after_change(1, duration_s), on_trial(opened, 1)))
    assert (watched.settled, watched.judged) == (1 - judged, judged)


@pytest.mark.parametrize(("running", "settled"), [(2, 0), (4, 1)])
def test_batches_of_a_split_count_once_its_executors_run_and_are_warm(
    running: int, settled: int
) -> None:
    opened = open_trial(knob="split")
    watched = observe(opened, snapshot(after_change(running, 25.0), on_trial(opened)))
    assert (watched.settled, watched.judged) == (settled, 0)


def test_where_batches_are_uneven_the_same_two_refute_no_raise() -> None:
    """Three executors took 10 s for such batches, and four take 10.5 s."""
    before = replace(
        on_trial(open_trial(before=Settings(3, 5.0, 2500), settled=3, judged=1, batch="1/19")),
        points=(Point(3, 1400, 0.3, 10.0, batches=5),),
    )
    seen = snapshot(after_change(4, 10.5), before)
    assert decide(seen, before)[0].reason is Reason.TRIAL_NO_GAIN
    decision, _ = decide(seen, replace(before, slow_batch=1.5))
    closing = decision.closed or decision
    assert closing.reason is Reason.TRIAL_KEPT


def test_a_change_that_did_not_help_is_put_back_and_remembered() -> None:
    before = on_trial(open_trial(settled=3, judged=1, batch="1/19"))
    before = replace(before, surprise=3.0, unproven=1)  # the first batch that counts was as slow
    decision, after = decide(snapshot(after_change(4, 13.0), before), before)
    assert (decision.action, decision.reason) == (Action.REVERT, Reason.TRIAL_NO_GAIN)
    assert after.settings.executors == 1
    assert after.generation == 3
    assert after.verdicts[0].knob == "parallelism"
    assert after.score.trials == 1
    assert after.score.kept == 0


@pytest.mark.parametrize(("input_rate", "action"), [(280.0, Action.KEEP), (340.0, Action.REVERT)])
def test_a_load_that_came_down_as_predicted_is_a_help_whatever_was_carried_before(
    input_rate: float, action: Action
) -> None:
    """What is known of the settings before may be of far smaller batches."""
    trial = open_trial(settled=3, judged=1, batch="1/19", input_rate=input_rate, predicted_load=4.5)
    before = replace(on_trial(trial), surprise=3.0, unproven=1)
    decision, _ = decide(snapshot(after_change(4, 13.0), before), before)
    assert decision.action is action, decision.message


def test_one_slow_batch_decides_no_trial() -> None:
    """The other one that counts was as fast as predicted: the slow one may be a pause."""
    before = on_trial(open_trial(settled=3, judged=1, batch="1/19"))
    decision, after = decide(snapshot(after_change(4, 13.0), before), before)
    assert decision.action is Action.KEEP
    assert after.surprise > 1


def test_replayed_and_timed_batches_and_those_of_other_settings_are_not_judged() -> None:
    before = on_trial(open_trial(settled=3, judged=1, batch="1/19"))
    for changes in (
        {"replayed": True},
        {"timed": True},
        {"settings_generation": 1},
        {"executors_min": 3},
    ):
        seen = after_change(4, 13.0)
        assert seen.batch is not None
        seen = replace(seen, batch=replace(seen.batch, **changes))
        decision, after = decide(snapshot(seen, before), before)
        assert decision.reason is Reason.TRIAL_OPEN
        assert after.trial == before.trial


def test_a_refusal_by_the_driver_goes_back() -> None:
    before = on_trial(open_trial())
    seen = replace(after_change(1, 3.0), settings_generation=1, rejected_generation=2)
    decision, after = decide(snapshot(seen, before), before)
    assert decision.reason is Reason.REFUSED_BY_DRIVER
    assert after.settings == before.trial.before  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("missing", "waited_s", "given_up"),
    [("no node fits", 180, False), ("no node fits", 181, True), ("", 600, False), ("", 601, True)],
)
def test_executors_that_do_not_start_are_given_up_once_patience_ends(
    missing: str, waited_s: float, given_up: bool
) -> None:
    """One that is starting, as far as is known, is waited for longer than one without a node."""
    before = on_trial(open_trial(opened_at_s=1000.0 - waited_s))
    seen = replace(after_change(2, 3.0), executors_pending=2)
    now = replace(
        snapshot(seen, before), constraints=ExternalConstraints(executors_missing=missing)
    )
    decision, after = decide(now, before)
    assert (decision.reason is Reason.PODS_PENDING) is given_up
    assert after.settings.executors == (2 if given_up else 4)
    assert missing in decision.message or not given_up


def test_memory_goes_through_json_unchanged() -> None:
    full = on_trial(open_trial(settled=2, batch="3/4"))
    verdict = Verdict("batch-size", True, 2, 12.5, 99.0, failures=2, before=START)
    full = replace(
        full, verdicts=(verdict,), regime=Regime.OVER, evidence=DwellCounter(1, 0, "1/2", 3)
    )
    assert ControllerState.from_dict(json.loads(json.dumps(full.to_dict()))) == full


def test_memory_of_another_version_still_reads() -> None:
    data = memory().to_dict() | {"invented": 1}
    data.pop("points")
    assert ControllerState.from_dict(data).settings == START


number = st.one_of(st.none(), st.floats(0, 1e6), st.just(0.0))


@given(rate=number, lag=number, duration=st.floats(0, 1e4), records=st.integers(0, 10**7),
       executors=st.integers(0, 8), over=st.integers(0, 5))  # fmt: skip
def test_whatever_is_seen_the_limits_hold(
    rate: float | None, lag: float | None, duration: float, records: int, executors: int, over: int
) -> None:
    before = memory(evidence=DwellCounter(over=over))
    seen = signals(
        input_rate=rate, input_rate_long=rate, lag_records=lag, executors_running=executors,
        batch=batch(records=records, duration_s=duration, executors_min=executors),
    )  # fmt: skip
    decision, after = decide(snapshot(seen, before), before)
    assert 1 <= after.settings.executors <= 5
    assert decision.message
    assert ControllerState.from_dict(json.loads(json.dumps(after.to_dict()))) == after
