"""The state of a query: whether it keeps any, and what its checkpoint pins.

Spark keeps the number of state partitions and the provider that the checkpoint began with, whatever
is configured now. In the first batch it rejects different key or value types and different kinds
of operators, but not a window of another length or a key that is computed differently: then the
results are silently wrong. So all of it is compared before the query starts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from pyspark.sql import DataFrame, SparkSession

from trimtab.api.contract import Job
from trimtab.api.v1alpha1.pipeline_rules import SHUFFLE_PARTITIONS_KEY
from trimtab.job.gateway import JavaObject, items
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.plan import nodes, tree
from trimtab.job.query.storage import local_path
from trimtab.job.termination import JobFailureError, Reason

PROVIDER_KEY = "spark.sql.streaming.stateStore.providerClass"
MOST_BY_DEFAULT = 64
"""Default limit: each state partition costs a task and a commit in every batch."""

KEEP_STATE = frozenset(
    {
        "Aggregate", "Distinct", "Deduplicate", "DeduplicateWithinWatermark", "GlobalLimit",
        "FlatMapGroupsWithState", "FlatMapGroupsInPandasWithState", "TransformWithState",
        "TransformWithStateInPySpark",
    }
)  # fmt: skip
"""Plan nodes that keep state if their input is a stream; a join does if both inputs are."""

_ATTRIBUTE = re.compile(r"(\w*)#(\d+)L?(-T\d+ms)?")
_NEW = "restore the old one, or raise checkpoint.generation to begin a new checkpoint"


def operators(frame: DataFrame) -> list[str]:
    """The operators that keep state, each with a digest of its keys and aggregates.

    A digest is stable across restarts. It leaves out column names, the watermark and everything
    computed from the result, because none of them affects the state.
    """
    plan = list(nodes(frame))
    keepers = [node for node in plan if _keeps_state(node)]
    meanings = _Meanings(plan if keepers else ())
    return [_describe(node, meanings) for node in keepers]


def _keeps_state(node: JavaObject) -> bool:
    if str(node.nodeName()) == "Join":
        return all(side.isStreaming() for side in items(node.children()))
    return str(node.nodeName()) in KEEP_STATE and bool(node.isStreaming())


def _describe(node: JavaObject, meanings: _Meanings) -> str:
    name = str(node.nodeName())
    if name == "Aggregate":
        keys = [meanings.of(key) for key in items(node.groupingExpressions())]
        # anything else only formats the result
        values = {
            meanings.of(part)
            for root in items(node.aggregateExpressions())
            for part in tree(root)
            if part.getClass().getSimpleName() == "AggregateExpression"
        }
        parts = [*keys, *sorted(values)]
    else:
        parts = [meanings.of(part) for part in items(node.expressions())]
    return f"{name} {_digest(parts)}"


class _Meanings:
    """Expressions as text in which each column is replaced by what it is computed from."""

    def __init__(self, plan: Iterable[JavaObject]) -> None:
        self._aliases = dict(_aliases(plan))
        self._known: dict[str, str] = {}

    def of(self, expression: JavaObject) -> str:
        """The text of an expression without Spark's numbering, which differs at each start."""
        alias = expression.getClass().getSimpleName() == "Alias"
        return self._text(str((expression.child() if alias else expression).toString()))

    def _text(self, text: str) -> str:
        return _ATTRIBUTE.sub(lambda m: self._column(m[1], m[2]), text)

    def _column(self, name: str, number: str) -> str:
        if number not in self._aliases:
            return name
        if number not in self._known:
            text = self._aliases[number]
            meaning = self._text(text)
            renamed = _ATTRIBUTE.fullmatch(text) is not None
            self._known[number] = meaning if renamed else _digest([meaning])
        return self._known[number]


def _aliases(plan: Iterable[JavaObject]) -> Iterator[tuple[str, str]]:
    for node in plan:
        for expression in items(node.expressions()):
            if expression.getClass().getSimpleName() == "Alias":
                yield str(expression.exprId().id()), str(expression.child().toString())


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:10]


def settle(
    session: SparkSession, job: Job, checkpoint: Checkpoint, frame: DataFrame,
    partitions: Callable[[], int],
) -> bool:  # fmt: skip
    """Fit a query that is about to start to its checkpoint; returns whether it keeps state.

    `partitions` returns the number of partitions of the source.

    Raises:
        JobFailureError: the state cannot be stored, or does not match the checkpoint.
    """
    found = operators(frame)
    if found and _only_here(job):
        raise JobFailureError(Reason.STATE_NEEDS_SHARED_CHECKPOINT, _not_shared(found))
    said = _said(job)
    pinned = checkpoint.pinned()
    if found:
        _require_pinned(said, pinned)
    _require_same(checkpoint, found, str(session.version))
    if found or said[SHUFFLE_PARTITIONS_KEY]:
        default = pinned.get(SHUFFLE_PARTITIONS_KEY) or min(partitions(), MOST_BY_DEFAULT)
        session.conf.set(SHUFFLE_PARTITIONS_KEY, said[SHUFFLE_PARTITIONS_KEY] or str(default))
    return bool(found)


def _only_here(job: Job) -> bool:
    """Whether only the driver can reach the checkpoint: it is on a volume of its own."""
    pods = job.executors
    return pods is not None and not pods.checkpoint_claim and bool(local_path(job.checkpoint_uri))


def _not_shared(found: list[str]) -> str:
    kinds = ", ".join(sorted({operator.split()[0] for operator in found}))
    return (
        f"the query keeps state ({kinds}) that the executors write, but only the driver mounts the"
        " checkpoint: a claim cannot become shared, so delete the pipeline and its claim"
        " <name>-checkpoint, and create it again with checkpoint.volumeClaim.shared: true and a"
        " storage class with ReadWriteMany, or with checkpoint.uri instead of the claim"
    )


def _said(job: Job) -> dict[str, str | None]:
    partitions = job.transform.shuffle_partitions
    return {
        SHUFFLE_PARTITIONS_KEY: (
            str(partitions) if partitions else job.spark_conf.get(SHUFFLE_PARTITIONS_KEY)
        ),
        PROVIDER_KEY: job.spark_conf.get(PROVIDER_KEY),
    }


def _require_pinned(said: Mapping[str, str | None], pinned: Mapping[str, str]) -> None:
    for key, value in said.items():
        if value is not None and pinned.get(key, value) != value:
            raise JobFailureError(
                Reason.CHECKPOINT_INCOMPATIBLE,
                f"the state in the checkpoint was made with {key} {pinned[key]}, the spec says"
                f" {value}: {_NEW}",
            )


def _require_same(checkpoint: Checkpoint, found: list[str], spark: str) -> None:
    """Compare with the operators that wrote the state, if this version of Spark described them."""
    known = checkpoint.state_operators(spark)
    if known is None and found and checkpoint.begun_stateless():
        raise JobFailureError(
            Reason.CHECKPOINT_INCOMPATIBLE,
            "the query kept no state when this checkpoint began, and what was read since is not in"
            f" it: {_NEW}",
        )
    if known is not None and known != found:
        raise JobFailureError(
            Reason.CHECKPOINT_INCOMPATIBLE,
            f"the keys or aggregates of the query ({', '.join(found) or 'none'}) are not those that"
            f" made the state in the checkpoint ({', '.join(known)}): {_NEW}",
        )
    if known is None and found:
        checkpoint.remember_state_operators(found, spark)
