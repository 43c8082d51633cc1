"""Which executors must go, from their pods, and what Spark's preStop hook does meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from trimtab.job.cluster import ClusterApi
from trimtab.job.executors import drain

SCRIPT = Path(__file__).parents[4] / "images/pipeline/decom.sh"


def pod(executor: str, **meta: str) -> dict[str, Any]:
    labels = {"spark-exec-id": executor, "spark-role": "executor"}
    return {"metadata": {"name": f"clicks-exec-{executor}", "labels": labels, **meta}}


GOING = pod("2", deletionTimestamp="2026-01-01T00:00:00Z")


def test_pods_that_are_being_deleted_are_told_by_their_executors() -> None:
    other = {"metadata": {"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert drain.terminating([pod("1"), GOING, other]) == {"2": "clicks-exec-2"}


def test_executors_are_told_once_and_again_when_they_are_others() -> None:
    told: list[list[str]] = []

    class Api:
        def follow(
            self, path: str, only: Mapping[str, str], _stopping: threading.Event
        ) -> Iterator[list[dict[str, Any]]]:
            assert (path, only) == ("pods", {"labelSelector": "spark-app-selector=a"})
            yield from ([pod("1"), pod("2")], [pod("1"), GOING], [pod("1"), GOING], [pod("1")])

    stopping = threading.Event()
    api, selector = cast("ClusterApi", Api()), "spark-app-selector=a"
    drain.start(api, selector, lambda ids: told.append(list(ids)), stopping).join(10)
    assert told == [["2"], []]


@pytest.fixture
def java(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose program is called java, alone in a directory that looks like /proc."""
    program = tmp_path / "java"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    process = subprocess.Popen([program, "60"])
    yield process
    process.kill()
    process.wait()


def hook(java: subprocess.Popen[bytes], tmp_path: Path, drain_s: int) -> subprocess.Popen[bytes]:
    """The hook, which sees no process but that one."""
    (tmp_path / "proc").mkdir()
    (tmp_path / f"proc/{java.pid}").symlink_to(f"/proc/{java.pid}")
    script = tmp_path / "decom.sh"
    script.write_text(SCRIPT.read_text().replace("/proc", str(tmp_path / "proc")))
    return subprocess.Popen(["bash", script], env=os.environ | {"TRIMTAB_DRAIN_S": str(drain_s)})


def test_the_hook_holds_the_pod_until_the_executor_has_gone(
    java: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    holding = hook(java, tmp_path, 60)
    with pytest.raises(subprocess.TimeoutExpired):
        holding.wait(1)
    java.send_signal(signal.SIGTERM)
    java.wait(10)
    assert holding.wait(10) == 0


def test_an_executor_that_is_not_released_in_time_is_told_to_finish(
    java: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    holding = hook(java, tmp_path, 1)
    assert java.wait(20) == -signal.SIGPWR
    assert holding.wait(10) == 0
