"""Several sources: how the checkpoint, the batch and the Kafkas tell them apart."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit.job.samples import progress

from trimtab.errors import UnavailableError
from trimtab.job.batches.ledger import Side
from trimtab.job.batches.progress import parse
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.sources.several import offsets_of, shared
from trimtab.job.termination import JobFailureError
from trimtab.kafka.admin import KafkaAdmin, KafkaIdentity, Topics
from trimtab.kafka.several import SeveralKafkas

ORDER = ["payments", "orders", "orders"]
"""As a query that reads `orders` twice."""


def plan(root: Path, batch: int, end: int) -> None:
    """A committed batch that ends here in all topics, which have the same name."""
    for name in ("offsets", "commits"):
        (root / name).mkdir(parents=True, exist_ok=True)
    lines = [f'{{"in":{{"0":{end + number}}}}}' for number in (0, 100, 100)]
    (root / "offsets" / str(batch)).write_text("\n".join(["v1", '{"conf":{}}', *lines]))
    (root / "commits" / str(batch)).write_text("v1\n{}")


def test_the_offsets_of_topics_of_one_name_are_told_apart(tmp_path: Path) -> None:
    checkpoint = Checkpoint.of(str(tmp_path / "query"))
    assert checkpoint.sources() == [""]
    checkpoint.require_sources(ORDER)
    plan(tmp_path / "query", 4, 10)
    plan(tmp_path / "query", 5, 17)
    again = Checkpoint.of(str(tmp_path / "query"))
    assert again.sources() == ORDER
    assert again.committed_offsets() == {("payments/in", 0): 17, ("orders/in", 0): 117}
    assert again.batch_records(5) == 14
    again.require_topics(["orders/in", "payments/in"])
    with pytest.raises(JobFailureError, match="holds offsets of payments/in"):
        again.require_topics(["orders/in"])


def test_before_the_first_commit_each_begins_where_it_began(tmp_path: Path) -> None:
    checkpoint = Checkpoint.of(str(tmp_path / "query"))
    checkpoint.require_sources(ORDER)
    for number, offset in ((0, 3), (1, 5)):
        file = tmp_path / "query/sources" / str(number) / "0"
        file.parent.mkdir(parents=True)
        file.write_text(f'v1\n{{"in":{{"0":{offset}}}}}')
    assert checkpoint.committed_offsets() == {("payments/in", 0): 3, ("orders/in", 0): 5}


def test_another_order_would_take_the_offsets_of_one_for_another(tmp_path: Path) -> None:
    checkpoint = Checkpoint.of(str(tmp_path / "query"))
    checkpoint.require_sources(["orders", "payments"])
    checkpoint.require_sources(["payments", "orders"])  # nothing is planned yet
    plan(tmp_path / "query", 0, 10)
    with pytest.raises(JobFailureError, match="restore the order in which the query names"):
        checkpoint.require_sources(["orders", "payments"])


def test_a_checkpoint_of_a_single_source_is_not_one_of_several(tmp_path: Path) -> None:
    checkpoint = Checkpoint.of(str(tmp_path / "query"))
    plan(tmp_path / "query", 0, 10)
    assert checkpoint.committed_offsets() == {("in", 0): 110}
    with pytest.raises(JobFailureError, match="has the query read a single source, and it now"):
        checkpoint.require_sources(["orders", "payments"])


def test_a_batch_holds_what_all_have_read(tmp_path: Path) -> None:
    event = progress()
    (one,) = event["sources"]
    event["sources"] = [one, copy.deepcopy(one)]
    seen = event["observedMetrics"].pop("trimtab_source")
    slow = copy.deepcopy(seen) | {"stamps": [stamp - 5000 for stamp in seen["stamps"]]}
    event["observedMetrics"] |= {"trimtab_source_payments": seen, "trimtab_source_orders": slow}
    alone, report = parse(progress()), parse(event, 1, ORDER)
    assert alone
    assert report
    assert alone.latency
    assert report.latency
    assert report.records == 2 * alone.records
    assert report.read == Side(2 * alone.records), "a join leaves no record as it was"
    assert {topic for topic, _ in report.end_offsets} == {"payments/in", "orders/in"}
    assert report.latency.quantiles[0.95] == pytest.approx(alone.latency.quantiles[0.95] + 5)
    assert report.planned == 2 * (alone.planned or 0)


def test_the_batch_limit_is_shared_out() -> None:
    knobs = {"maxOffsetsPerTrigger": 1000.0, "minPartitions": 8.0, "trigger": 2.0}
    assert shared(knobs, 0.25) == {
        "maxOffsetsPerTrigger": 250.0, "minPartitions": 2.0, "trigger": 2.0,
    }  # fmt: skip
    assert shared({"maxOffsetsPerTrigger": 1.0}, 0.1)["maxOffsetsPerTrigger"] == 1.0


def test_offsets_go_back_to_the_source_that_they_are_of() -> None:
    offsets = {("orders/in", 0): 5, ("payments/in", 0): 7, ("orders/in", 1): 6}
    assert offsets_of(offsets, "orders") == {("in", 0): 5, ("in", 1): 6}


class Kafka:
    """A cluster with one topic, `in`."""

    def __init__(self, number: int) -> None:
        self.number, self.asked = number, list[object]()

    def look(self, topics: Sequence[str]) -> Topics:
        self.asked.append(list(topics))
        return Topics(dict.fromkeys(topics, self.number), self.number)

    def identity(self, topics: Sequence[str]) -> KafkaIdentity:
        return KafkaIdentity(f"id{self.number}", dict.fromkeys(topics, f"t{self.number}"))

    def end_offsets(
        self, partitions: Mapping[str, int], *, committed: bool
    ) -> dict[tuple[str, int], int]:
        if self.number == 3 and committed:
            raise UnavailableError("the third does not answer")
        return {(t, n): 10 * self.number for t, count in partitions.items() for n in range(count)}


def test_each_kafka_is_asked_for_its_own_topics() -> None:
    one, two = Kafka(1), Kafka(2)
    kafkas = SeveralKafkas(cast("Any", {"orders": one, "payments": two}))
    topics = ["orders/in", "payments/in"]
    assert kafkas.look(topics) == Topics({"orders/in": 1, "payments/in": 2}, 3)
    assert (one.asked, two.asked) == ([["in"]], [["in"]])
    assert kafkas.end_offsets({"orders/in": 1, "payments/in": 2}) == {
        ("orders/in", 0): 10, ("payments/in", 0): 20, ("payments/in", 1): 20,
    }  # fmt: skip
    assert kafkas.identity(topics) == KafkaIdentity(
        "orders=id1,payments=id2", {"orders/in": "t1", "payments/in": "t2"}
    )


def test_without_one_of_them_nothing_is_known() -> None:
    kafkas = SeveralKafkas(cast("Mapping[str, KafkaAdmin]", {"a": Kafka(1), "b": Kafka(3)}))
    with pytest.raises(UnavailableError, match="the third does not answer"):
        kafkas.end_offsets({"a/in": 1, "b/in": 1})
