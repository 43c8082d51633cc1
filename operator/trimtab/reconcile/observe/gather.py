"""The metrics of all pipelines' drivers, from the answers of Prometheus.

Only the series of the driver's own pod count: anybody who may make pods can give one a pipeline's
labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab.api.figure import PREFIX
from trimtab.api.figures import DRIVER
from trimtab.errors import UnavailableError
from trimtab.ports import MetricSource, Name, Sample
from trimtab.reconcile.observe.queries import (
    AS_THEY_STAND,
    EXECUTOR_MEMORY,
    NO_MATCHERS,
    queries,
)
from trimtab.reconcile.observe.targets import Target, speaks
from trimtab.tuning.snapshot import STALE_SCRAPES

_OWN_LABELS = tuple(dict.fromkeys(label for figure in DRIVER for label in figure.labels))
"""Labels that tell the series of a figure apart."""

HEARTBEAT = "heartbeat_timestamp_seconds"


@dataclass(slots=True)
class DriverMetrics:
    """All metrics of one driver process, by name and label value."""

    values: dict[tuple[str, str], float] = field(default_factory=dict)

    def number(self, name: str, label: str = "") -> float | None:
        """One value; None if it is not exported."""
        return self.values.get((name, label))

    def whole(self, name: str, label: str = "") -> int | None:
        """The same as an int."""
        value = self.number(name, label)
        return None if value is None else int(value)

    def by(self, name: str) -> dict[str, float]:
        """All values of a figure, by label value."""
        return {label: value for (each, label), value in self.values.items() if each == name}


@dataclass(frozen=True, slots=True)
class Gathered:
    """One tick's answers: the metrics by pipeline, or why there are none at all."""

    metrics: Mapping[Name, DriverMetrics]
    failure: str = ""
    queries: int = 0
    strangers: frozenset[Name] = frozenset()
    """Pipelines whose labels are on series of other pods."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many series were not read, by reason."""
    direct: frozenset[Name] = frozenset()
    """Pipelines whose drivers said themselves what they do now."""
    indirect: Mapping[Name, str] = field(default_factory=dict)
    """Why a driver that was to be read directly was not."""


def gather(
    metrics: MetricSource, targets: Mapping[Name, Target], now_s: float, scrape_s: float,
    matchers: Mapping[str, str] = NO_MATCHERS,
) -> Gathered:  # fmt: skip
    """Run every query once; any failure makes everything unknown, as partial data misleads.

    `targets` are the pods of the drivers that run, `matchers` go into every query.
    """
    reading, asked = _Reading(targets), queries(scrape_s, matchers)
    for what, promql in asked.items():
        try:
            samples = metrics.query(promql)
        except UnavailableError as error:
            return Gathered({}, str(error), len(asked))
        for sample in samples:
            reading.take(what, sample)
    return Gathered(
        {name: reading.of(name, latest_s(now_s, scrape_s)) for name in reading.processes},
        queries=len(asked),
        strangers=frozenset(reading.strangers),
        skipped=reading.skipped,
    )


def own_labels(labels: Mapping[str, str]) -> str:
    """The values of a figure's own labels."""
    return "/".join(labels[k] for k in _OWN_LABELS if k in labels)


class _Reading:
    """Sorts the series of all answers by pipeline and driver process."""

    def __init__(self, targets: Mapping[Name, Target]) -> None:
        self._targets = targets
        self._owners = {
            (name[0], pod): name for name, target in targets.items() for pod in target.executors
        }
        self.processes: dict[Name, dict[str, DriverMetrics]] = {}
        """The processes of each pipeline, by instance."""
        self.strangers: set[Name] = set()
        self.skipped: Counter[str] = Counter()
        self._of_pods: dict[Name, DriverMetrics] = {}

    def take(self, what: str, sample: Sample) -> None:
        """Keep a series, if it is that of a driver's pod."""
        if what == EXECUTOR_MEMORY:
            self._take_memory(sample)
            return
        labels = sample.labels
        name = labels.get("namespace", ""), labels.get("pipeline", "")
        metric = labels.get("__name__", "").removeprefix(PREFIX) if what == "gauges" else what
        if not all(name) or (what == "gauges" and metric not in AS_THEY_STAND):
            self.skipped["unlabelled"] += 1
            return
        if name not in self._targets:
            self.skipped["no_driver"] += 1
            return
        own = own_labels(labels)
        if not speaks(labels, self._targets[name]):
            self.skipped["other_pod"] += 1
            self.strangers.add(name)
            return
        processes = self.processes.setdefault(name, {})
        seen = processes.setdefault(labels.get("instance", ""), DriverMetrics())
        seen.values[metric, own] = sample.value

    def _take_memory(self, sample: Sample) -> None:
        """Keep what a kubelet says of an executor; of several of a pipeline, the largest counts."""
        labels = sample.labels
        name = self._owners.get((labels.get("namespace", ""), labels.get("pod", "")))
        if name is None:
            self.skipped["no_executor"] += 1
            return
        values = self._of_pods.setdefault(name, DriverMetrics()).values
        values[EXECUTOR_MEMORY, ""] = max(sample.value, values.get((EXECUTOR_MEMORY, ""), 0.0))

    def of(self, name: Name, latest_s: float) -> DriverMetrics:
        """The metrics of a pipeline's driver.

        A pod that was replaced has the name of its successor for as long as Prometheus remembers
        it: the one at the pod's address counts, else the one with the newest heartbeat.
        """
        target = self._targets[name]

        def rank(instance: str) -> tuple[bool, float]:
            beat = self.processes[name][instance].number(HEARTBEAT)
            return target.at(instance), beat if beat is not None and beat <= latest_s else 0.0

        seen = self.processes[name][max(sorted(self.processes[name]), key=rank)]
        if name in self._of_pods:
            seen.values.update(self._of_pods[name].values)
        return seen


def latest_s(now_s: float, scrape_s: float) -> float:
    """Up to when a heartbeat is believed: clocks differ."""
    return now_s + STALE_SCRAPES * scrape_s
