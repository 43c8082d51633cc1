"""What the end of the demo tells: its figures, its chart, its page, and when a step ends."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from dev.demo import report
from dev.demo.drive import HIGH, LOW, Ride
from dev.demo.judge import Phase, judge, measured_capacity
from dev.demo.summary import Summary, summarize
from tests.unit.dev.demo_run import DECISIONS, GOOD, PLAN, WORK, run


def summary() -> Summary:
    samples = run()
    verdict = judge(samples, PLAN, DECISIONS, GOOD, WORK)
    return summarize(samples, verdict, measured_capacity(samples, WORK))


def test_the_figures_of_a_run() -> None:
    """205 s are seen; 70 of them are above the goal; one executor for 90 s and three for 115."""
    seen = summary()
    assert (seen.held_s, seen.missed_s) == (135.0, 70.0)
    assert seen.executor_s == 90 * 1 + 115 * 3
    assert (seen.static, seen.static_executor_s) == (3, 615.0)
    assert seen.saved_percent == pytest.approx(100 * (1 - 435 / 615))


def test_executors_that_are_on_their_way_and_those_that_still_leave_are_paid_for() -> None:
    assert replace(run()[0], executors=3, running=1).cost == 3
    assert replace(run()[0], executors=1, running=3).cost == 3


def test_the_sentences_name_what_a_newcomer_asks_for() -> None:
    held, cost, steps = summary().sentences()[:3]
    assert "held in 66 % of 205 seconds" in held
    assert "435 executor-seconds" in cost
    assert "29 % less" in cost
    assert "15 s" in steps
    assert "again after 85 s" in steps


def test_a_peak_that_comes_back_soon_is_told_apart() -> None:
    rise = summary().rises[0]
    back = replace(rise, phase=replace(rise.phase, recent_peak=180.0), broken=False)
    seen = replace(summary(), returns=(back,))
    assert "A peak that came back soon found its executors still there" in seen.sentences()[-1]
    broken = replace(seen, returns=(replace(back, broken=True),))
    assert "did not hold" in broken.sentences()[-1]
    assert len(summary().sentences()) == 3, "nothing is said where no peak came back"


def test_the_page_opens_with_the_figures_and_each_number_leads_to_its_decision(
    tmp_path: Path,
) -> None:
    samples = run()
    verdict = judge(samples, PLAN, DECISIONS, GOOD, WORK)
    report.write(tmp_path, report.Told(samples, DECISIONS, verdict, summary(), {"a": 1}))
    page = (tmp_path / "report.html").read_text()
    assert page.index("of the seconds the goal held") < page.index("<svg")
    linked = re.findall(r'xlink:href="#(d\d+)"', page)
    assert linked == ["d1", "d3"], "the changes; a verdict is no line of its own"
    assert all(f'<tr id="{name}">' in page for name in linked)
    assert "trigger 10s → 5s" in page
    assert (tmp_path / "timeline.png").stat().st_size > 10_000


def riding(until_s: float, *, trial: bool = False) -> Ride:
    samples = [replace(s, trial=trial) for s in run() if s.t <= until_s]
    told = tuple(
        {**d, "time": f"1970-01-01T00:{int(d['t']) // 60:02}:{int(d['t']) % 60:02}Z",
         "generation": number}
        for number, d in enumerate(DECISIONS)
    )  # fmt: skip
    plan = [PLAN[0]] if until_s > 60 else []
    return Ride(0.0, [replace(s, decisions=told) for s in samples], plan)


@pytest.mark.parametrize(
    ("until_s", "trial", "expected"),
    [(130.0, False, False), (180.0, False, False), (205.0, False, True), (205.0, True, False)],
)
def test_a_step_ends_once_the_goal_has_held_and_no_change_is_on_trial(
    until_s: float, trial: bool, expected: bool
) -> None:
    """The goal is met again from 170 s on, and must be so for 20 s."""
    ride = riding(until_s, trial=trial)
    ride.samples = [replace(s, p95=30.0) if 150 <= s.t < 170 else s for s in ride.samples]
    assert ride.settled(Phase(60.0, until_s + 0.1, 180.0), 120.0, WORK) is expected


def test_a_step_lasts_long_enough_to_be_seen() -> None:
    assert riding(205.0).settled(Phase(60.0, 205.1, HIGH), 145.0, WORK)
    assert not riding(205.0).settled(Phase(60.0, 205.1, HIGH), 146.0, WORK)


def test_the_first_step_waits_for_the_verdict_on_the_trigger() -> None:
    phase = Phase(-60.0, 55.1, LOW)
    assert riding(55.0).settled(phase, 90.0, WORK)
    early = riding(55.0)
    early.samples = [replace(s, decisions=s.decisions[:1]) for s in early.samples]
    assert not early.settled(phase, 90.0, WORK)
