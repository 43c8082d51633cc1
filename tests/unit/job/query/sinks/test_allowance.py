"""How many dead letters are too many, in virtual time."""

from __future__ import annotations

from trimtab.job.query.sinks.allowance import Allowance


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_batch_may_have_as_many_as_its_limit_says() -> None:
    allowance = Allowance(30, None, clock=Time())
    assert allowance.excess(30) == ""
    assert allowance.excess(31) == "31 records of a batch, more than deadLetters.maxPerBatch: 30"
    for _ in range(9):
        allowance.written(30)
    assert allowance.excess(30) == "", "without a limit for it, a minute may have any number"


def test_a_minute_may_have_as_many_as_its_limit_says() -> None:
    time = Time()
    allowance = Allowance(30, 40, clock=time)
    assert allowance.excess(30) == ""
    allowance.written(30)
    time.now = 59.9
    assert allowance.excess(10) == ""
    assert allowance.excess(11) == "41 records of a minute, more than deadLetters.maxPerMinute: 40"
    time.now = 60.0
    assert allowance.excess(11) == "", "the first are a minute old"


def test_a_batch_without_any_is_never_too_much() -> None:
    allowance = Allowance(0, 0, clock=Time())
    assert allowance.excess(0) == ""
    assert allowance.excess(1).startswith("1 record of a batch")
