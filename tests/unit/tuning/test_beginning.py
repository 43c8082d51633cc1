"""Where a pipeline begins: what its goal or its calls rule out is not tried first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.tuning.test_decision import START, policy

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning import knobs
from trimtab.tuning.knobs.beginning import begun
from trimtab.tuning.policy import Policy

CALLS = replace(START, trigger_s=5.0, max_offsets=5000, max_in_flight=1)
FLOOD = policy(target_s=None, maximum=True)


@pytest.mark.parametrize(
    ("target_s", "initial_s", "begins_s"),
    [(15.0, 10.0, 10.0), (11.7, 10.0, 5.0), (5.0, 10.0, 2.0), (5.0, 4.0, 4.0), (0.1, 10.0, 0.2),
     (None, 10.0, 10.0)],
)  # fmt: skip
def test_a_pipeline_begins_at_a_trigger_that_its_goal_does_not_rule_out(
    target_s: float | None, initial_s: float, begins_s: float
) -> None:
    """Records wait 0.95 of the trigger, and 0.8 of the target is there to be used."""
    begins = begun(policy(target_s=target_s), replace(START, trigger_s=initial_s))
    assert begins == replace(START, trigger_s=begins_s)


@pytest.mark.parametrize(
    "asked", [{"mode": Mode.RECOMMEND}, {"mode": Mode.OBSERVE}, {"pinned": {"trigger": 10.0}},
              {"locked": frozenset({"trigger"})}, {"approval": frozenset({"trigger"})}],
)  # fmt: skip
def test_a_trigger_that_is_not_trimtabs_to_move_begins_as_it_was_said(
    asked: dict[str, Any],
) -> None:
    assert begun(policy(target_s=5.0, **asked), START) == START


def test_the_trigger_to_begin_with_follows_the_goal_unless_it_is_an_interval() -> None:
    """The default of 10 s is too long for 5 s; in real-time mode no record waits for it."""
    spec = pipeline(target="5s")
    assert knobs.initial_settings(spec, Policy.of(spec)).trigger_s == 2.0
    real_time = pipeline(target="5s", execution="realTime")
    assert knobs.initial_settings(real_time, Policy.of(real_time)).trigger_s == 10.0


def pipeline(target: str, execution: str = "microBatch") -> StreamPipelineSpec:
    return StreamPipelineSpec.model_validate(
        {
            "goal": {"latency": {"percentile": 95, "target": target}},
            "source": {"kafka": {"cluster": "events", "topics": ["clicks"]}},
            "transform": {"sql": "SELECT key, value FROM source"},
            "sink": {"kafka": {"cluster": "events", "topic": "counts"}},
            "limits": {"executors": {"min": 1, "max": 4}},
            "execution": execution,
        }
    )


@pytest.mark.parametrize(
    ("asked", "changes", "limit"),
    [(FLOOD, {}, 500), (FLOOD, {"executors": 3, "max_in_flight": 2}, 3000),
     (FLOOD, {"max_offsets": 300}, 300), (FLOOD, {"trigger_s": 0.0}, 100),
     (FLOOD, {"max_in_flight": None}, 5000), (policy(), {}, 5000),
     (replace(FLOOD, mode=Mode.RECOMMEND), {}, 5000),
     (replace(FLOOD, pinned={"maxOffsetsPerTrigger": 5000.0}), {}, 5000)],
    ids=["one call", "six", "small enough", "no trigger", "no calls", "latency", "recommend",
         "pinned"],
)  # fmt: skip
def test_a_flood_of_calls_begins_with_batches_of_a_trigger(
    asked: Policy, changes: dict[str, Any], limit: int
) -> None:
    """One call of 10 ms after another are 500 in five seconds; 5,000 would take 50 s."""
    assert begun(asked, replace(CALLS, **changes)).max_offsets == limit
