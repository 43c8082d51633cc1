"""The verdicts on rows whose figures are made up."""

from __future__ import annotations

from typing import Any

import pytest
from bench.control import OURS
from bench.report import page
from bench.results import SHIPPED, Curve, Results
from bench.steps import Case
from bench.verdicts import DS2, DS2_NAIVE, Verdict, judged, points, undominated, verdicts

FACTS = {
    "command": "c", "commit": "0000000", "wall_s": 1, "workers": 2, "budget": 12, "weight": 10,
    "tuned_on": ["step"], "tuning_seeds": [101], "seeds": [1, 2], "chosen": {OURS: "as shipped"},
}  # fmt: skip


def row(label: str = OURS, seed: int = 1, workload: str = "step", **changes: Any) -> dict[str, Any]:
    return {
        "workload": workload, "label": label, "seed": seed, "noise": "white", "steps": 2,
        "reversals": 0, "slo_violation_s": 10, "violating": 0.002, "lag_area": 1000,
        "core_hours": 11.0, "oracle_core_hours": 10.0, "oracle_h1_core_hours": 8.0,
        "decision_ms": 0.1, "hours": 1.5, "cost": 1.4, "rises": [], **changes,
    }  # fmt: skip


def rise(**changes: Any) -> dict[str, Any]:
    return {
        "known": False, "detect_s": 20, "settle_s": 60, "recover_s": 40, "detect_limit_s": 30,
        "settle_limit_s": 75, **changes,
    }  # fmt: skip


def results(*rows: dict[str, Any], **changes: Any) -> Results:
    return Results(FACTS, rows=list(rows), **changes)


def verdict(found: Results, words: str, label: str = OURS) -> Verdict:
    return next(v for v in judged(found) if words in v.target and v.label == label)


@pytest.mark.parametrize(
    ("late", "hours", "met"), [(14, 10.5, True), (13, 10.5, False), (14, 10.4, False)]
)
def test_flink_is_beaten_by_violation_at_its_core_hours(late: int, hours: float, met: bool) -> None:
    flink = row("flink", slo_violation_s=late + 0.3, core_hours=hours)
    found = results(row(slo_violation_s=10, core_hours=11), flink)
    assert verdict(found, "SLO-violation seconds").met is met


def test_without_flink_nothing_is_claimed() -> None:
    assert [v.met for v in verdicts(results(row())) if "Flink" in v.target] == [None] * 3


@pytest.mark.parametrize(
    ("changes", "met"),
    [
        ({}, True),
        ({"core_hours": 14.1}, False),
        ({"violating": 0.016}, False),
        ({"violating": 0.011}, True),
        ({"violating": 0.011, "workload": "squares"}, False),
    ],
)
def test_the_oracle_asks_for_cost_and_for_the_goal(changes: dict[str, Any], met: bool) -> None:
    cheap = [row(seed=seed, core_hours=10) for seed in range(2, 9)]
    found = results(*cheap, row(**{"workload": "gap", **changes}))
    assert verdict(found, "oracle").met is met


def test_the_points_that_are_left_are_those_of_its_front() -> None:
    keda = [row(f"keda {n}", slo_violation_s=late, core_hours=hours)
            for n, late, hours in (("a", 0, 20), ("b", 12, 12), ("c", 30, 25))]  # fmt: skip
    ours = [row("trimtab x", slo_violation_s=10, core_hours=11)]
    found = results(row(), fronts={"keda": keda, OURS: ours})
    theirs = points(found, "keda", ["step"])
    assert theirs["keda b"] == (12, 12)
    assert undominated({"x": (11, 10)}, theirs) == ["keda a"]
    assert verdict(found, "KEDA", f"{OURS}, its grid").met is False
    ours.append(row("trimtab y", slo_violation_s=0, core_hours=19))
    assert verdict(found, "KEDA", f"{OURS}, its grid").met
    assert "| keda | `a` | 20.0 | 0.0 | yes |" in page(found, "control")


