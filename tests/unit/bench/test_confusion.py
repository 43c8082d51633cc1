"""The diagnosis, where the true cause is known."""

from __future__ import annotations

from bench.confusion import CAUSES, named, scenario, single

from trimtab.api.reasons import BottleneckKind as Kind


def test_every_kind_is_made_but_none() -> None:
    assert set(CAUSES) == set(Kind) - {Kind.NONE}


def test_one_cause_is_named_right() -> None:
    """The one that is not: what each task costs is seen only once batches differ in size."""
    wrong = [(r.truth, r.first, r.last) for r in single() if not r.right]
    assert wrong == [((Kind.BATCH_OVERHEAD,), Kind.CPU, Kind.CPU)]


def test_a_run_that_is_never_over_names_nothing() -> None:
    idle = named((Kind.CPU,), scenario("idle", {"rate": 10, "start": {"executors": 4}}))
    assert idle.first is idle.last is Kind.NONE
    assert not idle.right
