"""Record identities: every value begins with `RUN-SEQUENCE`, in capitals and digits only.

So they survive upper-casing, and one array of counters shows lost and duplicated records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_IDENTITY = re.compile(rb"([0-9A-F]{8})-([0-9]{1,12})")


def value(run: str, sequence: int, size: int) -> bytes:
    """The value of a record, padded to `size` bytes."""
    return f"{run}-{sequence} ".ljust(size, ".").encode()


def identity(payload: bytes | None) -> tuple[str, int] | None:
    """(run, sequence) of a value; None if it is not one of ours."""
    found = _IDENTITY.search(payload or b"")
    return (found[1].decode(), int(found[2])) if found else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happened to the records of a run. `delivered` counts each record once."""

    produced: int
    delivered: int
    lost: int
    duplicated: int
    foreign: int

    @property
    def exact(self) -> bool:
        """Whether every record came out exactly once."""
        return not (self.lost or self.duplicated)


class Tally:
    """Counts the records of one run as they are read back."""

    def __init__(self, run: str, sequences: int) -> None:
        """`sequences` is the number of identities that were used."""
        self._run = run
        self._seen = bytearray(sequences)
        self._surplus = 0
        self._foreign = 0

    def add(self, payload: bytes | None) -> None:
        """Count one record that was read."""
        found = identity(payload)
        if found is None or found[0] != self._run or found[1] >= len(self._seen):
            self._foreign += 1
        elif self._seen[found[1]]:
            self._surplus += 1
        else:
            self._seen[found[1]] = 1

    def verdict(self, unacknowledged: frozenset[int] = frozenset()) -> Verdict:
        """The figures; a record that Kafka never acknowledged may be missing."""
        missing = (i for i, seen in enumerate(self._seen) if not seen)
        return Verdict(
            produced=len(self._seen) - len(unacknowledged),
            delivered=sum(self._seen),
            lost=sum(i not in unacknowledged for i in missing),
            duplicated=self._surplus,
            foreign=self._foreign,
        )
