"""What the logical plan tells about a query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from pyspark.sql import DataFrame

from trimtab.job import gateway
from trimtab.job.batches.progress import SOURCE
from trimtab.job.gateway import JavaObject, items
from trimtab.job.pending.stage import TABLE_FUNCTION

KEEPS_EVERY_RECORD = frozenset(
    {
        "Project", "SubqueryAlias", "View", "CollectMetrics", "StreamingRelationV2",
        "RepartitionByExpression", "Repartition", "EventTimeWatermark", "WithCTE",
    }
)  # fmt: skip
"""Nodes of a logical plan that emit exactly one record for each input record."""


def is_one_to_one(frame: DataFrame) -> bool:
    """Whether, by its plan, the query writes exactly one record for each that it gets."""
    return all(
        str(node.nodeName()) in KEEPS_EVERY_RECORD or _is_pending(node)
        for node in tree(gateway.analyzed_plan(frame), above=SOURCE)
    )


def uses_python(frame: DataFrame) -> bool:
    """Whether, by the plan's expressions, the query uses Python workers on the executors."""
    return any(
        _is_pending(node)
        or any(
            "Python" in expression.getClass().getSimpleName()
            for root in items(node.expressions())
            for expression in tree(root)
        )
        for node in nodes(frame)
    )


Reads = Callable[[Callable[[str], str | None]], bool]
"""Whether a stream with these options is the pipeline's source."""


def other_streams(frame: DataFrame, reads: Reads) -> list[str]:
    """Streams that the query reads beside the pipeline's source, in words.

    Spark's offset log has them all, and the driver understands its own source only.
    """
    return sorted(
        str(node.nodeName())
        for node in nodes(frame)
        if not items(node.children()) and node.isStreaming() and not _is_read_by(node, reads)
    )


def streams(frame: DataFrame) -> Iterator[Callable[[str], str | None]]:
    """The options of each stream that the query reads, in the order of Spark's log of offsets."""
    for node in in_order(gateway.analyzed_plan(frame)):
        if str(node.nodeName()) == "StreamingRelationV2":
            yield node.extraOptions().get


def in_order(root: JavaObject) -> Iterator[JavaObject]:
    """A node of a plan and all its descendants, as Spark collects them: the left ones first."""
    yield root
    for child in items(root.children()):
        yield from in_order(child)


def _is_read_by(leaf: JavaObject, reads: Reads) -> bool:
    """Whether a leaf of the plan reads what the pipeline's source does."""
    match str(leaf.nodeName()):
        case "StreamingRelationV2":
            return reads(leaf.extraOptions().get)
        case "StreamingRelation":
            options = leaf.dataSource().options()
            return reads(lambda name: options.get(name).get() if options.contains(name) else None)
    return False


def computed(frame: DataFrame, columns: Collection[str]) -> list[str]:
    """Which of these columns of the result an expression gives a value, instead of a source."""
    result = items(gateway.analyzed_plan(frame).output())
    wanted = {str(each.exprId()): str(each.name()) for each in result if each.name() in columns}
    aliases = (
        str(expression.exprId())
        for node in nodes(frame)
        for expression in items(node.expressions())
        if expression.getClass().getSimpleName() == "Alias"
    )
    return sorted({wanted[each] for each in aliases if each in wanted})


def _is_pending(node: JavaObject) -> bool:
    """Whether a node is a `pending_map` stage: a join with its table function."""
    if str(node.nodeName()) != "LateralJoin":
        return False
    return f"Generate {TABLE_FUNCTION}(" in str(node.right().plan().toString())


def nodes(frame: DataFrame) -> Iterator[JavaObject]:
    """All nodes of a frame's analyzed plan, from the result down to the sources."""
    return tree(gateway.analyzed_plan(frame))


def tree(root: JavaObject, above: str | None = None) -> Iterator[JavaObject]:
    """A node of a plan or an expression, and all its descendants.

    `above`: without what is below the observation of that name.
    """
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        if above is None or not _observes(node, above):
            pending += items(node.children())


def _observes(node: JavaObject, name: str) -> bool:
    return str(node.nodeName()) == "CollectMetrics" and str(node.name()) == name
