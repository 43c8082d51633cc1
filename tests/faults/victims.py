"""Which part is killed next, and what came of it. Pure: the test on the cluster kills."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.faults.record import Row

VICTIMS = ("operator", "driver", "executor", "broker", "node")
REST_S = (5.0, 30.0)
"""Seconds between the recovery of one and the next, at random within these."""


def order(rng: random.Random) -> Iterator[tuple[str, float]]:
    """Victims without end, in random order and each equally often, and the rest before each."""
    while True:
        for victim in rng.sample(VICTIMS, len(VICTIMS)):
            yield victim, rng.uniform(*REST_S)


@dataclass
class Tries:
    """The kills of a run."""

    over_s: float
    """How long the run was to last."""
    unwell_s: dict[str, list[float]] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    def note(self, victim: str, unwell_s: float, said: str) -> None:
        """One kill, the seconds until all was well again, and what the status said meanwhile."""
        self.unwell_s.setdefault(victim, []).append(unwell_s)
        if said:
            self.said.setdefault(victim, said)

    def rows(self, lost: int, duplicated: int) -> list[Row]:
        """A row for each victim, and one for all.

        The records are counted at the end, for all kills together: what none has lost, no one of
        them has; otherwise nobody knows which it was.
        """
        rows = [
            Row(
                f"live-{victim}", len(times), over_s=self.over_s, unwell_s=max(times),
                said=self.said.get(victim, ""), lost=None if lost else 0,
                duplicated_crash=None if duplicated else 0,
            )
            for victim, times in self.unwell_s.items()
        ]  # fmt: skip
        every = [seconds for times in self.unwell_s.values() for seconds in times]
        total = Row(
            "live-all", len(every), over_s=self.over_s, unwell_s=max(every, default=None),
            lost=lost, duplicated_crash=duplicated,
        )  # fmt: skip
        return [*rows, total]
