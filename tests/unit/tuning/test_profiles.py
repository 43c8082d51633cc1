"""A profile stands for what the spec leaves out, and for nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import ValidationError
from tests.unit.workloads.manifests import example

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.tuning import TuningBounds
from trimtab.tuning.policy import Policy
from trimtab.tuning.profiles import PROFILES


def policy(**tuning: Any) -> Policy:
    """Of the quickstart without its own bounds, dwell and catchUp."""
    spec = copy.deepcopy(example("pipeline")["spec"])
    spec["goal"]["latency"].pop("catchUp", None)
    spec["tuning"] = tuning
    return Policy.of(StreamPipelineSpec.model_validate(spec))


def values(asked: Policy) -> tuple[float, float, int, int, float]:
    return asked.higher, asked.lower, asked.dwell_up, asked.dwell_down, asked.catch_up_s


def test_without_a_word_it_is_balanced() -> None:
    assert values(policy()) == values(policy(profile="balanced")) == (0.85, 0.75, 2, 4, 60.0)


def test_latency_keeps_more_executors_ready_and_cost_fewer() -> None:
    latency, balanced, cost = (PROFILES[name] for name in ("latency", "balanced", "cost"))
    assert latency.higher < balanced.higher < cost.higher <= 1
    assert latency.lower < balanced.lower < cost.lower


@pytest.mark.parametrize(
    ("said", "higher", "lower"),
    [
        ({}, 0.85, 0.75),
        ({"higher": 0.95}, 0.95, 0.85),
        ({"lower": 0.5}, 0.6, 0.5),
        ({"lower": 0.97}, 1.0, 0.97),
        ({"higher": 0.12}, 0.12, 0.06),
        ({"higher": 0.01}, 0.01, 0.005),
        ({"higher": 0.9, "lower": 0.2}, 0.9, 0.2),
    ],
)
def test_a_bound_that_is_left_out_keeps_its_distance(
    said: dict[str, float], higher: float, lower: float
) -> None:
    asked = policy(bounds=said)
    assert (asked.higher, asked.lower) == pytest.approx((higher, lower))


def test_what_is_said_wins_over_the_profile() -> None:
    assert policy(profile="cost", dwell={"up": 7}).dwell_up == 7
    assert policy(profile="cost", dwell={"up": 7}).dwell_down == 4


@pytest.mark.parametrize("said", [{"lower": 1.0}, {"higher": 0.5, "lower": 0.5}])
def test_bounds_that_leave_no_band_are_refused(said: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="lower must be smaller than higher"):
        TuningBounds.model_validate(said)
