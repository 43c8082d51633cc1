"""What a configuration can run at once: executors, cores, tasks, and the resulting slots."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capacity:
    """Executors, their cores, and the tasks of a batch that they share."""

    executors: int
    cores: int
    """Task slots of each executor."""
    tasks: int = 1

    @property
    def slots(self) -> int:
        """Task slots of all executors."""
        return self.executors * self.cores
