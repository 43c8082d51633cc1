"""The closed loop in virtual time: plant, observer and controller, by default our own core."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from trimtab.api.reasons import Action
from trimtab.api.v1alpha1.limits import ExecutorResources
from trimtab.simulation.arrivals import Arrivals, arrivals
from trimtab.simulation.events import Kind
from trimtab.simulation.observer import Observer
from trimtab.simulation.plant import Plant
from trimtab.simulation.running import BatchRecord
from trimtab.simulation.scenario import Scenario
from trimtab.tuning import reflex
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import Decision
from trimtab.tuning.governance.budget import alone
from trimtab.tuning.governance.governed import restricted
from trimtab.tuning.governance.rules import NO_RULES, Rules
from trimtab.tuning.governance.windows import closed
from trimtab.tuning.law import decide
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import ExternalConstraints, Signals, Snapshot

Decide = Callable[[Snapshot, ControllerState], tuple[Decision, ControllerState]]
"""Called at each tick; the memory that it returns is passed to the next call."""


MEMORY = ExecutorResources().memory
"""Bytes of an executor: a scenario does not say them."""


@dataclass(frozen=True, slots=True)
class Tick:
    """One tick: what was seen and what was decided."""

    at_s: float
    signals: Signals | None
    decision: Decision
    before: ControllerState
    after: ControllerState
    wall_ms: float


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: everything that figures and verifiers are computed from."""

    scenario: Scenario
    seed: int
    ticks: tuple[Tick, ...]
    batches: tuple[BatchRecord, ...]
    arrivals: Arrivals
    final: Settings
    raises: tuple[tuple[float, int], ...] = ()
    """When the driver asked for executors by itself, and for how many."""

    @property
    def changes(self) -> list[Tick]:
        """Ticks whose decision was applied."""
        return [tick for tick in self.ticks if tick.decision.moves]


def simulate(
    scenario: Scenario, seed: int, *, controller: Decide = decide, restart_every_tick: bool = False,
    rules: Rules = NO_RULES, began_s: float = 0.0,
) -> Run:  # fmt: skip
    """Run a scenario; with `restart_every_tick` the memory goes through JSON at each tick.

    `rules` are those of policies above it, and `began_s` the time since 1970 at which the run
    begins, for their windows.

    Every `controller` gets the same plant and the same noise. Runs of one scenario, seed and
    controller are identical except for the wall times.
    """
    scenario = scenario.under(rules)
    flow = arrivals(scenario, seed)
    plant = Plant(scenario, flow, seed)
    policy = restricted(scenario.policy(), rules)
    observer = Observer(plant, scenario.name, seed, policy.quantile)
    memory = ControllerState(generation=0, settings=scenario.settings())
    ticks: list[Tick] = []
    while event := plant.advance():
        if event.kind is Kind.SCRAPE:
            observer.scrape()
            continue
        if restart_every_tick:
            memory = ControllerState.from_dict(json.loads(json.dumps(memory.to_dict())))
        signals = observer.signals(event.at_s)
        snapshot = Snapshot(
            now_s=event.at_s,
            policy=policy,
            settings=memory.settings,
            signals=signals,
            no_signals="" if signals else "no sample in the gap",
            constraints=_constraints(plant, rules, policy, memory.settings, began_s),
        )
        started = time.perf_counter()  # noqa: TID251 - wall time is a figure, not an input
        decision, after = controller(snapshot, memory)
        wall_ms = (time.perf_counter() - started) * 1000  # noqa: TID251
        ticks.append(Tick(event.at_s, signals, decision, memory, after, wall_ms))
        if after.generation != memory.generation and decision.action is not Action.HOLD:
            plant.apply(after.generation, after.in_force)
        if policy.reflex:
            plant.reflex.table = reflex.table(snapshot, after, scenario.name)
        memory = after
    return Run(
        scenario, seed, tuple(ticks), tuple(plant.batches), flow, memory.in_force,
        tuple(plant.reflex.raises),
    )  # fmt: skip


def _constraints(
    plant: Plant, rules: Rules, policy: Policy, settings: Settings, began_s: float
) -> ExternalConstraints:
    """What the plant's cluster and the policies say against changes now."""
    return replace(
        plant.fleet.missing,
        closed=closed(rules, began_s + plant.now_s),
        budget_executors=alone(rules, policy.capacity(settings).cores, MEMORY),
    )
