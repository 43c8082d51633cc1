"""The operator's own metrics, for its own Prometheus endpoint."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)
from prometheus_client.core import GaugeMetricFamily, Metric

from trimtab.api.figure import PREFIX, Figure
from trimtab.api.figures import BY_NAME
from trimtab.api.pipeline_figures import PIPELINE
from trimtab.ports import Clock, Name, Reading

# else each counter also exports when it was made, as a gauge
disable_created_metrics()  # type: ignore[no-untyped-call]


class PrometheusTelemetry:
    """Tick and decision metrics in a registry of their own."""

    def __init__(self, clock: Clock) -> None:
        self.registry = CollectorRegistry()
        self._clock = clock
        self._last_tick_s: float | None = None
        self._tick = Histogram(
            *_of("operator_tick_duration_seconds"),
            registry=self.registry,
            buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
        )
        self._queries = Gauge(*_of("operator_tick_queries"), registry=self.registry)
        self._writes = Counter(*_of("operator_writes"), registry=self.registry)
        self._tick_writes = Gauge(*_of("operator_tick_writes"), registry=self.registry)
        self._pipelines = Gauge(*_of("operator_pipelines"), registry=self.registry)
        self._decisions = Counter(*_of("operator_decisions"), registry=self.registry)
        self._skipped = Counter(*_of("operator_series_skipped"), registry=self.registry)
        self._reads = Counter(*_of("operator_driver_reads"), registry=self.registry)
        self._known: dict[Name, Sequence[Reading]] = {}
        self.registry.register(self)
        age = Gauge(*_of("operator_last_tick_age_seconds"), registry=self.registry)
        age.set_function(lambda: self.tick_age_s() or 0.0)

    def tick(self, *, seconds: float, queries: int, writes: int, pipelines: int) -> None:
        """Record one finished tick."""
        self._last_tick_s = self._clock.now()
        self._tick.observe(seconds)
        self._queries.set(queries)
        self._writes.inc(writes)
        self._tick_writes.set(writes)
        self._pipelines.set(pipelines)

    def decision(self, namespace: str, pipeline: str, action: str, reason: str) -> None:
        """Count one reported decision."""
        self._decisions.labels(namespace, pipeline, action, reason).inc()

    def pipeline(self, name: Name, readings: Sequence[Reading]) -> None:
        """Export these of a pipeline, in place of those of before."""
        self._known[name] = readings

    def forget(self, known: Container[Name]) -> None:
        """Export nothing of other pipelines any more."""
        self._known = {name: kept for name, kept in self._known.items() if name in known}

    def collect(self) -> Iterator[Metric]:
        """What is known of the pipelines, as prometheus_client asks for it at each scrape."""
        families = {figure.name: _family(figure) for figure in PIPELINE}
        for (namespace, pipeline), readings in list(self._known.items()):
            for reading in readings:
                family = families[f"pipeline_{reading.name}"]
                own = reading.labels
                values = [namespace, pipeline, *(str(own[n]) for n in family._labelnames[2:])]
                family.add_metric(values, reading.value)
        yield from (family for family in families.values() if family.samples)

    def driver_reads(self, read: int, failed: int) -> None:
        """Count the drivers that were read directly, and those that could not be."""
        self._reads.labels("read").inc(read)
        self._reads.labels("failed").inc(failed)

    def skipped(self, reason: str, series: int) -> None:
        """Count series that were not read."""
        self._skipped.labels(reason).inc(series)

    def tick_age_s(self) -> float | None:
        """Seconds since the last tick ended; None before the first."""
        return None if self._last_tick_s is None else self._clock.now() - self._last_tick_s


def _family(figure: Figure) -> GaugeMetricFamily:
    return GaugeMetricFamily(PREFIX + figure.name, figure.help, labels=list(figure.labels))


def _of(name: str) -> tuple[str, str, tuple[str, ...]]:
    """Name, help and labels of a figure."""
    figure = BY_NAME[name]
    return PREFIX + name, figure.help, tuple(figure.labels)
