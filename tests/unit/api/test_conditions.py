"""Conditions keep their transition time until their status changes."""

from __future__ import annotations

from typing import Literal

from trimtab.api.common import Condition, get_condition, set_condition, timestamp


def condition(
    status: Literal["True", "False", "Unknown"], at: float, type_: str = "Ready", reason: str = "R"
) -> Condition:
    return Condition(
        type=type_, status=status, reason=reason, last_transition_time=timestamp(at)
    )  # fmt: skip


def test_the_time_stays_while_the_status_does() -> None:
    known = set_condition((), condition("True", 0))
    known = set_condition(known, condition("True", 60, reason="Other"))
    assert known == (condition("True", 0, reason="Other"),)


def test_the_time_moves_with_the_status() -> None:
    known = set_condition((condition("True", 0),), condition("False", 60))
    known = set_condition(known, condition("Unknown", 120))
    assert known == (condition("Unknown", 120),)


def test_the_others_keep_their_places() -> None:
    before = (condition("True", 0, "A"), condition("True", 0, "B"))
    after = set_condition(before, condition("False", 9, "A"))
    assert [(c.type, c.status) for c in after] == [("A", "False"), ("B", "True")]
    assert [c.type for c in set_condition(before, condition("True", 9, "C"))] == ["A", "B", "C"]


def test_a_condition_is_found_by_its_type() -> None:
    assert get_condition((condition("True", 0, "A"),), "B") is None
    assert get_condition((condition("True", 0, "A"),), "A") == condition("True", 0, "A")


def test_times_are_written_as_kubernetes_does() -> None:
    assert timestamp(0) == "1970-01-01T00:00:00Z"
