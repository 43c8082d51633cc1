"""Share a budget of cores and memory among pipelines.

Nobody goes below its minimum. What is left goes, one executor at a time, to the pipeline that has
the smallest part of what it needs: max-min fairness over the need. Then everybody keeps what runs
already, and what is still left is room to grow. The shares of all together never exceed the budget,
so that pipelines may decide on their own, at the same time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trimtab.ports import Name
from trimtab.tuning.governance.rules import Rules


@dataclass(frozen=True, slots=True)
class Claim:
    """What one pipeline asks of a budget, in executors."""

    name: Name
    least: int
    most: int
    now: int
    need: int
    """The fewest that hold its goal; what it has, if that is not known."""
    cores: int
    """Task slots of one of its executors."""
    memory: int
    """Bytes of one of its executors."""


@dataclass(slots=True)
class _Room:
    """What is left of a budget; None: without limit."""

    cores: int | None
    memory: int | None

    def takes(self, claim: Claim, executors: int = 1) -> bool:
        """Take so many executors out of it, if they fit."""
        cores, memory = executors * claim.cores, executors * claim.memory
        lacks_cores = self.cores is not None and cores > self.cores
        lacks_memory = self.memory is not None and memory > self.memory
        if lacks_cores or lacks_memory:
            return False
        self.give(claim, executors)
        return True

    def give(self, claim: Claim, executors: int) -> None:
        """Take so many executors out of it, whether they fit or not."""
        if self.cores is not None:
            self.cores -= executors * claim.cores
        if self.memory is not None:
            self.memory -= executors * claim.memory


def shares(cores: int | None, memory: int | None, claims: Sequence[Claim]) -> Mapping[Name, int]:
    """The most executors that each pipeline may run."""
    room = _Room(cores, memory)
    granted = {claim.name: claim.least for claim in claims}
    for claim in claims:
        room.give(claim, claim.least)
    for aim in (_need, _now, _most):
        _fill(granted, claims, room, aim)
    return granted


def alone(rules: Rules, executor_cores: int, executor_memory: int) -> int | None:
    """The most executors that budgets leave a pipeline that shares them with nobody."""
    most = [
        total // each
        for layer in rules.layers
        for total, each in (
            (layer.spec.budget.cores, executor_cores), (layer.spec.budget.memory, executor_memory),
        )
        if total is not None
    ]  # fmt: skip
    return min(most, default=None)


def _need(claim: Claim) -> int:
    return min(claim.need, claim.most)


def _now(claim: Claim) -> int:
    return min(max(claim.now, claim.need), claim.most)


def _most(claim: Claim) -> int:
    return claim.most


def _fill(
    granted: dict[Name, int], claims: Sequence[Claim], room: _Room, aim: Callable[[Claim], int]
) -> None:
    """Give single executors, each to the one with the smallest part of its aim."""

    def part(claim: Claim) -> tuple[float, Name]:
        return granted[claim.name] / aim(claim), claim.name

    waiting = [(part(claim), claim) for claim in claims if granted[claim.name] < aim(claim)]
    heap = [(key, index) for index, (key, _) in enumerate(waiting)]
    heapq.heapify(heap)
    while heap:
        _, index = heapq.heappop(heap)
        claim = waiting[index][1]
        if not room.takes(claim):
            continue
        granted[claim.name] += 1
        if granted[claim.name] < aim(claim):
            heapq.heappush(heap, (part(claim), index))
