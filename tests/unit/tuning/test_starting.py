"""How long executors take to start is learned from raises, and planned for in the next one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.tuning.contexts import context
from tests.unit.tuning.test_decision import START, memory, overloaded, policy, snapshot

from trimtab.api.reasons import Action, Reason
from trimtab.tuning.capacity.load import capacity_load, predict
from trimtab.tuning.controller_state import ControllerState, Trial
from trimtab.tuning.trials.life import close
from trimtab.tuning.trials.outcome import Outcome

SHORT = replace(START, trigger_s=5.0)
MORE = replace(SHORT, executors=4)


def trial(**changes: float) -> Trial:
    raised = Trial("parallelism", 1, START, 940.0, True, 280.0, 2.0, 0.8)
    return replace(raised, **changes)


def test_what_is_left_undone_while_executors_start_is_part_of_what_they_must_carry() -> None:
    now = context(settings=SHORT, start_s=45.0)
    carried = 1 / capacity_load(now.model, now.policy, SHORT, 1.0)
    undone, in_flight_s = now.load.input_rate - carried, 5.0 + now.load.duration_s
    assert undone > 0
    assert 5.0 < now.load.duration_s < 40
    owed = replace(now.load, demand=now.load.demand + undone * (45 - in_flight_s) / 90)
    assert now.predicted(MORE) == pytest.approx(predict(now.model, now.policy, MORE, owed))
    assert now.predicted(MORE) > context(settings=SHORT).predicted(MORE)


def test_what_starts_while_input_is_in_flight_anyway_owes_nothing() -> None:
    quick = context(settings=SHORT, start_s=10.0)
    assert quick.predicted(MORE) == context(settings=SHORT).predicted(MORE)


def test_no_debt_where_no_executor_has_to_start_or_all_is_carried() -> None:
    slow, prompt = context(settings=SHORT, start_s=45.0), context(settings=SHORT)
    longer = replace(SHORT, trigger_s=10.0)
    assert slow.predicted(longer) == prompt.predicted(longer)
    light = context(settings=SHORT, load=20.0, start_s=45.0)
    assert light.predicted(MORE) == context(settings=SHORT, load=20.0).predicted(MORE)
    most = context(settings=SHORT, start_s=45.0, asked=policy(target_s=None, maximum=True))
    same = context(settings=SHORT, asked=policy(target_s=None, maximum=True))
    assert most.predicted(MORE) == same.predicted(MORE)


def known_after(watched: Trial, start_s: float = 0.0, executors: int = 3) -> float:
    raised = memory(settings=replace(START, executors=executors), trial=watched, start_s=start_s)
    end = Outcome(Action.KEEP, Reason.TRIAL_KEPT, "", raised.settings)
    after = close(snapshot(overloaded(), raised), raised, end, None, 0.0)[1]
    kept = ControllerState.from_dict(after.to_dict())
    assert kept.start_s == after.start_s
    return kept.start_s


def test_the_last_raises_count_most() -> None:
    assert known_after(trial(missing_at_s=1000.0, settled=3)) == 60
    assert known_after(trial(missing_at_s=960.0, judged=1), 60.0) == 40
    assert known_after(trial(settled=1), 40.0) == 20, "none was seen to be missing"


def test_executors_that_never_ran_and_changes_without_more_of_them_tell_nothing() -> None:
    assert known_after(trial(missing_at_s=1600.0), 30.0) == 30
    assert known_after(trial(missing_at_s=1000.0, settled=1), 30.0, executors=1) == 30
