"""Places new executors in the scopes *Node* and *Zone*: near the brokers that lead the partitions.

A node selector of Spark has one value per label and applies to every pod that is created while it
is set. So executors for several places are requested in steps, one place at a time: set the
selector, raise the target, wait until they have registered, continue. This module plans the
steps; `Executors` takes them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from trimtab.api.endpoints import KafkaSourceDocument
from trimtab.api.knobs import NODE, ZONE
from trimtab.api.placement import HOST_LABEL, ZONE_LABEL
from trimtab.errors import UnavailableError
from trimtab.job.query.topics import START_TIMEOUT_S
from trimtab.kafka.admin import KafkaAdmin

log = logging.getLogger(__name__)

SELECTOR = "spark.kubernetes.executor.node.selector."

LABELS = {NODE: HOST_LABEL, ZONE: ZONE_LABEL}
"""The node label that identifies a place of a scope."""


@dataclass(frozen=True, slots=True)
class Broker:
    """Where a broker of the source runs; None if unknown."""

    node: str | None
    zone: str | None

    def place(self, scope: int) -> str | None:
        """The value of the scope's label."""
        return self.node if scope == NODE else self.zone


@dataclass(frozen=True, slots=True)
class Step:
    """Executors to request together, up to `target` in all; without a label they go anywhere."""

    target: int
    label: str | None = None
    value: str | None = None

    @property
    def selector(self) -> dict[str, str]:
        """Spark's configuration key and value; empty for anywhere."""
        return {} if self.label is None else {SELECTOR + self.label: str(self.value)}


def leaders_by_place(
    leaders: Iterable[int], brokers: Mapping[int, Broker], scope: int
) -> Counter[str]:
    """How many partitions each place leads; empty if the scope has no places or none is known.

    `leaders` has the leader of each partition.
    """
    if scope not in LABELS:
        return Counter()
    places = (brokers[leader].place(scope) for leader in leaders if leader in brokers)
    return Counter(place for place in places if place)


def steps(now: int, target: int, weights: Mapping[str, int], scope: int | None) -> list[Step]:
    """The steps from `now` executors to `target`: each place gets its share of the new ones.

    Shares are proportional to the partitions that a place leads, by largest remainder; names break
    ties. Without places, or when scaling down, it is one step without a selector.
    """
    new, whole = target - now, sum(weights.values())
    if scope not in LABELS or new <= 0 or not whole:
        return [Step(target)]
    exact = {place: new * weight / whole for place, weight in weights.items()}
    share = {place: int(value) for place, value in exact.items()}
    by_rest = sorted(exact, key=lambda place: (share[place] - exact[place], place))
    for place in by_rest[: new - sum(share.values())]:
        share[place] += 1
    planned, reached = [], now
    for place in sorted(share):
        if share[place]:
            reached += share[place]
            planned.append(Step(reached, LABELS[scope], place))
    return planned


class Places:
    """The places of the source's partitions, read from Kafka whenever executors are placed."""

    def __init__(
        self, kafka: KafkaAdmin | None, topics: Sequence[str], node_of: Callable[[str], str | None]
    ) -> None:
        """Without a Kafka no place is better than another.

        `node_of` returns the node of the pod whose name a broker's address begins with.
        """
        self._kafka, self._topics, self._node_of = kafka, topics, node_of

    @classmethod
    def of(cls, source: KafkaSourceDocument | None, node_of: Callable[[str], str | None]) -> Places:
        """The places of a source; it connects on first use."""
        if source is None:
            return cls(None, (), node_of)
        return cls(KafkaAdmin(source.connection, START_TIMEOUT_S), source.topics, node_of)

    def __call__(self, scope: int) -> Counter[str]:
        """How many partitions each place leads; empty, with a log message, if none is known."""
        if scope not in LABELS or self._kafka is None:
            return Counter()
        try:
            brokers = {
                number: Broker(self._node_of(host.split(".")[0]) if scope == NODE else None, rack)
                for number, (host, rack) in self._kafka.brokers().items()
            }
            found = leaders_by_place(self._kafka.leaders(self._topics), brokers, scope)
        except UnavailableError as error:
            log.warning("executors are not placed: %s", error)
            return Counter()
        if not found:
            log.warning("executors are not placed: the brokers' %s is not known", LABELS[scope])
        return found
