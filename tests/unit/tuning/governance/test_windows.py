"""Windows open and close by the clock on the wall, over changes of that clock too."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.unit.tuning.governance.policies import namespaced, of_cluster

from trimtab.api.schedule import check_cron, check_zone, opening
from trimtab.tuning.governance.rules import rules
from trimtab.tuning.governance.windows import closed

BERLIN = "Europe/Berlin"


def at(text: str, zone: str = BERLIN, *, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


@pytest.mark.parametrize(
    ("now_s", "open_", "until_s"),
    [
        (at("2026-11-25T01:59"), False, at("2026-11-25T02:00")),
        (at("2026-11-25T02:00"), True, at("2026-11-25T03:00")),
        (at("2026-11-25T02:59"), True, at("2026-11-25T03:00")),
        (at("2026-11-25T03:00"), False, at("2026-11-26T02:00")),
        # 02:00 does not exist on that day: the window opens behind the gap
        (at("2026-03-29T01:59"), False, at("2026-03-29T03:00")),
        (at("2026-03-29T03:30"), True, at("2026-03-29T04:00")),
        # 02:00 comes twice: the window opens once, for an hour
        (at("2026-10-25T02:30"), True, at("2026-10-25T02:00", fold=1)),
        (at("2026-10-25T02:30", fold=1), False, at("2026-10-26T02:00")),
    ],
)
def test_a_window_is_right_over_changes_of_the_clock(
    now_s: float, open_: bool, until_s: float
) -> None:
    found = opening("0 2 * * *", 3600.0, BERLIN, now_s)
    assert (found.open, found.until_s) == (open_, until_s)


def test_a_window_that_began_before_the_hour_came_again_is_open() -> None:
    assert opening("*/20 * * * *", 3600.0, BERLIN, at("2026-10-25T02:15", fold=1)).open


@pytest.mark.parametrize("text", ["0 25 * * *", "* * *", "@daily", "0 0 31 2 *", ""])
def test_what_is_no_cron_expression_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="is no cron expression"):
        check_cron(text)


@pytest.mark.parametrize("name", ["Europe/Berlln", "CEST", "../etc/passwd", ""])
def test_what_is_no_time_zone_is_refused_in_words(name: str) -> None:
    with pytest.raises(ValueError, match="there is no time zone"):
        check_zone(name)


NIGHT: dict[str, Any] = {"windows": [{"start": "0 2 * * *", "duration": "2h", "timeZone": BERLIN}]}
WEEKEND: dict[str, Any] = {
    "windows": [{"start": "0 0 * * SAT,SUN", "duration": "24h", "timeZone": BERLIN}]
}


def test_without_windows_changes_are_always_allowed() -> None:
    assert not closed(rules([namespaced()]), at("2026-11-25T12:00")).message
    assert not closed(rules([namespaced(**NIGHT)]), at("2026-11-25T03:00")).message


def test_a_closed_window_says_whose_it_is_and_when_it_opens() -> None:
    found = closed(rules([namespaced(**NIGHT)]), at("2026-11-25T12:00"))
    assert (found.message, found.raises) == (
        "no window of TuningPolicy/team is open; the next opens at 2026-11-26 02:00 Europe/Berlin",
        False,
    )


def test_one_open_window_of_a_policy_is_enough_but_all_policies_count() -> None:
    both = namespaced(windows=NIGHT["windows"] + WEEKEND["windows"])
    saturday_noon, saturday_night = at("2026-11-28T12:00"), at("2026-11-28T03:00")
    assert not closed(rules([both]), saturday_noon).message
    apart = rules([namespaced(**NIGHT), of_cluster(**WEEKEND)])
    assert "TuningPolicy/team" in closed(apart, saturday_noon).message
    assert not closed(apart, saturday_night).message


def test_the_strictest_closed_policy_counts() -> None:
    noon = at("2026-11-25T12:00")
    lenient = namespaced(**NIGHT, outsideWindows="Raises")
    found = closed(rules([lenient]), noon)
    assert found.raises
    assert found.message.endswith("until then only raises are allowed")
    assert not closed(rules([lenient, of_cluster(**WEEKEND)]), noon).raises
