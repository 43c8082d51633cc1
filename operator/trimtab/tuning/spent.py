"""What a pipeline's pods have reserved so far. Pure.

Their size changes only with decisions, so the account is written with them, and between them it
grows by size times time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Size:
    """What the pods of a pipeline reserve."""

    executors: int = 0
    cores: float = 0.0
    """CPU that they request, that of the driver included."""
    size: float = 0.0
    """Bytes of memory, those of the driver included."""


NOTHING = Size()


@dataclass(frozen=True, slots=True)
class Spent:
    """What the pods have reserved until `at_s`, and what they reserve since."""

    since_s: float = 0.0
    at_s: float = 0.0
    run_s: float = 0.0
    """Seconds in which there was a driver."""
    executor_s: float = 0.0
    core_s: float = 0.0
    byte_s: float = 0.0
    executors: int = 0
    cores: float = 0.0
    size: float = 0.0
    """Bytes of memory."""
    most: int = 0
    """Most executors so far."""
    peak: int = 0
    """Executors that the highest input so far needs by the model; 0 while it is unknown."""
    peak_rate: float = 0.0
    """That input in records/s."""

    @property
    def static(self) -> int:
        """Executors of a static peak: no more than have been enough so far."""
        return min(self.peak, self.most)


NOTHING_YET = Spent()


def until(spent: Spent, now_s: float) -> Spent:
    """The account up to now."""
    span_s = max(0.0, now_s - spent.at_s) if spent.at_s else 0.0
    return replace(
        spent,
        at_s=now_s,
        run_s=spent.run_s + span_s * (spent.cores > 0),
        executor_s=spent.executor_s + span_s * spent.executors,
        core_s=spent.core_s + span_s * spent.cores,
        byte_s=spent.byte_s + span_s * spent.size,
    )


def resized(spent: Spent, size: Size, now_s: float) -> Spent:
    """The account with another size from now on; the same one if the size is the same."""
    if spent.at_s and (spent.executors, spent.cores, spent.size) == (
        size.executors, size.cores, size.size,
    ):  # fmt: skip
        return spent
    known = until(spent, now_s)
    return replace(
        known,
        since_s=spent.since_s or now_s,
        executors=size.executors,
        cores=size.cores,
        size=size.size,
        most=max(spent.most, size.executors),
    )
