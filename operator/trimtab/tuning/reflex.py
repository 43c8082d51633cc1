"""The driver's reflex: executors that it may raise by itself, within what the law has learned.

The operator writes a table of how much each number of executors carries at the higher bound; the
driver, which sees lag and input every second, asks for more executors at once when the demand is
far above what those in force carry. It never asks for fewer. The law adopts the raise and puts it
on trial, and learning and releases stay with it. Pure; both sides use it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from trimtab.api.contract import Carries, Reflex
from trimtab.api.knobs import EXECUTORS
from trimtab.api.ranges import Range
from trimtab.tuning import regime
from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.load import admitted, in_flight_s, input_rate_of
from trimtab.tuning.capacity.model import Model
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.knobs import parallelism
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Snapshot

URGENT = 1.1
"""Demand over what the executors carry at the higher bound from which the driver acts: below it,
the law has the time to look twice."""

REACH = 2
"""Executors over the most learned ones up to which an estimate is believed."""

GAIN = 1.02
"""Rate over that of fewer executors from which more of them are worth a row."""

LIFE_S = 3600.0
"""Seconds for which a table is believed without an operator."""

SAME = 0.1
"""A table is written again when a rate has moved by this share."""


HALF_S = 2.0
"""Seconds over which the input is a rate. Two such rates in a row must ask for more: what comes in
a lump, as at the end of a producer's transaction, is in one of them only."""

NEAR_S = 0.25
"""How far polls may be from their places: they come every second, more or less."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the driver sees of its source now."""

    input_rate: float
    """Records/s over the last polls."""
    lag_records: float


def raised(table: Reflex, executors: int, seen: Reading) -> int | None:
    """The executors that the driver should ask for; None to leave it to the operator.

    The demand is that of the law: the input, and what is beyond the records in flight within the
    catch-up time.
    """
    now = [step.rate for step in table.steps if step.executors <= executors]
    backlog = max(0.0, seen.lag_records - seen.input_rate * table.in_flight_s)
    demand = seen.input_rate + backlog / table.catch_up_s
    if not now or demand <= URGENT * now[-1]:
        return None
    enough = (step.executors for step in table.steps if step.rate >= demand)
    wanted = next(enough, table.steps[-1].executors)
    return wanted if wanted > executors else None


class Watch:
    """The polls of the source in one driver, and the input that they show."""

    def __init__(self) -> None:
        self._polls: deque[tuple[float, float]] = deque()

    def forget(self) -> None:
        """The polls do not go on from the last one."""
        self._polls.clear()

    def look(
        self, table: Reflex | None, executors: int, at_s: float, total: float, lag: float
    ) -> int | None:
        """The executors to ask for after one more poll; None to leave it to the operator.

        `total` are all records ever written to the source, `lag` those not committed. A total that
        falls, or jumps with new partitions, is no input: it is in one of the two rates only.
        """
        if self._polls and at_s <= self._polls[-1][0]:
            self.forget()
        self._polls.append((at_s, total))
        rate = self._input_rate()
        if table is None or rate is None or at_s >= table.expires_s:
            return None
        return raised(table, executors, Reading(rate, lag))

    def _input_rate(self) -> float | None:
        """The lower of the last two rates; None until there were polls for both."""
        last = self._polls[-1]
        middle = self._before(last[0] - HALF_S)
        first = self._before(middle[0] - HALF_S) if middle else None
        if middle is None or first is None:
            return None
        while self._polls[0] != first:
            self._polls.popleft()
        pairs = ((first, middle), (middle, last))
        return min((new[1] - old[1]) / (new[0] - old[0]) for old, new in pairs)

    def _before(self, at_s: float) -> tuple[float, float] | None:
        """The last poll up to a time, or just after it."""
        return next((p for p in reversed(self._polls) if p[0] <= at_s + NEAR_S), None)


def table(snapshot: Snapshot, memory: ControllerState, uid: str) -> Reflex | None:
    """What the driver of a pipeline may do by itself after a tick; None: nothing."""
    snapshot = replace(snapshot, settings=memory.settings)
    if not _allowed(snapshot, memory):
        return None
    model, rate = learning.fitted(snapshot, memory.points), _input(snapshot)
    if model is None or rate is None:
        return None
    steps = tuple(_steps(snapshot, memory, model))
    if len(steps) < 2 or steps[0].executors != memory.settings.executors:
        return None
    policy, settings = snapshot.policy, memory.settings
    usual_s = model.duration_s(rate * settings.trigger_s, policy.capacity(settings).slots)
    return Reflex(
        generation=memory.generation,
        pipeline_uid=uid,
        expires_s=round(snapshot.now_s + LIFE_S),
        catch_up_s=policy.catch_up_s,
        in_flight_s=round(in_flight_s(settings.trigger_s, usual_s), 1),
        steps=steps,
    )


