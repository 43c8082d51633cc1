"""How many executors a pipeline needs now, by its own model, for sharing a budget."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trimtab.tuning import regime
from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.load import measure, predict
from trimtab.tuning.context import CLEAR
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.forecast import ahead
from trimtab.tuning.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Need:
    """The fewest executors that hold the goal, and how far it is missed now."""

    executors: int
    load: float
    """Over the higher bound; 1 where it is not known."""


def need(snapshot: Snapshot, memory: ControllerState) -> Need:
    """The need of a pipeline; what it has, while nothing better is known or a trial runs.

    A pipeline whose goal is held gives an executor back only if it holds its goal with a margin
    without it, so that noise in the load moves none to and fro.
    """
    policy, now = snapshot.policy, memory.settings.executors
    if memory.asleep:
        return Need(1, 0.0)
    model = learning.fitted(snapshot, memory.points)
    load = measure(snapshot, model, ahead.expected(snapshot, memory)) if model else None
    if model is None or load is None:
        return Need(now, 1.0)
    band = regime.band(policy, memory, snapshot.now_s)
    over = load.value / band.higher
    if policy.maximum or memory.trial is not None:
        return Need(now, over)
    least, most = policy.executors_of(policy.capacity(memory.settings).cores)
    clear = band.higher - CLEAR * (band.higher - band.lower)
    aim = clear if over < 1.0 else band.higher
    for executors in range(least, most + 1):
        settings = replace(memory.settings, executors=executors)
        if predict(model, policy, settings, load) <= aim:
            return Need(min(executors, now) if over < 1.0 else max(executors, now), over)
    return Need(now if over < 1.0 else most, over)
