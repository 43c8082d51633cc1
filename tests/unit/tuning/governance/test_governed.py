"""What a pipeline's own spec says, and what policies make of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.tuning.governance.policies import namespaced, of_cluster
from tests.unit.workloads.manifests import example

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.tuning.governance.governed import Parts, governed, policy, restated
from trimtab.tuning.governance.layers import Layer
from trimtab.tuning.governance.rules import rules
from trimtab.tuning.policy import Policy

PLAIN = {
    "goal": {"latency": {"target": "15s"}}, "tuning": {}, "limits": {"executors": {"max": 8}},
}  # fmt: skip


def spec(**parts: Any) -> StreamPipelineSpec:
    """The quickstart's pipeline with nothing said that policies speak about."""
    return StreamPipelineSpec.model_validate(example("pipeline")["spec"] | PLAIN | parts)


def under(*layers: Layer, **parts: Any) -> tuple[Policy, dict[str, tuple[str, str]]]:
    found, set_by = policy(spec(**parts), rules(layers))
    return found, {each.field: (each.value, each.policy) for each in set_by}


def test_without_policies_a_pipeline_is_what_its_spec_says() -> None:
    assert under() == (Policy.of(spec()), {})


def test_a_mode_is_the_most_that_a_pipeline_may_do() -> None:
    recommend = namespaced(mode="Recommend")
    found, told = under(recommend)
    assert (found.mode, told) == (Mode.RECOMMEND, {"mode": ("Recommend", "TuningPolicy/team")})
    found, told = under(recommend, tuning={"mode": "Observe"})
    assert (found.mode, told) == (Mode.OBSERVE, {})


@pytest.mark.parametrize(
    ("part", "own", "expected"),
    [
        ("defaults", {}, (0.9, 0.8)),
        ("defaults", {"bounds": {"higher": 0.7, "lower": 0.4}}, (0.7, 0.4)),
        ("overrides", {"bounds": {"higher": 0.7, "lower": 0.4}}, (0.9, 0.8)),
    ],
)
def test_defaults_give_way_and_overrides_do_not(
    part: str, own: dict[str, Any], expected: tuple[float, float]
) -> None:
    bounds = {part: {"bounds": {"higher": 0.9, "lower": 0.8}}}
    found, told = under(of_cluster(**bounds), tuning=own)
    assert (found.higher, found.lower) == expected
    said = {"bounds": ("higher 0.9, lower 0.8", "ClusterTuningPolicy/fleet")}
    assert told == (said if expected == (0.9, 0.8) else {})


def test_the_time_to_catch_up_and_the_dwell_are_values_too() -> None:
    given = {"catchUp": "40s", "dwell": {"up": 1, "down": 9}, "profile": "cost"}
    found, told = under(namespaced(defaults=given))
    assert (found.catch_up_s, found.dwell_up, found.dwell_down) == (40.0, 1, 9)
    assert found.higher == 0.9
    assert told["catchUp"] == ("40s", "TuningPolicy/team")
    own = {"goal": {"latency": {"target": "15s", "catchUp": "90s"}}}
    assert under(namespaced(defaults=given), **own)[0].catch_up_s == 90.0
    assert under(namespaced(overrides=given), **own)[0].catch_up_s == 40.0


def test_limits_are_those_of_spec_and_policies_together() -> None:
    rule = {"executors": {"min": 2, "max": 4}, "topicPartitions": {"max": 12}}
    limits = {"executors": {"min": 1, "max": 8}, "topicPartitions": 24}
    found, told = under(namespaced(knobs=rule), limits=limits)
    assert (found.min_executors, found.max_executors) == (2, 4)
    assert found.max_topic_partitions == 12
    assert told["executors.min"] == ("2", "TuningPolicy/team")
    assert told["executors.max"] == ("4", "TuningPolicy/team")
    limits = {"executors": {"min": 6, "max": 8}}
    assert under(namespaced(knobs=rule), limits=limits)[0].min_executors == 4


def test_what_no_spec_can_say_is_kept_beside_it() -> None:
    rule = {"trigger": {"max": "5s", "maxStep": "1s"}, "producer": {"lingerMs": {"locked": True}}}
    found, told = under(namespaced(knobs=rule, pausesPerHour=3))
    assert found.ranges["trigger"].most == 5.0
    assert (found.locked, found.pauses_per_hour) == (frozenset({"producer.lingerMs"}), 3)
    assert told["trigger.maxStep"] == ("1s", "TuningPolicy/team")
    assert told["producer.lingerMs.locked"] == ("true", "TuningPolicy/team")
    assert told["pausesPerHour"] == ("3", "TuningPolicy/team")


@pytest.mark.parametrize(
    "layers",
    [
        [namespaced(mode="Observe", pausesPerHour=2)],
        [of_cluster(overrides={"profile": "cost", "catchUp": "90s"})],
        [namespaced(defaults={"bounds": {"higher": 0.95, "lower": 0.35}, "dwell": {"up": 3}})],
        [of_cluster(knobs={"executors": {"min": 2}}), namespaced(knobs={"executors": {"max": 5}})],
        [namespaced(knobs={"trigger": {"max": "5s"}, "locality": {"scope": {"locked": True}}})],
    ],
)
def test_what_a_status_tells_is_enough_to_state_it_again(layers: list[Layer]) -> None:
    """`trimtab explain` reads the status of the pipeline, and not the policies."""
    plain = spec(tuning={"profile": "latency"})
    said = Parts(plain.goal, plain.limits, plain.tuning)
    expected, told = governed(said, rules(layers))
    assert told
    assert restated(said, told) == expected


def test_policies_that_cannot_be_followed_are_a_conflict() -> None:
    fighting = (
        namespaced("one", defaults={"catchUp": "60s"}),
        namespaced("other", defaults={"catchUp": "2m"}),
    )
    found, _ = policy(spec(), rules(fighting, ("TuningPolicy/bad: spec.windows: wrong",)))
    assert found.conflict.startswith("TuningPolicy/bad: spec.windows: wrong; defaults.catchUp")
