"""Dhalion: each symptom, its diagnosis and its resolution, and the rest after a change."""

from __future__ import annotations

import pytest
from bench.peers.controller import Limits
from bench.peers.dhalion import Dhalion, Diagnosis, Parameters, Sensed, diagnose, resolve, symptoms
from tests.unit.bench.seen import settings, signals

CASES = [
    (Sensed(2000, 4000, 50_000), Diagnosis.UNDER_PROVISIONED, 15),
    (Sensed(2000, 0, 50_000), Diagnosis.UNDER_PROVISIONED, 20_010),
    (Sensed(2000, 4000, 500), Diagnosis.UNDER_PROVISIONED, 15),
    (Sensed(0, 4000, 500), Diagnosis.OVER_PROVISIONED, 8),
    (Sensed(1000, 4000, 50_000), None, 10),
]


@pytest.mark.parametrize(("sensed", "diagnosis", "executors"), CASES)
def test_a_symptom_leads_to_one_resolution(
    sensed: Sensed, diagnosis: Diagnosis | None, executors: int
) -> None:
    found = diagnose(symptoms(sensed, Parameters()))
    assert found is diagnosis
    if found:
        assert resolve(found, 10, sensed, Parameters()) == executors


def test_a_fifth_less_is_rounded_down_and_one_stays() -> None:
    calm = Sensed(0, 4000, 500)
    over = Diagnosis.OVER_PROVISIONED
    assert [resolve(over, n, calm, Parameters()) for n in (9, 2, 1)] == [7, 1, 1]


def test_it_rests_after_a_change() -> None:
    """The lag grows by 300/s out of 1000/s: 700/s are done, so 4 become 6."""
    peer = Dhalion(Limits(1, 20), Parameters(lag_rate_threshold=100))
    executors, moved = 4, []
    for now_s in range(15, 200, 15):
        seen = signals(now_s, input_rate=1000, lag_records=300.0 * now_s)
        wanted = peer.decide(now_s, seen, settings(executors)).executors
        if wanted != executors:
            moved.append((now_s, wanted))
        executors = wanted
    assert moved == [(30, 6), (150, 9)]
