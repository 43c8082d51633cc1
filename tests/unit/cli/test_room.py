"""Quotas and limit ranges against the pods of the smallest pipeline."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.cli.room import default_need, refusals

Json = dict[str, Any]
NEED = default_need()


def quota(hard: Json, used: Json | None = None, **spec: Any) -> Json:
    return {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}, "status": {"used": used}}


def ranged(kind: str = "Container", **bounds: Json) -> Json:
    return {"metadata": {"name": "r"}, "spec": {"limits": [{"type": kind, **bounds}]}}


def found(*objects: Json) -> list[tuple[bool, str]]:
    quotas = [each for each in objects if "hard" in each["spec"]]
    return list(refusals(quotas, [each for each in objects if each not in quotas], NEED))


def test_a_driver_and_an_executor_are_what_the_api_gives_them() -> None:
    assert NEED.total("cpu") == pytest.approx(1.2)
    assert NEED.total("memory") == 1924 << 20
    assert NEED.storage == 1 << 30


@pytest.mark.parametrize("enough", [
    {"requests.cpu": "1200m", "memory": "1924Mi", "pods": "2", "requests.storage": "1Gi"},
    {"limits.memory": "2Gi", "requests.ephemeral-storage": "1Gi", "services": "0"},
])  # fmt: skip
def test_a_quota_that_is_large_enough(enough: Json) -> None:
    assert found(quota(enough)) == []


@pytest.mark.parametrize(
    ("hard", "words"),
    [
        ({"requests.cpu": "1"}, "requests.cpu is 1, of which 0 is in use: a pipeline takes 1.2"),
        ({"limits.memory": "1Gi"}, "limits.memory is 1Gi, of which 0 is in use: a pipeline takes"
                                   " 1924Mi"),
        ({"pods": "1"}, "pods is 1, of which 0 is in use: a pipeline takes 2"),
        ({"limits.cpu": "100"}, "limits.cpu refuses pods without a limit of it, such as trimtab's"),
    ],
)  # fmt: skip
def test_a_quota_that_is_too_small(hard: Json, words: str) -> None:
    assert found(quota(hard)) == [(True, f"ResourceQuota q: {words}")]


def test_a_quota_that_others_have_used_up_refuses_for_now() -> None:
    (only,) = found(quota({"pods": "9"}, {"pods": "8"}))
    assert only == (False, "ResourceQuota q: pods is 9, of which 8 is in use: a pipeline takes 2")


def test_quotas_of_other_pods_do_not_count() -> None:
    assert found(quota({"pods": "0"}, scopes=["BestEffort"])) == []
    chosen = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}
    assert found(quota({"pods": "0"}, scopeSelector=chosen)) == []
    assert found(quota({"pods": "0"}, scopes=["NotTerminating"]))


def test_a_default_limit_of_cpu_satisfies_the_quota() -> None:
    assert found(quota({"limits.cpu": "100"}), ranged(default={"cpu": "2"})) == []


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (ranged(max={"memory": "1000Mi"}), ["max.memory is 1000Mi, the driver takes 1024Mi"]),
        (ranged(min={"cpu": "500m"}), ["min.cpu is 500m, the driver takes 0.2"]),
        (ranged(default={"cpu": "500m"}), ["default.cpu is 500m, the executor reserves 1"]),
        (ranged("Pod", max={"cpu": "4"}),
         ["max.cpu refuses pods without a limit of it, such as trimtab's"]),
        (ranged("PersistentVolumeClaim", min={"storage": "5Gi"}),
         ["min.storage is 5Gi, the checkpoint's volume takes 1024Mi"]),
        (ranged(default={"memory": "64Mi"}, max={"cpu": "8"}), []),
    ],
)  # fmt: skip
def test_limit_ranges(limits: Json, words: list[str]) -> None:
    assert found(limits) == [(True, f"LimitRange r: {each}") for each in words]