def stands(old: Reflex | None, new: Reflex | None, now_s: float) -> bool:
    """Whether the driver has a table that says the same, and for more than half of its life yet.

    One that would live longer than it may was edited by others.
    """
    if old is None or new is None:
        return old is new
    alike = (old.generation, old.pipeline_uid, old.catch_up_s) == (
        new.generation, new.pipeline_uid, new.catch_up_s,
    )  # fmt: skip
    counts = [[step.executors for step in each.steps] for each in (old, new)]
    due = not LIFE_S / 2 <= old.expires_s - now_s <= LIFE_S + 1
    if due or not alike or counts[0] != counts[1]:
        return False
    pairs = zip(old.steps, new.steps, strict=True)
    near = (math.isclose(a.rate, b.rate, rel_tol=SAME) for a, b in pairs)
    return all(near) and math.isclose(old.in_flight_s, new.in_flight_s, rel_tol=2 * SAME)


def _allowed(snapshot: Snapshot, memory: ControllerState) -> bool:
    """Whether the spec lets the driver raise executors, and nothing speaks against more of them."""
    policy = snapshot.policy
    lets = policy.reflex and policy.moves_executors and not policy.maximum
    if not lets or memory.asleep or snapshot.signals is None:
        return False
    outside = snapshot.constraints
    if outside.executors_missing or outside.others_changing or policy.conflict:
        return False
    if outside.closed.message and not outside.closed.raises:
        return False
    failed = (v for v in memory.verdicts if v.knob == parallelism.KNOB.name and v.raises)
    return all(verdict.until_s <= snapshot.now_s for verdict in failed)


def _input(snapshot: Snapshot) -> float | None:
    return input_rate_of(snapshot.signals) if snapshot.signals else None


def most(policy: Policy, memory: ControllerState, budget: int | None = None) -> int:
    """The most executors that the driver may ask for: by limits, budget, and what was learned."""
    cores = policy.capacity(memory.settings).cores
    learned = max((point.slots for point in memory.points), default=0) / cores
    reached = int(REACH * max(learned, memory.settings.executors))
    step = policy.ranges.get(EXECUTORS.name, Range()).step
    allowed = [policy.executors_of(cores)[1], reached]
    allowed += [] if budget is None else [budget]
    allowed += [] if step is None else [memory.settings.executors + int(step)]
    return min(allowed)


def _steps(snapshot: Snapshot, memory: ControllerState, model: Model) -> Iterator[Carries]:
    """From the executors in force on, each number that carries clearly more than fewer do."""
    policy, settings = snapshot.policy, memory.settings
    cores = policy.capacity(settings).cores
    higher = regime.band(policy, memory, snapshot.now_s).higher
    model = model.with_in_flight(settings.max_in_flight)
    best, furthest = 0.0, most(policy, memory, snapshot.constraints.budget_executors)
    for executors in range(settings.executors, furthest + 1):
        slots = executors * cores
        rate = round(_rate(model, policy, settings, slots, higher), 1)
        if rate > GAIN * best:
            best = rate
            yield Carries(executors=executors, rate=rate)
        if policy.rate is not None and best >= policy.rate:
            return


def _rate(model: Model, policy: Policy, settings: Settings, slots: int, higher: float) -> float:
    """The highest input, in records/s, whose load some slots hold at the higher bound.

    The capacity load and the latency load (`capacity/load.py`), solved for the rate.
    """
    trigger_s = policy.pace_s(settings.trigger_s)
    rate = higher * min(model.sustainable(slots, trigger_s), admitted(model, slots, settings))
    if policy.target_s is None or trigger_s <= 0:
        return rate
    target_s, q = higher * policy.target_s, policy.quantile
    longest_s = target_s / (1 + q)
    if longest_s < trigger_s:
        longest_s = target_s - q * trigger_s
    within_s = longest_s - model.overhead_s(slots)
    return min(rate, max(0.0, within_s) * model.capacity(slots) / trigger_s)
