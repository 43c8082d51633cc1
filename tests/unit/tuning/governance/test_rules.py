"""What several policies say together, which of them says it, and when they fight."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.tuning.governance.policies import namespaced, of_cluster

from trimtab.api.ranges import Range
from trimtab.api.v1alpha1.tuning import Mode, Profile
from trimtab.tuning.governance.layers import Layer
from trimtab.tuning.governance.rules import rules


@pytest.mark.parametrize(
    ("layer", "namespace", "labels", "selected"),
    [
        (namespaced(), "team-a", {}, True),
        (namespaced(), "team-b", {}, False),
        (namespaced(selector={"matchLabels": {"tier": "gold"}}), "team-a", {"tier": "gold"}, True),
        (namespaced(selector={"matchLabels": {"tier": "gold"}}), "team-a", {}, False),
        (of_cluster(), "anywhere", {}, True),
        (of_cluster(namespaces=["team-*", "ops"]), "team-b", {}, True),
        (of_cluster(namespaces=["team-*", "ops"]), "ops", {}, True),
        (of_cluster(namespaces=["team-*", "ops"]), "dev", {}, False),
    ],
)
def test_a_policy_selects_by_namespace_and_labels(
    layer: Layer, namespace: str, labels: dict[str, str], selected: bool
) -> None:
    assert layer.selects(namespace, labels) is selected


@pytest.mark.parametrize(
    ("requirement", "labels", "holds"),
    [
        ({"operator": "In", "values": ["a", "b"]}, {"x": "b"}, True),
        ({"operator": "In", "values": ["a", "b"]}, {}, False),
        ({"operator": "NotIn", "values": ["a"]}, {"x": "b"}, True),
        ({"operator": "NotIn", "values": ["a"]}, {}, True),
        ({"operator": "Exists"}, {"x": ""}, True),
        ({"operator": "DoesNotExist"}, {"x": ""}, False),
    ],
)
def test_expressions_compare_as_in_kubernetes(
    requirement: dict[str, Any], labels: dict[str, str], holds: bool
) -> None:
    selector = {"matchExpressions": [{"key": "x", **requirement}]}
    assert namespaced(selector=selector).selects("team-a", labels) is holds


def test_the_least_mode_and_the_fewest_pauses_count() -> None:
    found = rules([
        namespaced(mode="Recommend", pausesPerHour=9),
        of_cluster(mode="Auto", pausesPerHour=4),
    ])  # fmt: skip
    assert found.mode
    assert (found.mode.value, found.mode.layer.title) == (Mode.RECOMMEND, "TuningPolicy/team")
    assert found.pauses_per_hour
    assert found.pauses_per_hour.value == 4


def test_ranges_are_what_all_allow_and_know_who_set_them() -> None:
    found = rules([
        namespaced(knobs={"executors": {"min": 2, "max": 20, "maxStep": 2}}),
        of_cluster(knobs={"executors": {"max": 8, "maxStep": 4}, "trigger": {"locked": True}}),
    ])  # fmt: skip
    executors = found.knobs["executors"]
    assert executors.range == Range(2.0, 8.0, 2.0)
    titles = {end: layer.title for end, layer in executors.set_by.items()}
    assert titles == {
        "least": "TuningPolicy/team", "most": "ClusterTuningPolicy/fleet",
        "step": "TuningPolicy/team",
    }  # fmt: skip
    assert found.knobs["trigger"].range.locked


def test_a_lock_above_is_not_undone_below() -> None:
    found = rules([
        of_cluster(knobs={"executors": {"locked": True}}),
        namespaced(knobs={"executors": {"locked": False, "max": 4}}),
    ])  # fmt: skip
    assert found.knobs["executors"].range == Range(most=4.0, locked=True)


def test_where_ranges_do_not_meet_the_higher_policy_counts() -> None:
    found = rules([
        namespaced(knobs={"executors": {"min": 6, "maxStep": 1}}),
        of_cluster(knobs={"executors": {"max": 4}}),
    ])  # fmt: skip
    assert (found.knobs["executors"].range, found.fights) == (Range(most=4.0, step=1.0), ())
    low, high = namespaced("low", knobs={"executors": {"min": 6}}), namespaced(
        "high", priority=1, knobs={"executors": {"max": 4}}
    )  # fmt: skip
    found = rules([low, high])
    assert (found.knobs["executors"].range, found.fights) == (Range(most=4.0), ())


def test_overrides_come_from_the_top_and_defaults_from_below() -> None:
    said = {"profile": "cost"}, {"profile": "latency"}
    found = rules([
        of_cluster(defaults=said[0], overrides=said[0]),
        namespaced(defaults=said[1], overrides=said[1]),
    ])  # fmt: skip
    assert found.overrides["profile"].value is Profile.COST
    assert found.defaults["profile"].value is Profile.LATENCY


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ({"defaults": {"catchUp": "60s"}}, {"defaults": {"catchUp": "2m"}}, "defaults.catchUp"),
        ({"overrides": {"profile": "cost"}}, {"overrides": {"profile": "latency"}},
         "overrides.profile"),
        ({"knobs": {"executors": {"max": 2}}}, {"knobs": {"executors": {"min": 3}}},
         "knobs.executors"),
    ],
)  # fmt: skip
def test_policies_of_one_rank_that_contradict_each_other_fight(
    one: dict[str, Any], other: dict[str, Any], words: str
) -> None:
    found = rules([namespaced("one", **one), namespaced("other", **other)])
    (fight,) = found.fights
    assert words in fight.message
    assert {layer.name for layer in fight.layers} == {"one", "other"}
    assert not found.defaults
    assert not found.overrides
    assert not found.knobs
    assert not rules([namespaced("one", **one, priority=1), namespaced("other", **other)]).fights
    assert not rules([of_cluster("one", **one), namespaced("other", **other)]).fights


def test_the_same_value_twice_is_no_fight() -> None:
    same = {"defaults": {"catchUp": "60s"}, "overrides": {"bounds": {"higher": 0.9}}}
    assert not rules([namespaced("one", **same), namespaced("other", **same)]).fights
