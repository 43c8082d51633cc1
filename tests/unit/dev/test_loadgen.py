"""The load generator's arithmetic: what is due when, and what was lost or came twice."""

from __future__ import annotations

import pytest
from dev.loadgen.ages import ages
from dev.loadgen.produce import cut, due, parse_schedule
from dev.loadgen.records import Tally, identity, value

RUN = "0A1B2C3D"


def test_what_is_due_follows_the_steps() -> None:
    schedule = parse_schedule("10:5,20:100")
    assert [due(schedule, s) for s in (0, 1, 10, 10.5, 30, 99)] == [0, 5, 50, 100, 2050, 2050]


@pytest.mark.parametrize("text", ["0:5", "10:-1", "10", "99999999:1", "10:9999999"])
def test_a_schedule_beyond_the_limits_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_schedule(text)


def test_cutting_ends_the_step_under_way_and_takes_nothing_back() -> None:
    schedule = parse_schedule("10:5,300:100,20:1")
    shorter = cut(schedule, 14.5)
    assert shorter == [(10, 5), (4.5, 100), (20, 1)]
    assert due(shorter, 14.5) == due(schedule, 14.5) == 500
    assert cut(shorter, 14.5 + 3)[2] == (3, 1)
    assert cut(schedule, 5)[0] == (5, 5)
    assert cut(schedule, 1000) == schedule


def test_a_tally_tells_lost_from_duplicated() -> None:
    tally = Tally(RUN, 4)
    for sequence in (0, 1, 1):
        tally.add(value(RUN, sequence, 40))
    tally.add(value("FFFFFFFF", 2, 40))
    tally.add(b"something else")
    verdict = tally.verdict(unacknowledged=frozenset({3}))
    assert (verdict.produced, verdict.delivered) == (3, 2)
    assert (verdict.lost, verdict.duplicated, verdict.foreign) == (1, 1, 2)
    assert not verdict.exact


def test_an_identity_survives_upper_casing() -> None:
    assert identity(value(RUN, 7, 40).upper()) == (RUN, 7)
    assert identity(None) is None
    assert identity(b"seen: " + value(RUN, 7, 40)) == (RUN, 7)


def test_the_age_of_a_record_is_from_its_input_to_its_output() -> None:
    sent = [(n, 1_000_000 + 100 * n) for n in range(200)]
    written = [(n, at + n) for n, at in sent]
    found = ages(sent, [*written, (999, 5)], skip_s=10)
    assert found["records"] == 100
    assert (found["p50_ms"], found["p95_ms"], found["p100_ms"]) == (149, 194, 199)
    assert found["windows"] == [[10, 194]]
    assert ages([], [], 0)["p95_ms"] is None
