from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.api import endpoints
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.culprits import Span
from trimtab.job.query.sources import open_source
from trimtab.job.termination import JobFailureError


def plan(root: Path, batch: int, end: int, committed: bool) -> None:
    for name in ("offsets", "commits"):
        (root / name).mkdir(parents=True, exist_ok=True)
    log = f'v1\n{{"batchWatermarkMs":0}}\n{{"in":{{"0":{end},"1":{end}}}}}'
    (root / "offsets" / str(batch)).write_text(log)
    (root / "offsets" / f".{batch}.crc").write_text("x")
    if committed:
        (root / "commits" / str(batch)).write_text("v1\n{}")


def test_a_new_checkpoint_tells_nothing(tmp_path: Path) -> None:
    checkpoint = Checkpoint.of(str(tmp_path / "1"))
    assert checkpoint.replay_batch() is None
    assert checkpoint.last_commit_time() is None
    assert checkpoint.committed_offsets() is None
    assert checkpoint.batch_records(0) is None
    checkpoint.require_topics(["anything"])


def test_the_planned_batch_replays_and_the_committed_one_counts(tmp_path: Path) -> None:
    checkpoint = Checkpoint.of(f"file://{tmp_path}")
    plan(tmp_path, 9, 100, committed=True)
    assert checkpoint.replay_batch() is None
    plan(tmp_path, 10, 130, committed=False)
    assert checkpoint.replay_batch() == 10
    assert checkpoint.committed_offsets() == {("in", 0): 100, ("in", 1): 100}
    assert checkpoint.batch_records(10) == 60
    assert checkpoint.last_commit_time() is not None


def test_what_a_planned_batch_reads(tmp_path: Path) -> None:
    checkpoint = Checkpoint.of(str(tmp_path))
    assert checkpoint.spans(10) == []
    plan(tmp_path, 9, 100, committed=True)
    plan(tmp_path, 10, 130, committed=False)
    assert checkpoint.spans(10) == [Span("in", 0, 100, 130), Span("in", 1, 100, 130)]
    (tmp_path / "offsets" / "10").write_text('v1\n{}\n{"in": {"0": 100, "1": 130, "2": 7}}')
    assert checkpoint.spans(10) == [Span("in", 1, 100, 130), Span("in", 2, 0, 7)]


def test_a_batch_that_begins_again_is_counted_over_starts(tmp_path: Path) -> None:
    def counted(batch: int) -> int:
        return Checkpoint.of(str(tmp_path / "1")).count_replay(batch)

    assert [counted(17), counted(17), counted(17), counted(18), counted(17)] == [1, 2, 3, 1, 1]
    (tmp_path / "1.replays.json").write_text("{")
    assert counted(17) == 1


def test_before_the_first_commit_the_position_is_where_the_source_began(tmp_path: Path) -> None:
    (tmp_path / "sources" / "0").mkdir(parents=True)
    (tmp_path / "sources" / "0" / "0").write_bytes(b'\x00v1\n{"in":{"0":5,"1":7}}')
    plan(tmp_path, 0, 10, committed=False)
    checkpoint = Checkpoint.of(str(tmp_path))
    assert checkpoint.committed_offsets() == {("in", 0): 5, ("in", 1): 7}
    assert checkpoint.batch_records(0) == 8


def test_the_run_number_grows_over_starts_and_generations(tmp_path: Path) -> None:
    assert Checkpoint.of(str(tmp_path / "1")).next_run_number() == 1
    assert Checkpoint.of(str(tmp_path / "1")).next_run_number() == 2
    assert Checkpoint.of(str(tmp_path / "2")).next_run_number() == 3


def test_refuses_offsets_of_another_topic(tmp_path: Path) -> None:
    plan(tmp_path, 0, 10, committed=True)
    with pytest.raises(JobFailureError, match="the source reads other"):
        Checkpoint.of(str(tmp_path)).require_topics(["other"])


def test_the_offsets_of_the_last_batch_are_read_once(tmp_path: Path) -> None:
    plan(tmp_path, 9, 100, committed=True)
    plan(tmp_path, 10, 130, committed=True)
    plan(tmp_path, 11, 150, committed=False)
    checkpoint = Checkpoint.of(str(tmp_path))
    assert checkpoint.batch_records(10) == 60
    (tmp_path / "offsets" / "10").unlink()
    assert checkpoint.batch_records(11) == 40
    assert checkpoint.batch_records(11) is None, "again, after a failure: read anew"


def made_rows(root: Path, batch: int, position: int) -> None:
    """A batch of the rate source, as Spark 4.2 logs it."""
    (root / "offsets").mkdir(parents=True, exist_ok=True)
    (root / "sources" / "0").mkdir(parents=True, exist_ok=True)
    (root / "sources" / "0" / "0").write_text("v1\n1795697515547")
    (root / "offsets" / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{position}')


def test_rows_that_spark_makes_are_counted_by_the_seconds_of_a_batch(tmp_path: Path) -> None:
    document = endpoints.RateSourceDocument(kind="rate", rows_per_second=20, partitions=2)
    source, checkpoint = open_source(document), Checkpoint.of(str(tmp_path))
    assert source.planned(checkpoint, 0) is None
    made_rows(tmp_path, 0, 2)
    made_rows(tmp_path, 1, 5)
    assert [source.planned(checkpoint, batch) for batch in (0, 1, 2)] == [40, 60, None]
    (tmp_path / "offsets" / "0").unlink()
    assert source.planned(checkpoint, 1) is None
    assert checkpoint.committed_offsets() is None
    assert checkpoint.spans(1) == []


def test_a_source_of_topics_refuses_the_rows_of_another_and_the_other_its_topics(
    tmp_path: Path,
) -> None:
    made_rows(tmp_path / "1", 0, 2)
    rows, topics = (Checkpoint.of(str(tmp_path / each)) for each in ("1", "2"))
    rows.require_topics([])
    with pytest.raises(JobFailureError, match=r"of a source without topics, but .* reads in: bump"):
        rows.require_topics(["in"])
    plan(tmp_path / "2", 0, 10, committed=True)
    with pytest.raises(JobFailureError, match="offsets of in, but the source reads no topic: bump"):
        topics.require_topics([])
