"""Whether a namespace's ResourceQuotas and LimitRanges let a pipeline's pods in. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.api.quantities import parse_amount, parse_quantity
from trimtab.api.v1alpha1.checkpoint import VolumeClaim
from trimtab.api.v1alpha1.limits import Resources
from trimtab.ports import Manifest
from trimtab.workloads.common import SCRATCH_REQUEST

Amounts = Mapping[str, float]
_OTHER_SCOPES = frozenset({"BestEffort", "Terminating", "PriorityClass"})
"""Of quotas that count no pod of ours."""


@dataclass(frozen=True, slots=True)
class Need:
    """What the smallest pipeline with the default sizes takes: a driver and an executor."""

    pods: Mapping[str, Amounts]
    """By pod, what it reserves. Memory is its limit too; nothing else is limited."""
    storage: float
    """Bytes of the checkpoint's volume."""

    def total(self, resource: str) -> float:
        """Of both pods."""
        return sum(pod[resource] for pod in self.pods.values())


def default_need() -> Need:
    """With the defaults of the API."""
    sizes, scratch = Resources(), float(parse_quantity(SCRATCH_REQUEST))
    pods = {
        name: {
            "cpu": parse_amount(str(pod.cpu_request)),
            "memory": float(pod.memory),
            "ephemeral-storage": scratch,
        }
        for name, pod in (("driver", sizes.driver), ("executor", sizes.executor))
    }
    return Need(pods, float(VolumeClaim().size))


def refusals(
    quotas: Iterable[Manifest], ranges: Iterable[Manifest], need: Need
) -> Iterator[tuple[bool, str]]:
    """What would refuse the pods: whether it always would or does only now, and in words."""
    limits = [limit for each in ranges for limit in each["spec"]["limits"]]
    for each in ranges:
        for limit in each["spec"]["limits"]:
            words = _out_of_range(limit, limits, need)
            yield from ((True, f"LimitRange {each['metadata']['name']}: {one}") for one in words)
    for each in quotas:
        if not _scopes(each["spec"]) & _OTHER_SCOPES:
            found = _over_quota(each, limits, need)
            yield from ((always, f"ResourceQuota {each['metadata']['name']}: {one}")
                        for always, one in found)  # fmt: skip


def _scopes(spec: Manifest) -> set[str]:
    selected = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return {*(spec.get("scopes") or ()), *(each["scopeName"] for each in selected)}


def _out_of_range(limit: Manifest, limits: list[Manifest], need: Need) -> Iterator[str]:
    if limit["type"] == "PersistentVolumeClaim":
        yield from _outside(limit, {"storage": need.storage}, "the checkpoint's volume")
        return
    for name, pod in need.pods.items():
        yield from _outside(limit, pod, f"the {name}")
        if limit["type"] == "Container":
            yield from _below_its_request(limit.get("default") or {}, pod, name)
    for resource in _unlimited(limit.get("max") or {}, limits) if limit["type"] == "Pod" else ():
        yield f"max.{resource} refuses pods without a limit of it, such as trimtab's"


def _outside(limit: Manifest, sizes: Amounts, who: str) -> Iterator[str]:
    for bound, wrong in (("max", float.__gt__), ("min", float.__lt__)):
        for resource, value in (limit.get(bound) or {}).items():
            if resource in sizes and wrong(sizes[resource], _amount(value)):
                yield f"{bound}.{resource} is {value}, {who} takes {_told(sizes[resource])}"


def _below_its_request(default: Mapping[str, Any], pod: Amounts, name: str) -> Iterator[str]:
    for resource, value in default.items():
        if resource != "memory" and resource in pod and pod[resource] > _amount(value):
            yield f"default.{resource} is {value}, the {name} reserves {_told(pod[resource])}"


def _unlimited(bounded: Iterable[str], limits: list[Manifest]) -> Iterator[str]:
    """Those of some resources that our containers do not limit, and no LimitRange does for them."""
    given = {
        resource
        for limit in limits
        if limit["type"] == "Container"
        for resource in limit.get("default") or {}
    }
    yield from sorted({"cpu", "ephemeral-storage"} & set(bounded) - given)


def _over_quota(quota: Manifest, limits: list[Manifest], need: Need) -> Iterator[tuple[bool, str]]:
    hard = quota["spec"].get("hard") or {}
    used = (quota.get("status") or {}).get("used") or {}
    bounded = [name.removeprefix("limits.") for name in hard if name.startswith("limits.")]
    for resource in _unlimited(bounded, limits):
        yield True, f"limits.{resource} refuses pods without a limit of it, such as trimtab's"
    for name, least in _counted(need).items():
        if name in hard:
            left = _amount(hard[name]) - _amount(used.get(name, "0"))
            if left < least:
                words = f"{name} is {hard[name]}, of which {used.get(name, '0')} is in use"
                yield _amount(hard[name]) < least, f"{words}: a pipeline takes {_told(least)}"


def _counted(need: Need) -> dict[str, float]:
    """What quotas count of the pipeline, by each name that they have for it."""
    counted = {"pods": float(len(need.pods)), "count/pods": float(len(need.pods))}
    for resource in ("cpu", "memory", "ephemeral-storage"):
        counted[resource] = counted[f"requests.{resource}"] = need.total(resource)
    claims = {"persistentvolumeclaims": 1.0, "count/persistentvolumeclaims": 1.0}
    return {
        **counted, "limits.memory": need.total("memory"), **claims,
        "requests.storage": need.storage,
    }  # fmt: skip


def _amount(value: object) -> float:
    return parse_amount(str(value))


def _told(amount: float) -> str:
    """A number for people: bytes in MiB, where there are that many."""
    mebi = 1 << 20
    return f"{amount / mebi:.0f}Mi" if amount >= mebi else f"{amount:g}"
