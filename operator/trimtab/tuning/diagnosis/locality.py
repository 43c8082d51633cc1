"""Whether the scope in which tasks may run is the bottleneck: too narrow, or too wide."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.api.knobs import ANY, PROCESS, SCOPES
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.api.v1alpha1.tuning import Bounds
from trimtab.tuning.diagnosis.facts import Bottleneck, Facts

AWAY_HIGH = 0.3
"""Share of tasks away from their data that justifies a narrower scope."""

CROWDED = 1.25
"""The executors that tasks prefer are loaded by this factor more than all of them."""

NEAR, WIDE = SCOPES[PROCESS], SCOPES[ANY]


def would_crowd(bounds: Bounds | None, loads: Mapping[str, float]) -> bool:
    """Whether the executors that tasks prefer are loaded, or would be, while others have room.

    `loads` are the mean loads of the executors of both scopes, as far as they are known.
    """
    near, wide = loads.get(NEAR), loads.get(WIDE)
    if bounds is None or near is None or not wide:
        return False
    return near >= bounds.higher and near >= CROWDED * wide


def crowded(facts: Facts) -> Bottleneck | None:
    """Tasks wait for the executors that they prefer, while others have nothing to do."""
    loads = facts.signals.scope_load
    if facts.settings.scope != PROCESS or not would_crowd(facts.policy.locality, loads):
        return None
    words = (
        f"the executors that tasks prefer have a mean load of {loads[NEAR]:.2f},"
        f" all have {loads[WIDE]:.2f}"
    )
    return Bottleneck(Kind.LOCALITY, words)


def away(facts: Facts) -> Bottleneck | None:
    """Many tasks run away from their data, and the executors that hold it have room for them."""
    share = facts.signals.remote_share
    if not facts.settings.scope or share is None or share < AWAY_HIGH:
        return None
    if would_crowd(facts.policy.locality, facts.signals.scope_load):
        return None
    return Bottleneck(Kind.LOCALITY, f"{share:.0%} of the tasks run away from their data")
