"""How long executors take to start is learned from raises, and planned for in the next one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, memory, overloaded, policy, signals, snapshot

from trimtab.tuning.capacity.load import capacity_load, predict
from trimtab.tuning.controller_state import ControllerState, Trial
from trimtab.tuning.trials.trial import observe

SHORT = replace(START, trigger_s=5.0)
MORE = replace(SHORT, executors=4)


def trial(**changes: float) -> Trial:
    raised = Trial("parallelism", 1, START, 940.0, True, 280.0, 2.0, 0.8)
    return replace(raised, **changes)


def test_what_is_left_undone_while_executors_start_is_part_of_what_they_must_carry() -> None:
    now = context(settings=SHORT, start_s=45.0)
    carried = 1 / capacity_load(now.model, now.policy, SHORT, 1.0)
    undone = now.load.input_rate - carried
    assert undone > 0
    owed = replace(now.load, demand=now.load.demand + undone * 45 / 90)
    assert now.predicted(MORE) == pytest.approx(predict(now.model, now.policy, MORE, owed))
    assert now.predicted(MORE) > context(settings=SHORT).predicted(MORE)


def test_no_debt_where_no_executor_has_to_start_or_all_is_carried() -> None:
    slow, prompt = context(settings=SHORT, start_s=45.0), context(settings=SHORT)
    longer = replace(SHORT, trigger_s=10.0)
    assert slow.predicted(longer) == prompt.predicted(longer)
    light = context(settings=SHORT, load=20.0, start_s=45.0)
    assert light.predicted(MORE) == context(settings=SHORT, load=20.0).predicted(MORE)
    most = context(settings=SHORT, start_s=45.0, asked=policy(target_s=None, maximum=True))
    same = context(settings=SHORT, asked=policy(target_s=None, maximum=True))
    assert most.predicted(MORE) == same.predicted(MORE)


def test_a_raise_notes_when_all_its_executors_run() -> None:
    held = memory(settings=replace(START, executors=3))
    some = snapshot(overloaded(executors_running=2, executors_pending=1), held)
    every = snapshot(overloaded(executors_running=3, executors_pending=0), held)
    assert observe(trial(), some).started_at_s == 0
    seen = observe(trial(), every)
    assert seen.started_at_s == 1000.0
    later = replace(every, now_s=1010.0)
    assert observe(seen, later).started_at_s == 1000.0, "the first time counts"


def test_a_change_without_more_executors_has_nothing_to_note() -> None:
    seen = snapshot(signals(), memory())
    assert observe(trial(), seen).started_at_s == 0


def test_the_last_raises_count_most() -> None:
    first = memory().started(trial(started_at_s=1000.0))
    assert first.start_s == 60
    second = first.started(trial(started_at_s=960.0))
    assert second.start_s == 40
    assert second.started(trial()).start_s == 40
    assert ControllerState.from_dict(second.to_dict()).start_s == 40
