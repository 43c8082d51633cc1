"""Where a new generation begins, and what its offsets must belong to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.generations import LOOKED_BACK, earlier, inherited
from trimtab.job.query.sources.kafka import complete
from trimtab.job.termination import JobFailureError, Reason
from trimtab.kafka.admin import KafkaIdentity

HERE = KafkaIdentity("cluster-1", {"clicks": "id-1", "users": "id-2"})


def generation(root: Path, number: int, **offsets: int) -> str:
    """A generation that has committed one batch of partition 0 of each topic."""
    query = root / f"g{number}" / "query"
    for log, lines in (
        ("offsets", ["v1", "{}", json.dumps({topic: {"0": at} for topic, at in offsets.items()})]),
        ("commits", ["v1", "{}"]),
    ):
        (query / log).mkdir(parents=True)
        (query / log / "0").write_text("\n".join(lines))
    return f"file://{query}"


def uri(root: Path, number: int) -> str:
    return f"file://{root}/g{number}/query"


def test_the_generations_before_are_looked_at_from_the_latest() -> None:
    assert earlier("s3a://b/n/p/g3/query") == ["s3a://b/n/p/g2/query", "s3a://b/n/p/g1/query"]
    assert earlier("file:///c/g1/query") == []
    assert earlier("file:///elsewhere") == []
    assert len(earlier("file:///c/g999/query")) == LOOKED_BACK


def test_a_new_generation_begins_where_the_last_one_with_a_commit_ended(tmp_path: Path) -> None:
    generation(tmp_path, 1, clicks=70)
    generation(tmp_path, 2, clicks=90)
    assert inherited(uri(tmp_path, 4), ["clicks"], HERE) == {("clicks", 0): 90}
    assert inherited(uri(tmp_path, 1), ["clicks"], HERE) is None


def test_only_topics_that_are_still_the_same_are_inherited(tmp_path: Path) -> None:
    before = Checkpoint.of(generation(tmp_path, 1, clicks=70, users=7, gone=3))
    before.require_kafka(HERE)
    anew = KafkaIdentity("cluster-1", {"clicks": "id-9", "users": "id-2"})
    assert inherited(uri(tmp_path, 2), ["clicks", "users"], anew) == {("users", 0): 7}
    elsewhere = KafkaIdentity("cluster-2", HERE.topics)
    assert inherited(uri(tmp_path, 2), ["clicks", "users"], elsewhere) is None


def test_every_partition_has_an_offset_and_none_is_skipped() -> None:
    counts = {"clicks": 3, "users": 1}
    begin = {("clicks", 0): 90, ("clicks", 1): 91}
    assert complete(counts, "latest", {}, begin) == {
        "clicks": {"0": 90, "1": 91, "2": -2}, "users": {"0": -1},
    }  # fmt: skip
    said = {"clicks": {0: 5, 2: -1}}
    assert complete(counts, json.dumps({"clicks": {"0": 5, "2": -1}}), said, {}) == {
        "clicks": {"0": 5, "1": -2, "2": -1}, "users": {"0": -2},
    }  # fmt: skip


def refused(checkpoint: Checkpoint, now: KafkaIdentity) -> str:
    with pytest.raises(JobFailureError) as caught:
        checkpoint.require_kafka(now)
    assert caught.value.reason is Reason.CHECKPOINT_INCOMPATIBLE
    return str(caught.value)


def test_a_checkpoint_belongs_to_a_cluster_and_to_topics_by_their_ids(tmp_path: Path) -> None:
    checkpoint = Checkpoint.of(generation(tmp_path, 1, clicks=70))
    checkpoint.require_kafka(HERE)
    checkpoint.require_kafka(HERE)
    anew = KafkaIdentity("cluster-1", {"clicks": "id-9", "users": "id-2"})
    assert "clicks was deleted and created again" in refused(checkpoint, anew)
    assert "cluster-2" in refused(checkpoint, KafkaIdentity("cluster-2", HERE.topics))


def test_ids_that_are_unknown_are_not_compared_and_new_topics_are_learned(tmp_path: Path) -> None:
    checkpoint = Checkpoint.of(generation(tmp_path, 1, clicks=70))
    checkpoint.require_kafka(KafkaIdentity(None, {}))
    checkpoint.require_kafka(HERE)
    assert checkpoint.kafka() == HERE
    checkpoint.require_kafka(KafkaIdentity("cluster-1", {}))
    checkpoint.require_kafka(KafkaIdentity("cluster-1", HERE.topics | {"more": "id-3"}))
    assert checkpoint.kafka() == KafkaIdentity("cluster-1", HERE.topics | {"more": "id-3"})
    assert "more" in refused(checkpoint, KafkaIdentity("cluster-1", {"more": "id-4"}))
