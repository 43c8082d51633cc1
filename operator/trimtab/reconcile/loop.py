"""One tick over all Kafka clusters and pipelines: gather once, then reconcile one by one.

An error in one object is logged and does not affect the others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from trimtab.api.kinds import WATCHED
from trimtab.errors import TrimtabError
from trimtab.ports import Clock, Cluster, Manifest, MetricSource, Telemetry, key_of
from trimtab.reconcile import kafka, pipeline
from trimtab.reconcile.apply.writer import Writer
from trimtab.reconcile.decide.leftovers import LEFT
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.driver_pod import drivers
from trimtab.reconcile.observe.executor_pods import by_pipeline
from trimtab.reconcile.observe.gather import Gathered, gather
from trimtab.reconcile.observe.targets import targets
from trimtab.reconcile.tick import TickContext
from trimtab.settings import OperatorSettings
from trimtab.workloads.ownership import by_owner

RESYNC_S = 300.0
"""Seconds between full lists, which make up for missed events."""

log = logging.getLogger(__name__)


class ControlLoop:
    """The work of the one control task; `tick` blocks, so it is called in a worker thread."""

    def __init__(
        self, cluster: Cluster, metrics: MetricSource, telemetry: Telemetry, clock: Clock,
        config: OperatorSettings,
    ) -> None:  # fmt: skip
        self.cache = ObjectCache()
        self._cluster, self._metrics = cluster, metrics
        self._telemetry, self._clock, self._config = telemetry, clock, config
        self._synced_s: float | None = None

    @property
    def synced(self) -> bool:
        """Whether every kind has been listed at least once."""
        return self._synced_s is not None

    def tick(self) -> None:
        """List if due, gather, reconcile everything; raises if the API server does not answer."""
        started_s = self._clock.now()
        if self._synced_s is None or started_s - self._synced_s > RESYNC_S:
            self.resync()
        pipelines = self.cache.all("StreamPipeline")
        pods = self.cache.all("Pod")
        executors = by_pipeline(pods)
        gathered = Gathered({})
        if pipelines:
            gathered = gather(
                self._metrics, targets(pipelines, self.cache, executors), started_s,
                self._config.scrape_s,
                self._config.prometheus_matchers,
            )  # fmt: skip
            for reason, series in gathered.skipped.items():
                self._telemetry.skipped(reason, series)
        writer = Writer(self._cluster, self.cache)
        context = TickContext(
            self.cache, self._cluster, writer, self._config, self._telemetry, started_s,
            executors, by_owner(each for kind in LEFT for each in self.cache.all(kind)),
            drivers(pods),
        )  # fmt: skip
        for parent in self.cache.all("KafkaCluster"):
            with _contained(parent):
                kafka.reconcile(parent, context)
        for parent in pipelines:
            with _contained(parent):
                pipeline.reconcile(parent, gathered, context)
        self._telemetry.tick(
            seconds=self._clock.now() - started_s,
            queries=gathered.queries,
            writes=writer.count,
            pipelines=len(pipelines),
        )

    def resync(self) -> None:
        """List every kind again."""
        for kind in WATCHED:
            since = self.cache.moment()
            self.cache.resync(kind.name, self._cluster.list_all(kind.name), since)
        self._synced_s = self._clock.now()


@contextmanager
def _contained(parent: Manifest) -> Iterator[None]:
    """Contain the errors of one object; the next tick tries again."""
    try:
        yield
    except TrimtabError as error:
        log.warning("%s: %s", "/".join(key_of(parent)), error)
    except Exception:
        # a bug or a broken status: the other pipelines must still be served
        log.exception("%s: not reconciled", "/".join(key_of(parent)))
