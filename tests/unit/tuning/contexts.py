"""Contexts of one decision for the tests of knobs and guards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.tuning.test_decision import START, memory, overloaded, policy

from trimtab.api.knobs import How
from trimtab.api.reasons import Reason
from trimtab.tuning import regime
from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.load import measure
from trimtab.tuning.context import Context, Proposal
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import ExternalConstraints, Signals, Snapshot


def context(
    *,
    load: float = 280.0,
    asked: Policy | None = None,
    settings: Settings = START,
    constraints: ExternalConstraints | None = None,
    seen: dict[str, Any] | None = None,
    **remembered: Any,
) -> Context:
    """What a decision is made from, at a steady input without a backlog."""
    rates = {"input_rate": load, "input_rate_long": load, "lag_records": load * 10}
    known: Signals = overloaded(**(rates | (seen or {})))
    held: ControllerState = memory(settings=settings, **remembered)
    now = Snapshot(
        1000.0, asked or policy(), settings, known, "", constraints or ExternalConstraints()
    )
    model = learning.fitted(now, held.points)
    assert model is not None
    measured = measure(now, model)
    assert measured is not None
    band = regime.band(now.policy, held, now.now_s)
    return Context(now, held, model, measured, band)


def proposal(*, raises: bool = True, how: How = How.LIVE, **changes: Any) -> Proposal:
    """A change of the start's settings, by default two more executors."""
    settings = replace(START, **(changes or {"executors": 3}))
    return Proposal("parallelism", how, settings, 0.7, raises, Reason.EXECUTORS_RAISED)
