"""What a configuration can run at once: executors, cores and tasks, and the slots that follow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capacity:
    """Executors of so many cores each, and the tasks of a batch that they share."""

    executors: int
    cores: int
    """Task slots of each executor."""
    tasks: int = 1

    @property
    def slots(self) -> int:
        """Task slots of all executors."""
        return self.executors * self.cores
