"""Of two drivers of one checkpoint, one writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.fence import Fence, Process
from trimtab.job.termination import JobFailureError, Reason


class Desk:
    def __init__(self, root: Path) -> None:
        self.root, self.running = root, {"uid-0"}

    def fence(self, pod: str, uid: str) -> Fence:
        checkpoint = Checkpoint.of(f"file://{self.root}/g1/query")
        here = Process.here(pod, uid)
        return Fence(checkpoint, here, lambda other: other.uid in self.running)


def test_a_second_driver_waits_until_the_pod_of_the_first_is_gone(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.fence("clicks-driver-0", "uid-0").take()
    second = desk.fence("clicks-driver-1", "uid-1")
    with pytest.raises(JobFailureError, match="the driver in pod clicks-driver-0 uses") as caught:
        second.take()
    assert (caught.value.reason, caught.value.heals) == (Reason.CHECKPOINT_IN_USE, True)
    desk.running.clear()
    second.take()
    second.require()


def test_a_driver_that_was_taken_over_writes_nothing_more(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    first = desk.fence("clicks-driver-0", "uid-0")
    first.take()
    first.require()
    desk.running.clear()  # deleted by force, but the process still runs
    desk.fence("clicks-driver-0", "uid-1").take()
    with pytest.raises(JobFailureError, match="has taken over the checkpoint") as caught:
        first.require()
    assert not caught.value.heals


def test_a_process_of_the_same_pod_takes_over_at_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    before, after = (desk.fence("clicks-driver-0", "uid-0") for _ in range(2))
    before.take()
    after.take()
    after.require()
    with pytest.raises(JobFailureError):
        before.require()


def test_an_owner_that_does_not_read_is_no_owner(tmp_path: Path) -> None:
    Checkpoint.of(f"file://{tmp_path}/g1/query").own("?")
    fence = Desk(tmp_path).fence("clicks-driver-0", "uid-0")
    fence.take()
    fence.require()
