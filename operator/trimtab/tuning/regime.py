"""Bang-bang regimes with dwell, after Storm's locality switch (docs/seeds.md).

    load >= higher for dwell.up pieces of new evidence               -> Over
    load at the smaller configuration < lower for dwell.down batches -> Under
    else                                                             -> Within: touch nothing

New evidence is a finished batch, (Over only) a new sample of input, lag and the running batch's
age, or a trigger in which nothing came in; it counts at most once per tick. A reversal at an
unchanged load widens the band, and the widening decays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab.api.reasons import Regime
from trimtab.tuning.capacity import evenness
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.dwell import Evidence, Side
from trimtab.tuning.policy import Policy
from trimtab.tuning.snapshot import Snapshot

WIDENING = 0.15
"""Share by which one reversal widens the dead band."""

WIDENING_HALF_LIFE_S = 1800.0
SAME_LOAD = 0.1
"""The load is unchanged if it moved by less than this share."""


@dataclass(frozen=True, slots=True)
class Band:
    """The bounds in force."""

    higher: float
    lower: float


def moved_up(policy: Policy, memory: ControllerState) -> float:
    """How far the bounds lie above those of the policy because batches are even."""
    return min(policy.even, evenness.room(memory.slow_batch, policy.higher))


def band(policy: Policy, memory: ControllerState, now_s: float) -> Band:
    """The policy's bounds, moved up where batches are even, and widened after a reversal."""
    even = moved_up(policy, memory)
    higher, lower = policy.higher + even, policy.lower + even
    age_s = max(0.0, now_s - memory.widened_at_s)
    widened = memory.widened * 0.5 ** (age_s / WIDENING_HALF_LIFE_S)
    return Band(
        higher=higher + widened * (1.0 - higher),
        lower=lower * (1.0 - widened),
    )


def widen(
    memory: ControllerState, direction: int, input_rate: float, now_s: float
) -> ControllerState:
    """The memory after a change of executors; reversing the direction widens the band."""
    unchanged = abs(input_rate - memory.last_input_rate) < SAME_LOAD * max(
        input_rate, memory.last_input_rate
    )
    if direction == -memory.last_direction and unchanged:
        widened = min(memory.widened + WIDENING, 3 * WIDENING)
        memory = replace(memory, widened=widened, widened_at_s=now_s)
    return replace(memory, last_direction=direction, last_input_rate=input_rate)


def step(
    memory: ControllerState, snapshot: Snapshot, *, over: bool, under: bool
) -> ControllerState:
    """Count the evidence of this tick and switch the regime when the dwell is over."""
    signals, policy = snapshot.signals, snapshot.policy
    if signals is None or signals.batch is None:
        return memory
    side = Side.OVER if over else Side.UNDER if under else None
    counted = memory.evidence.observe(
        side,
        Evidence(signals.batch.key, signals.sampled_at_s, _idle_s(snapshot)),
        _dwell(policy, side),
    )
    regime = Regime.WITHIN
    if counted.over >= policy.dwell_up:
        regime = Regime.OVER
    elif counted.under >= policy.dwell_down:
        regime = Regime.UNDER
    return switch(replace(memory, evidence=counted), regime, snapshot.now_s)


def _idle_s(snapshot: Snapshot) -> float | None:
    """A trigger without input counts like the batch that did not come."""
    idle = snapshot.signals is not None and snapshot.signals.idle
    return snapshot.settings.trigger_s if idle else None


def _dwell(policy: Policy, side: Side | None) -> int:
    return policy.dwell_up if side is Side.OVER else policy.dwell_down


def switch(memory: ControllerState, regime: Regime, now_s: float) -> ControllerState:
    """The memory in a regime; its start time changes only with the regime."""
    return memory if regime == memory.regime else replace(memory, regime=regime, since_s=now_s)


def step_scope(
    memory: ControllerState, snapshot: Snapshot, *, wider: bool | None
) -> ControllerState:
    """Count a batch as evidence for a wider or a narrower scope; None: for neither."""
    batch = snapshot.signals.batch if snapshot.signals else None
    side = None if batch is None or wider is None else Side.OVER if wider else Side.UNDER
    evidence = Evidence(batch.key if batch else "")
    counted = memory.scope_evidence.observe(side, evidence, _dwell(snapshot.policy, side))
    return replace(memory, scope_evidence=counted)


def scope_due(memory: ControllerState, policy: Policy) -> bool:
    """Whether the dwell for a change of scope is over."""
    seen = memory.scope_evidence
    return seen.over >= policy.dwell_up or seen.under >= policy.dwell_down
