"""The law of the Kubernetes HorizontalPodAutoscaler, for any metric.

Source: k8s.io/kubernetes v1.35.4, pkg/controller/podautoscaler/{replica_calculator,horizontal}.go,
its config/v1alpha1/defaults.go and metrics/utilization.go, pkg/apis/autoscaling/v2/defaults.go;
Apache-2.0.

Without `behavior` the controller still follows its older rule, at most max(2 p, 4) in one sync;
`DEFAULT_BEHAVIOUR` is what the API fills in as soon as any part of `behavior` is set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from bench.peers.controller import Limits


class Unit(Enum):
    """The unit of a scaling policy."""

    PODS = "Pods"
    PERCENT = "Percent"


@dataclass(frozen=True, slots=True)
class Policy:
    """The maximum change within a period."""

    unit: Unit
    value: int
    period_s: float


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one direction; `largest` selects the policy that allows the most."""

    policies: tuple[Policy, ...]
    stabilisation_s: float = 0
    largest: bool = True


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The rules of both directions."""

    up: Rules
    down: Rules


DEFAULT_BEHAVIOUR = Behaviour(
    up=Rules((Policy(Unit.PODS, 4, 15), Policy(Unit.PERCENT, 100, 15))),
    down=Rules((Policy(Unit.PERCENT, 100, 15),), stabilisation_s=300),
)


@dataclass(frozen=True, slots=True)
class Parameters:
    """Defaults of the controller manager."""

    sync_s: float = 15
    tolerance: float = 0.1
    downscale_stabilisation_s: float = 300
    behaviour: Behaviour | None = None


def parameters(sync_s: float, stabilisation_s: float) -> Parameters:
    """The defaults; if the window of stabilisation is not, the API fills in `behavior`."""
    if stabilisation_s == Parameters().downscale_stabilisation_s:
        return Parameters(sync_s=sync_s)
    down = replace(DEFAULT_BEHAVIOUR.down, stabilisation_s=stabilisation_s)
    return Parameters(sync_s=sync_s, behaviour=replace(DEFAULT_BEHAVIOUR, down=down))


def within(ratio: float, tolerance: float) -> bool:
    """Whether a usage ratio is too close to 1 to act on."""
    return 1 - tolerance <= ratio <= 1 + tolerance


def average_value_replicas(
    current: int, usage: float, target: float, tolerance: float = 0.1
) -> int:
    """Replicas for an external metric with a target for each pod (AverageValue)."""
    if current and within(usage / (target * current), tolerance):
        return current
    return math.ceil(usage / target)


def utilisation_replicas(
    current: int,
    ready: Sequence[int],
    target_percent: int,
    *,
    unready: int = 0,
    missing: int = 0,
    tolerance: float = 0.1,
) -> int:
    """Replicas for a resource; `ready` has each ready pod's use in thousandths of its request.

    When scaling up, unready pods and pods without metrics count as idle; when scaling down, pods
    without metrics count as fully used.
    """

    def ratio(usages: Sequence[int]) -> float:
        return sum(usages) * 100 // (1000 * len(usages)) / target_percent

    first = ratio(ready)
    rising = unready > 0 and first > 1
    if not rising and not missing:
        return current if within(first, tolerance) else math.ceil(first * len(ready))
    filled = [*ready, *[0 if first > 1 else 10 * max(100, target_percent)] * missing]
    if rising:
        filled += [0] * unready
    second = ratio(filled)
    if within(second, tolerance) or (first < 1) is (second > 1):
        return current
    replicas = math.ceil(second * len(filled))
    turned = (second < 1 and replicas > current) or (second > 1 and replicas < current)
    return current if turned else replicas


@dataclass(slots=True)
class Autoscaler:
    """What the controller remembers of one object: recommendations and changes, with times."""

    limits: Limits
    parameters: Parameters
    recommended: list[tuple[float, int]] = field(default_factory=list)
    changed: list[tuple[float, int]] = field(default_factory=list)

    def settle(self, now_s: float, current: int, desired: int) -> int:
        """The replicas that a sync actually sets: stabilised, rate-limited, within the limits."""
        rules = self.parameters.behaviour
        stable = self._stabilised(now_s, current, desired)
        if rules is None:
            capped = min(stable, max(2 * current, 4))
        elif stable > current:
            capped = min(stable, max(current, self._limit(now_s, current, rules.up, up=True)))
        else:
            capped = max(stable, min(current, self._limit(now_s, current, rules.down, up=False)))
        target = self.limits.clamp(capped)
        if target != current:
            self.changed.append((now_s, target - current))
        return target

    def _stabilised(self, now_s: float, current: int, desired: int) -> int:
        rules, parameters = self.parameters.behaviour, self.parameters
        down_s = rules.down.stabilisation_s if rules else parameters.downscale_stabilisation_s
        up_s = rules.up.stabilisation_s if rules else 0.0
        floor = min([desired, *(r for at, r in self.recommended if at > now_s - up_s)])
        ceiling = max([desired, *(r for at, r in self.recommended if at > now_s - down_s)])
        oldest = now_s - max(up_s, down_s)
        self.recommended = [r for r in self.recommended if r[0] > oldest] + [(now_s, desired)]
        if rules is None:
            return ceiling
        return min(max(current, floor), ceiling)

    def _limit(self, now_s: float, current: int, rules: Rules, *, up: bool) -> int:
        proposed = []
        for policy in rules.policies:
            begun = current - sum(c for at, c in self.changed if at > now_s - policy.period_s)
            sign = 1 if up else -1
            if policy.unit is Unit.PODS:
                proposed.append(begun + sign * policy.value)
            elif up:
                proposed.append(math.ceil(begun * (1 + policy.value / 100)))
            else:
                proposed.append(int(begun * (1 - policy.value / 100)))
        return max(proposed) if rules.largest is up else min(proposed)
