"""A long batch is not a hang; one that makes no progress is."""

from __future__ import annotations

import pytest

from trimtab.job.telemetry.stall import Progress, StallWatch

LIMIT_S = 60.0


class Watched:
    def __init__(self) -> None:
        self.now = 0.0
        self.watch = StallWatch(LIMIT_S, lambda: self.now)

    def look(self, seconds: float, progress: Progress) -> bool:
        self.now += seconds
        self.watch.observe(progress)
        return self.watch.probe()[0]


def test_before_spark_has_started_the_driver_is_alive() -> None:
    watched = Watched()
    watched.now = 10 * LIMIT_S
    assert watched.watch.probe() == (True, "alive")
    assert watched.watch.stalled_s == 0.0


def test_a_batch_that_takes_hours_but_gets_on_is_alive() -> None:
    watched = Watched()
    assert all(watched.look(LIMIT_S - 1, Progress(7, mark, starved=False)) for mark in range(200))


def test_a_batch_that_makes_no_progress_hangs() -> None:
    watched = Watched()
    stuck = Progress(7, 1000, starved=False)
    assert [watched.look(20, stuck) for _ in range(5)] == [True, True, True, True, False]
    assert watched.watch.probe() == (
        False,
        "batch 7 makes no progress: nothing for 80 s, at most 60 s",
    )
    assert watched.look(1, Progress(7, 1001, starved=False))


@pytest.mark.parametrize(
    "still", [Progress(None, 0, starved=False), Progress(7, 0, starved=True)],
    ids=["between batches", "no executors"],
)  # fmt: skip
def test_to_wait_is_not_to_hang(still: Progress) -> None:
    watched = Watched()
    assert all(watched.look(LIMIT_S, still) for _ in range(10))


def test_spark_that_does_not_answer_hangs_even_between_batches() -> None:
    watched = Watched()
    watched.look(0, Progress(None, 0, starved=False))
    watched.now += LIMIT_S + 1
    assert watched.watch.probe() == (False, "Spark does not answer: nothing for 61 s, at most 60 s")
