"""A knob is one class and one line of the registry: nothing else in the law knows it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.unit.tuning.test_decision import batch, memory, overloaded, policy, signals, snapshot

from trimtab.api.knobs import How
from trimtab.api.knobs import Knob as Value
from trimtab.api.reasons import Action, BottleneckKind, Reason
from trimtab.tuning import knobs
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.context import Context, Proposal, Veto
from trimtab.tuning.controller_state import ControllerState, Trial
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.dwell import DwellCounter
from trimtab.tuning.knobs.knob import Knob
from trimtab.tuning.law import decide
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Snapshot
from trimtab.tuning.trials.comparison import Comparison

MOST = 4.0
LEVEL = Value("toy.level", How.QUERY, 1, 1, 8, "")


def level(settings: Settings) -> float:
    return (settings.others or {}).get(LEVEL.name, LEVEL.default)


class Toy(Knob):
    """It says that each level makes the work ten times as fast."""

    name = "toy"
    values = (LEVEL,)
    moves = frozenset({BottleneckKind.CONCURRENCY})
    how = How.QUERY

    def clamp(self, policy: Policy, settings: Settings) -> Settings:
        wanted = policy.pinned.get(LEVEL.name, level(settings))
        return replace(settings, others={LEVEL.name: min(wanted, MOST)})

    def excess(self, policy: Policy, settings: Settings) -> str:
        del policy
        return "the level is above its limit" if level(settings) > MOST else ""

    def veto(self, context: Context) -> Veto | None:
        locked = "toy" in context.policy.locked
        return Veto(Reason.LOCKED, "somebody plays with it") if locked else None

    def raise_(self, context: Context) -> Proposal | None:
        settings = replace(context.settings, others={LEVEL.name: level(context.settings) + 1})
        faster = replace(context, model=context.model.slowed(0.1))
        return faster.offer(self.name, self.how, settings, Reason.PRODUCER_CHANGED, raises=True)

    def waits(self, trial: Trial, snapshot: Snapshot) -> str:
        del trial
        return "" if snapshot.now_s > 1100.0 else "the toy is being wound up"

    def helped(self, seen: Comparison) -> tuple[bool, str]:
        return seen.times_rate > 2, f"; rate × {seen.times_rate:.1f}"

    def put_back(self, before: Settings, now: Settings) -> tuple[Settings, str]:
        del now
        return before, "as if nobody had played"

    def cause(self, context: Context, proposal: Proposal, bottleneck: Bottleneck) -> str:
        del context, proposal, bottleneck
        return "time to play"


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knobs, "LADDER", (*knobs.LADDER, Toy()))


def at(toy: float) -> ControllerState:
    """The most executors that there may be, at a level of the toy."""
    settings = Settings(5, 5.0, 2500, others={LEVEL.name: toy})
    return memory(settings=settings, evidence=DwellCounter(over=1), points=POINTS)


POINTS = (Point(5, 250, 0.1, 2.4), Point(5, 2500, 0.1, 22.9))
FIXED = {"executors": 5.0}
ASKED = policy(target_s=None, rate=280.0, pinned=FIXED)


def seen() -> Snapshot:
    now = overloaded(
        batch=batch(records=2500, duration_s=22.9, executors_min=5), executors_running=5
    )
    return snapshot(now, at(1), ASKED)


def test_it_is_offered_named_in_words_and_put_on_trial() -> None:
    decision, after = decide(seen(), at(1))
    assert decision.action is Action.CHANGE
    assert decision.message.startswith("time to play; load ")
    assert decision.changes == ("toy.level 1 -> 2",)
    assert after.trial is not None
    assert (after.trial.knob, level(after.settings)) == ("toy", 2)
    assert ControllerState.from_dict(json.loads(json.dumps(after.to_dict()))) == after


def test_it_is_clamped_guarded_and_pinned() -> None:
    decision, after = decide(seen(), at(9))
    assert (decision.reason, level(after.settings)) == (Reason.CLAMPED, MOST)
    for asked, reason in (
        (replace(ASKED, pinned=FIXED | {LEVEL.name: 1.0}), Reason.PINNED),
        (replace(ASKED, locked=frozenset({"toy"})), Reason.LOCKED),
    ):
        held, _ = decide(replace(seen(), policy=asked), at(1))
        assert (held.action, held.reason) == (Action.HOLD, reason)
    held, _ = decide(replace(seen(), settings=at(MOST).settings), at(MOST))
    assert held.reason is Reason.OUT_OF_LIMITS


@pytest.mark.parametrize("kept", [True, False])
def test_its_trial_waits_is_judged_and_put_back_by_its_own_rules(*, kept: bool) -> None:
    _, opened = decide(seen(), at(1))
    now = replace(seen(), settings=opened.settings)
    duration_s, told = (5.0 if kept else 22.0), []
    for tick in range(4):
        last = batch(
            id=20 + tick, records=2500, duration_s=duration_s, settings_generation=2,
            executors_min=5,
        )  # fmt: skip
        metrics = signals(
            batch=last, settings_generation=2, executors_running=5, input_rate=280.0,
            input_rate_long=280.0, lag_records=6000.0,
        )  # fmt: skip
        now = replace(now, now_s=1100.0 + tick, signals=metrics)
        decision, opened = decide(now, opened)
        told += decision.told
    assert told[0].reason is Reason.TRIAL_OPEN
    assert "; the toy is being wound up" in told[0].message
    ended = next(d for d in told if d.action is not Action.HOLD)
    assert ended.action is (Action.KEEP if kept else Action.REVERT)
    assert "; rate ×" in ended.message
    assert ("as if nobody had played" in ended.message) is not kept
    assert level(opened.settings) == (2 if kept else 1)
