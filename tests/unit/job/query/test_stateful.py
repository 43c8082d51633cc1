"""What the checkpoint pins of a query's state, checked before the query starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.job.query.test_checkpoint import plan
from tests.unit.job.test_session import POD, job

from trimtab.job.query import stateful
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.termination import JobFailureError, Reason

SHUFFLE = "spark.sql.shuffle.partitions"
COUNTS = ["Aggregate 0123456789"]
LOCAL, SHARED = {"executors": POD}, {"executors": POD | {"checkpointClaim": "clicks-checkpoint"}}


class Session:
    """What of a SparkSession is used."""

    def __init__(self, version: str = "4.2.0") -> None:
        self.version = version
        self.values: dict[str, str] = {}

    @property
    def conf(self) -> Session:
        return self

    def set(self, key: str, value: str) -> None:
        self.values[key] = value


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "g1" / "query"


def settle(
    monkeypatch: pytest.MonkeyPatch, root: Path, found: list[str], *, spark: str = "4.2.0",
    partitions: int = 12, **changes: Any,
) -> str | None:  # fmt: skip
    """Settle a query that keeps this state; returns the shuffle partitions that were set."""
    monkeypatch.setattr(stateful, "operators", lambda _frame: found)
    session, frame = Session(spark), None
    args: Any = (session, job(**changes), Checkpoint.of(str(root)), frame, lambda: partitions)
    assert stateful.settle(*args) is bool(found)
    return session.values.get(SHUFFLE)


def commit(root: Path, batch: int, *, state_kept: bool = True, **conf: str) -> None:
    plan(root, batch, 10, committed=True)
    log = f'v1\n{json.dumps({"batchWatermarkMs": 0, "conf": conf})}\n{{"in":{{"0":1}}}}'
    (root / "offsets" / str(batch)).write_text(log)
    if state_kept:
        (root / "state").mkdir(exist_ok=True)


def test_state_that_executor_pods_cannot_write_is_refused(monkeypatch, root: Path) -> None:
    with pytest.raises(JobFailureError, match=r"volumeClaim\.shared: true") as refused:
        settle(monkeypatch, root, COUNTS, **LOCAL)
    assert refused.value.reason is Reason.STATE_NEEDS_SHARED_CHECKPOINT
    settle(monkeypatch, root, [], **LOCAL)
    settle(monkeypatch, root, COUNTS, **SHARED)
    settle(monkeypatch, root, COUNTS)  # Spark's local mode has no other process
    settle(monkeypatch, root, COUNTS, **LOCAL, checkpointUri="s3a://bucket/n/clicks/g1/query")


def test_partitions_of_the_state_are_what_is_said_else_those_of_the_source(
    monkeypatch, root: Path
) -> None:
    assert settle(monkeypatch, root, COUNTS) == "12"
    assert settle(monkeypatch, root, COUNTS, partitions=200) == str(stateful.MOST_BY_DEFAULT)
    said = {"transform": {"sql": "x", "shufflePartitions": 7}}
    assert settle(monkeypatch, root, COUNTS, **said) == "7"
    assert settle(monkeypatch, root, COUNTS, sparkConf={SHUFFLE: "9"}) == "9"
    assert settle(monkeypatch, root, []) is None, "a stateless query keeps Spark's own"


def test_the_checkpoint_keeps_the_number_and_the_provider_that_it_began_with(
    monkeypatch, root: Path
) -> None:
    settle(monkeypatch, root, COUNTS)
    commit(root, 0, **{SHUFFLE: "5", stateful.PROVIDER_KEY: "RocksDB"})
    assert settle(monkeypatch, root, COUNTS) == "5"
    same = {"transform": {"sql": "x", "shufflePartitions": 5}}
    assert settle(monkeypatch, root, COUNTS, **same) == "5"
    for change, words in (
        ({"transform": {"sql": "x", "shufflePartitions": 7}}, "partitions 5, the spec says 7"),
        ({"sparkConf": {SHUFFLE: "7"}}, "partitions 5, the spec says 7"),
        ({"sparkConf": {stateful.PROVIDER_KEY: "Other"}}, "RocksDB, the spec says Other"),
    ):
        with pytest.raises(JobFailureError, match=words) as refused:
            settle(monkeypatch, root, COUNTS, **change)
        assert refused.value.reason is Reason.CHECKPOINT_INCOMPATIBLE


def test_other_keys_or_aggregates_are_refused_once_a_batch_was_committed(
    monkeypatch, root: Path
) -> None:
    settle(monkeypatch, root, COUNTS)
    settle(monkeypatch, root, ["Aggregate other"])  # the first one never came to a batch
    commit(root, 0)
    for found in (COUNTS, []):
        with pytest.raises(JobFailureError, match=r"made the state in the checkpoint \(Agg\w+ oth"):
            settle(monkeypatch, root, found)
    settle(monkeypatch, root, ["Aggregate other"])
    settle(monkeypatch, root, ["in the words of a newer Spark"], spark="4.3.0")


def test_a_checkpoint_without_state_cannot_begin_one(monkeypatch, root: Path) -> None:
    commit(root, 0, state_kept=False)
    settle(monkeypatch, root, [])
    with pytest.raises(JobFailureError, match="kept no state when this checkpoint began"):
        settle(monkeypatch, root, COUNTS)
    commit(root, 1)  # made by a driver that did not write down what its state is
    settle(monkeypatch, root, COUNTS)


def test_columns_are_told_by_what_they_are_computed_from() -> None:
    def expression(text: str, number: int | None = None) -> Any:
        return Expression(text, number)

    def meaning(window_s: int, first_number: int) -> str:
        alias = expression(f"({window_s} + timestamp#{first_number}-T1000ms)", first_number + 1)
        meanings = stateful._Meanings([Node([alias])])
        return meanings.of(expression(f"window#{first_number + 1}-T1000ms"))

    assert meaning(10, 1) == meaning(10, 261)
    assert meaning(10, 1) != meaning(20, 1)
    renamed = stateful._Meanings([Node([expression("k#3L", 4), expression("k#4L % 7", 5)])])
    assert renamed.of(expression("kk#4L")) == "k"
    assert renamed.of(expression("m#5L")) == stateful._digest(["k % 7"])


class Expression:
    """One of Spark's expressions, an alias where it has a number."""

    def __init__(self, text: str, number: int | None) -> None:
        self._text, self._number = text, number

    def getClass(self) -> Expression:  # noqa: N802 -- Java's name
        return self

    def getSimpleName(self) -> str:  # noqa: N802
        return "AttributeReference" if self._number is None else "Alias"

    def child(self) -> Expression:
        return Expression(self._text, None)

    def exprId(self) -> Expression:  # noqa: N802
        return self

    def id(self) -> int | None:
        return self._number

    def toString(self) -> str:  # noqa: N802
        return self._text


class Node:
    """A node of a plan with its expressions, as a Scala sequence."""

    def __init__(self, expressions: list[Expression]) -> None:
        self._expressions = expressions

    def expressions(self) -> Node:
        return self

    def size(self) -> int:
        return len(self._expressions)

    def apply(self, index: int) -> Expression:
        return self._expressions[index]
