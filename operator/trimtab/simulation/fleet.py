"""The executors of the plant: requested, granted, lost, and those that are still starting."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.simulation.plant_model import Plant
from trimtab.tuning.snapshot import ExternalConstraints


class Fleet:
    """How many executors there are, and why others are missing."""

    def __init__(self, plant: Plant, executors: int) -> None:
        self.plant = plant
        self.cap: int | None = plant.cluster.executors_max
        self.requested = self.granted = executors
        self.lost = 0
        self._due_s: dict[int, float] = {}

    def there(self) -> int:
        """Executors that run now."""
        placed = self.granted if self.cap is None else min(self.granted, self.cap)
        return max(0, placed - self.lost)

    def request(self, executors: int, now_s: float) -> Iterator[tuple[float, int]]:
        """Ask for a number of executors; yields when how many are granted.

        Those that start do so one by one, those that stop do so together. A start that is no longer
        wanted is given up, and begins anew when it is.
        """
        change, before = self.plant.change, self.requested
        self.requested = executors
        if change.start_s is None or executors <= before:
            self._due_s = {n: at_s for n, at_s in self._due_s.items() if n <= executors}
            yield now_s + change.live_s, executors
            return
        for index, number in enumerate(range(before + 1, executors + 1)):
            at_s = now_s + change.start_s + index * change.stagger_s
            self._due_s[number] = at_s
            yield at_s, number

    def grant(self, executors: int, now_s: float) -> None:
        """Executors have started, or have stopped."""
        if self.plant.change.start_s is None:
            self.granted = executors
        elif self._due_s.get(executors) == now_s:
            del self._due_s[executors]
            self.granted = max(self.granted, executors)
        elif executors <= self.requested:
            self.granted = min(self.granted, executors)

    @property
    def starting(self) -> int:
        """Executors that have a place and are starting on it."""
        return sum(self.cap is None or number <= self.cap for number in self._due_s)

    @property
    def missing(self) -> ExternalConstraints:
        """What the cluster says of executors that cannot be placed; starting ones are no news."""
        if not self.lost and (self.cap is None or self.requested <= self.cap):
            return ExternalConstraints()
        refused = self.plant.cluster.refuses and not self.lost
        words = f"the quota has room for {self.cap}" if refused else "no node fits an executor"
        return ExternalConstraints(executors_missing=words, executors_refused=refused)
