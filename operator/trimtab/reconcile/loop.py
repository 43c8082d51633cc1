"""One tick over all Kafka clusters and pipelines: gather once, observe all, then act one by one.

Where drivers are read directly, quick ticks come in between, over the pipelines that were read.
An error in one object is logged and does not affect the others.
"""

from __future__ import annotations

import math
from dataclasses import replace

from trimtab.api.kinds import watched_in
from trimtab.ports import (
    Certificates,
    Clock,
    Cluster,
    DriverSource,
    Manifest,
    MetricSource,
    Telemetry,
    key_of,
)
from trimtab.reconcile import kafka, pipeline
from trimtab.reconcile.apply.writer import Writer
from trimtab.reconcile.contained import contained
from trimtab.reconcile.decide.fleet import Fleet
from trimtab.reconcile.decide.leftovers import LEFT
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.driver_pod import drivers
from trimtab.reconcile.observe.executor_pods import by_pipeline
from trimtab.reconcile.observe.gather import Gathered
from trimtab.reconcile.observe.observation import Observation
from trimtab.reconcile.observe.policies import policies
from trimtab.reconcile.observe.sensing import Sensing
from trimtab.reconcile.observe.targets import targets
from trimtab.reconcile.policies import report
from trimtab.reconcile.tick import TickContext
from trimtab.settings import OperatorSettings
from trimtab.workloads.ownership import by_owner

RESYNC_S = 300.0
"""Seconds between full lists, which make up for missed events."""


class ControlLoop:
    """The work of the one control task; `tick` blocks, so it is called in a worker thread."""

    def __init__(
        self, cluster: Cluster, metrics: MetricSource, telemetry: Telemetry, clock: Clock,
        config: OperatorSettings, *, drivers: DriverSource | None = None,
        certificates: Certificates | None = None,
    ) -> None:  # fmt: skip
        """Without `drivers`, only the metric source is asked.

        Without `certificates`, no Kafka cluster is secured.
        """
        self.cache = ObjectCache()
        self._cluster, self._sensing = cluster, Sensing(metrics, drivers, telemetry, config)
        self._telemetry, self._clock, self._config = telemetry, clock, config
        self._certificates = certificates
        self._fleet = Fleet()
        self._synced_s: float | None = None
        self._reads_drivers = drivers is not None
        self._whole_s = -math.inf

    @property
    def synced(self) -> bool:
        """Whether every kind has been listed at least once."""
        return self._synced_s is not None

    def tick(self) -> None:
        """List if due, gather, reconcile everything; raises if the API server does not answer.

        A quick tick reconciles only the pipelines whose drivers say something new.
        """
        started_s = self._clock.now()
        quick = self._quick(started_s)
        if not quick:
            self._whole_s = started_s
            if self._synced_s is None or started_s - self._synced_s > RESYNC_S:
                self.resync()
        pipelines = self.cache.all("StreamPipeline")
        pods = self.cache.all("Pod")
        executors = by_pipeline(pods)
        gathered = Gathered({})
        if pipelines:
            aims = targets(pipelines, self.cache, executors)
            sensing = self._sensing
            gathered = sensing.gather_quickly(aims) if quick else sensing.gather(aims, started_s)
        if quick:
            pipelines = [parent for parent in pipelines if key_of(parent)[1:] in gathered.direct]
        writer = Writer(self._cluster, self.cache)
        context = TickContext(
            self.cache, self._cluster, writer, self._config, self._telemetry, started_s,
            executors, by_owner(each for kind in LEFT for each in self.cache.all(kind)),
            drivers(pods), policies(self.cache), self._certificates,
        )  # fmt: skip
        for parent in () if quick else self.cache.all("KafkaCluster"):
            with contained(parent):
                kafka.reconcile(parent, context)
        self._reconcile(pipelines, gathered, context, whole=not quick)
        self._telemetry.tick(
            seconds=self._clock.now() - started_s,
            queries=gathered.queries,
            writes=writer.count,
            pipelines=len(pipelines),
        )

    def _reconcile(
        self, parents: list[Manifest], gathered: Gathered, context: TickContext, *, whole: bool
    ) -> None:
        """Observe all pipelines before any is decided on: they may share a budget."""
        found: list[Observation] = []
        for parent in parents:
            with contained(parent):
                if seen := pipeline.look(parent, gathered, context):
                    found.append(seen)
        for seen in self._fleet.begin(found, whole=whole):
            with contained(seen.parent):
                allowed = replace(seen, allowance=self._fleet.allowance(seen))
                self._fleet.observed(seen, trial=pipeline.act(allowed, context).changing)
        if whole:
            self._telemetry.forget({seen.name for seen in found})
            report(context.policies, found, context)

    def _quick(self, now_s: float) -> bool:
        """Whether only the drivers are read, since the last whole tick is not long ago."""
        since_s, config = now_s - self._whole_s, self._config
        soon = since_s < config.tick_s - config.pause_s / 2
        return self._reads_drivers and self.synced and soon

    def resync(self) -> None:
        """List every kind again."""
        for kind in watched_in(self._config.namespaces):
            since = self.cache.moment()
            self.cache.resync(kind.name, self._cluster.list_all(kind.name), since)
        self._synced_s = self._clock.now()
