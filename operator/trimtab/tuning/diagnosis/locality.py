"""Whether the scope in which tasks may run is the bottleneck: too narrow, or too wide."""

from __future__ import annotations

from trimtab.api.knobs import ANY, PROCESS, SCOPES
from trimtab.api.reasons import BottleneckKind as Kind
from trimtab.tuning.diagnosis.facts import Bottleneck, Facts

AWAY_HIGH = 0.3
"""Share of tasks away from their data that justifies a narrower scope."""

CROWDED = 1.25
"""The executors that tasks prefer are loaded by this factor more than all of them."""

NEAR, WIDE = SCOPES[PROCESS], SCOPES[ANY]


def crowded(facts: Facts) -> Bottleneck | None:
    """Tasks wait for the executors that they prefer, while others have nothing to do."""
    bounds, loads = facts.policy.locality, facts.signals.scope_load
    near, wide = loads.get(NEAR), loads.get(WIDE)
    if bounds is None or facts.settings.scope != PROCESS or near is None or not wide:
        return None
    if near < bounds.higher or near < CROWDED * wide:
        return None
    words = f"the executors that tasks prefer have a mean load of {near:.2f}, all have {wide:.2f}"
    return Bottleneck(Kind.LOCALITY, words)


def away(facts: Facts) -> Bottleneck | None:
    """Many tasks run away from their data."""
    share = facts.signals.remote_share
    if not facts.settings.scope or share is None or share < AWAY_HIGH:
        return None
    return Bottleneck(Kind.LOCALITY, f"{share:.0%} of the tasks run away from their data")