def test_reversals_count_at_constant_loads_only() -> None:
    held = results(row(reversals=3), row(workload="constant"))
    turned = results(row(workload="bound-lower", reversals=1))
    assert verdict(held, "reversal").met
    assert verdict(turned, "reversal").met is False
    assert verdict(results(row()), "reversal").met is None


def test_the_reaction_is_held_against_its_limits() -> None:
    known = rise(known=True, settle_s=41, settle_limit_s=40)
    blind = rise(detect_limit_s=None, settle_limit_s=None, detect_s=500)
    found = results(row(rises=[rise(), known, blind]))
    assert verdict(found, "detect a rise").met
    assert verdict(found, "new curve").met
    assert verdict(found, "known curve").met is False
    assert "41 s where 40 s" in verdict(found, "known curve").figure


def curve(label: str, *steps: int, right: int = 9) -> Curve:
    cases = tuple(Case(1, 1, tuple(range(9 - n, 9)), (right,), right == 9) for n in steps)
    return Curve(label, "as shipped", 1.0, cases)


@pytest.mark.parametrize(("ours", "met"), [((1, 2), True), ((1, 3), False), ((2, 2), False)])
def test_t3_is_held_against_the_best_ds2_that_leaves_the_overhead_out(
    ours: tuple[int, ...], met: bool
) -> None:
    others = [curve(DS2, 5, 5), curve(DS2 + ", 30 s", 2, 2), curve(DS2_NAIVE, 1, 1)]
    found = results(row(), curves=[curve(OURS, *ours), *others])
    assert verdict(found, "T3").met is met


def test_few_steps_to_nowhere_do_not_count() -> None:
    found = results(row(), curves=[curve(OURS, 1, 1, right=5), curve(DS2, 2, 2)])
    assert verdict(found, "T3").met is False


def test_the_page_names_what_did_not_run_and_where_we_lose() -> None:
    rows = [row(label, seed, cost=1.3 if label == "ds2" else 1.4)
            for label in (OURS, OURS + SHIPPED, "ds2", "oracle") for seed in (1, 2)]  # fmt: skip
    found = results(*rows, skipped={"flink": "no Java"}, errors=["gap, keda, seed 3: it broke"])
    text = page(found, "control")
    assert "**Did not run:** `flink`: no Java." in text
    assert "**1 runs failed**, the first: gap, keda, seed 3: it broke" in text
    losses = text.split("### Where a peer is better than ours")[1].split("##")[0]
    assert "| step | ds2 |" in losses
    assert "oracle" not in losses
    assert "![" not in text


def test_each_noise_has_its_own_verdicts_and_its_part_of_the_page() -> None:
    found = results(row(), row("ds2", cost=1.5), row(noise="rough"), row("ds2", noise="rough"))
    said = {v.noise: v.met for v in judged(found) if "every tuned peer" in v.target}
    assert said == {"white": True, "rough": False}
    text = page(found, "control")
    assert "## With 5 % of white noise" in text
    assert "| **trimtab** | 10 | 1.38 | 2 | 0.0 | – | 10 | 1.38 | 2 | 0.0 | – |" in text


@pytest.mark.parametrize(("cost", "met"), [(1.44, True), (1.46, False)])
def test_what_ships_has_a_score_to_reach_with_even_batches(cost: float, met: bool) -> None:
    found = results(row(), row(OURS + SHIPPED, cost=cost), row(OURS + SHIPPED, noise="rough"))
    judgements = [v for v in judged(found) if "as shipped is below" in v.target]
    assert [v.met for v in judgements] == [met]


@pytest.mark.parametrize(("fresh", "met"), [(11.3, True), (11.4, False)])
def test_loads_that_nobody_has_tuned_for_may_cost_three_percent_more(
    fresh: float, met: bool
) -> None:
    held_out = [row(workload="held-out-1", core_hours=fresh), row("ds2", cost=1.5)]
    found = results(row(), row("ds2"), held_out=held_out)
    found.facts = {**found.facts, "held_out": 7}
    assert verdict(found, "<= 1.03 of the workloads'").met is met
    assert verdict(found, "held-out loads: ").met is True
    text = page(found, "control")
    assert "Seed 7, two runs each." in text
    assert "| **trimtab** | 1.400 |" in text
