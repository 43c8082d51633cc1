"""A slow Kafka behind the sink: the law moves the producer, and keeps what helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trimtab.api.reasons import Action, Reason
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.simulation.batch_time import batch_phases
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario, load_scenario
from trimtab.simulation.verifiers import verify

EXAMPLE = Path(__file__).parents[2] / "examples/scenarios/slow-kafka.yaml"


def case(producer: dict[str, Any], **more: Any) -> Scenario:
    """One executor that works off 2000 records/s of 1 kB; 600/s come in."""
    return Scenario.model_validate({
        "name": "sending", "duration": 900, "tick": 10, "partitions": 8,
        "load": {"step": [[0, 600]], "noise": 0.02},
        "plant": {"capacity": {1: 2000, 2: 4000}, "batch": {"fixed_s": 0.1, "noise": 0.03},
                  "producer": {"record_bytes": 1000} | producer},
        "goal": {"latency": {"target": 10, "catchUp": 300}},
        "limits": {"executors": {"min": 1, "max": 2}},
        "start": {"executors": 1, "trigger": 5, "maxOffsetsPerTrigger": 20000},
    } | more)  # fmt: skip


def moves(run: Run) -> list[tuple[str, Kind]]:
    told = [d for t in run.ticks for d in t.decision.told]
    return [(", ".join(d.changes), d.bottleneck.kind) for d in told if d.action is Action.CHANGE]


def ends(run: Run) -> list[Reason]:
    told = [d for t in run.ticks for d in t.decision.told]
    return [d.reason for d in told if d.action in {Action.KEEP, Action.REVERT}]


def test_a_long_round_trip_is_cured_by_larger_batches() -> None:
    """f·B/R = 5 · 16 KiB / 0.12 s = 683 records/s: too few beside the work."""
    run = simulate(case({"round_trip_s": 0.12}), 1)
    (first, *rest) = moves(run)
    changed = "producer.batchSize unset -> 131072, producer.lingerMs unset -> 5"
    assert first == (changed, Kind.SINK)
    assert rest == []
    assert ends(run) == [Reason.TRIAL_KEPT]
    assert run.ticks[-1].decision.reason is Reason.WITHIN_BOUNDS
    assert all(verify(run).values())


def test_a_broker_that_takes_no_more_bytes_gets_fewer_of_them() -> None:
    """Larger batches are tried, gain nothing and are put back; lz4 halves what is sent."""
    run = simulate(load_scenario(EXAMPLE), 1)
    assert [what for what, _ in moves(run)][:2] == [
        "producer.batchSize unset -> 131072, producer.lingerMs unset -> 5",
        "producer.compression unset -> lz4",
    ]
    assert ends(run)[:2] == [Reason.TRIAL_NO_GAIN, Reason.TRIAL_KEPT]
    last = run.final
    assert (last.producer_batch, last.producer_compression) == (None, 3)
    assert all(verify(run).values())


def test_pinned_values_are_kept() -> None:
    pinned = {"producer": {"compression": "none", "batchSize": 16384, "maxInFlight": 5}}
    run = simulate(case({"round_trip_s": 0.12}, tuning={"pinned": pinned}), 1)
    assert not [what for what, kind in moves(run) if kind is not Kind.NONE and "producer" in what]


@pytest.mark.parametrize(
    ("knobs", "seconds"),
    [({}, 10.0), ({"producer.maxInFlight": 1}, 50.0), ({"producer.batchSize": 32768}, 5.0),
     ({"producer.compression": 4}, 4.0), ({"producer.batchSize": 1_000_000}, 0.5)],
)  # fmt: skip
def test_the_plant_sends_by_littles_law(knobs: dict[str, float], seconds: float) -> None:
    """10 s · 5 · 16 KiB / 0.1 s of bytes; the broker takes twenty times that rate."""
    plant = {"record_bytes": 8192.0, "round_trip_s": 0.1, "compressed": 0.4,
             "bytes_per_s": 20 * 819_200.0}  # fmt: skip
    scenario = case(plant)
    settings = scenario.settings().with_numbers(knobs)
    assert batch_phases(scenario, settings, 1000, 1).sink == pytest.approx(seconds)
