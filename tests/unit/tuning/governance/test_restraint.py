"""A change is cut down to what policies allow; the load of what is left is predicted anew."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.tuning.contexts import context, proposal
from tests.unit.tuning.test_decision import START, policy

from trimtab.api.knobs import How
from trimtab.api.ranges import Range
from trimtab.api.reasons import Reason
from trimtab.tuning.context import Proposal, Veto
from trimtab.tuning.governance.restraint import restrained, within
from trimtab.tuning.knobs import clamp
from trimtab.tuning.snapshot import ExternalConstraints


def cut(offered: Proposal, budget: int | None = None, **ranges: Range) -> Proposal | Veto:
    allowed = ExternalConstraints(budget_executors=budget)
    asked = policy(ranges={name.replace("_", "."): value for name, value in ranges.items()})
    return restrained(context(asked=asked, constraints=allowed), offered)


def test_what_is_allowed_stays_as_it_is() -> None:
    offered = proposal(executors=3)
    assert cut(offered) is offered
    assert cut(offered, 3, executors=Range(1.0, 3.0, 2.0)) is offered


@pytest.mark.parametrize(
    ("budget", "allowed", "executors"),
    [
        (3, Range(), 3),
        (None, Range(most=2.0), 2),
        (None, Range(step=1.0), 2),
        (4, Range(most=4.0, step=2.0), 3),
    ],
)
def test_a_raise_goes_as_far_as_it_may(budget: int | None, allowed: Range, executors: int) -> None:
    found = cut(proposal(executors=5), budget, executors=allowed)
    assert isinstance(found, Proposal)
    assert found.settings.executors == executors
    assert found.predicted == context().predicted(found.settings)


@pytest.mark.parametrize(
    ("budget", "allowed", "reason", "words"),
    [
        (1, Range(), Reason.OVER_BUDGET, "leaves 1 executors, 5 are needed"),
        (None, Range(most=1.0), Reason.OUT_OF_LIMITS, "executors may be any to 1, 5 is needed"),
    ],
)
def test_what_may_not_move_at_all_is_a_veto(
    budget: int | None, allowed: Range, reason: Reason, words: str
) -> None:
    found = cut(proposal(executors=5), budget, executors=allowed)
    assert isinstance(found, Veto)
    assert found.reason is reason
    assert words in found.message


def test_a_trigger_moves_by_steps_too() -> None:
    found = cut(proposal(how=How.QUERY, trigger_s=1.0), trigger=Range(step=2.5))
    assert isinstance(found, Proposal)
    assert found.settings.trigger_s == START.trigger_s - 2.5


@pytest.mark.parametrize(
    ("ranges", "changes"),
    [
        ({"trigger": Range(most=5.0)}, {"trigger_s": 5.0}),
        ({"maxOffsetsPerTrigger": Range(least=9000.0)}, {"max_offsets": 9000}),
        ({"producer.lingerMs": Range(least=5.0)}, {}),
        ({"trigger": Range(least=1.0, most=60.0)}, {}),
    ],
)
def test_settings_are_clamped_to_what_policies_allow(
    ranges: dict[str, Range], changes: dict[str, Any]
) -> None:
    """A knob that is not set keeps its default, whatever its range."""
    asked = policy(ranges=ranges)
    expected = START.with_numbers(START.numbers())
    for field, value in changes.items():
        expected = type(expected)(**{**_fields(expected), field: value})
    assert within(asked, START) == clamp(asked, START) == expected


def _fields(settings: Any) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in settings.__dataclass_fields__}
