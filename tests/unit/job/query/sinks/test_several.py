"""Several sinks of one query: what they have in common, and how a batch gets to each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from trimtab.errors import TransformError
from trimtab.job.query.sinks.plain import PlainSink
from trimtab.job.query.sinks.several import Named, SeveralSinks
from trimtab.job.termination import JobFailureError, ModuleMissingError, Reason


class Frame:
    """A batch that is kept once it is asked to be, and notes what happens to it."""

    def __init__(self, *, kept: bool = False) -> None:
        self.storageLevel = SimpleNamespace(useMemory=kept)
        self.did: list[str] = []

    def persist(self) -> None:
        self.did.append("persist")

    def count(self) -> int:
        self.did.append("count")
        return 1

    def unpersist(self) -> None:
        self.did.append("unpersist")


class Slow(PlainSink):
    """Takes some seconds of the clock of all."""

    def __init__(self, now: list[float], seconds: float, fails: Exception | None = None) -> None:
        self.now, self.seconds, self.fails = now, seconds, fails

    knobs = ("producer.linger",)
    on_replay = "once"

    def require(self) -> None:
        if self.fails:
            raise self.fails

    def write(self, frame: Any, batch_id: int) -> None:
        frame.did.append(f"write {batch_id}")
        self.now[0] += self.seconds
        if self.fails:
            raise self.fails


def sinks(*seconds: float, fails: Exception | None = None) -> SeveralSinks:
    """Sinks a, b, ...; the last of them fails."""
    now = [0.0]
    parts = [
        Named(name, None, Slow(now, each, fails if name == "abc"[len(seconds) - 1] else None))
        for name, each in zip("abc", seconds, strict=False)
    ]
    return SeveralSinks(parts, clock=lambda: now[0])


def test_a_batch_is_computed_once_and_each_write_is_timed() -> None:
    both, frame = sinks(1.0, 2.5), Frame()
    assert both.spent_s == {}
    both.write(frame, 7)  # type: ignore[arg-type]
    assert frame.did == ["persist", "count", "write 7", "write 7", "unpersist"]
    assert both.spent_s == {"a": 1.0, "b": 2.5}


def test_a_batch_that_is_kept_already_is_left_so() -> None:
    frame = Frame(kept=True)
    sinks(1.0, 1.0).write(frame, 7)  # type: ignore[arg-type]
    assert frame.did == ["write 7", "write 7"]


def test_they_have_in_common_what_each_has() -> None:
    both = sinks(1.0, 1.0)
    assert both.knobs == ("producer.linger",)
    assert both.phases == ("sink",)
    assert both.on_replay == "a: once; b: once"
    assert both.arrived() is None


@pytest.mark.parametrize(
    "failure",
    [
        JobFailureError(Reason.SINK_UNREACHABLE, "no answer", heals=True),
        JobFailureError(Reason.SINK_DENIED, "no answer"),
    ],
)
def test_a_failure_names_its_sink_and_stays_what_it_is(failure: JobFailureError) -> None:
    both, frame = sinks(1.0, 1.0, fails=failure), Frame()
    with pytest.raises(JobFailureError, match=r"^sink b: no answer$") as said:
        both.write(frame, 7)  # type: ignore[arg-type]
    assert (said.value.reason, said.value.heals) == (failure.reason, failure.heals)
    assert frame.did[-1] == "unpersist"
    with pytest.raises(JobFailureError, match=r"^sink b: no answer$"):
        both.require()


@pytest.mark.parametrize("kind", [TransformError, ModuleMissingError])
def test_so_does_a_function_that_is_missing(kind: type[TransformError]) -> None:
    with pytest.raises(kind, match=r"^sink b: no module$"):
        sinks(1.0, 1.0, fails=kind("no module")).require()
