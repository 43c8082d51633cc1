"""What the operator names as the bottleneck from what a driver under test exports."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trimtab.api.v1alpha1.goal import Goal
from trimtab.api.v1alpha1.limits import ExecutorResources, Limits
from trimtab.api.v1alpha1.tuning import Tuning
from trimtab.ports import Sample
from trimtab.reconcile.observe.gather import gather
from trimtab.reconcile.observe.queries import queries
from trimtab.reconcile.observe.signals import Missing, signals
from trimtab.reconcile.observe.targets import Target
from trimtab.tuning.capacity import learning
from trimtab.tuning.capacity.load import measure
from trimtab.tuning.capacity.points import Point
from trimtab.tuning.diagnosis.bottleneck import diagnose
from trimtab.tuning.diagnosis.facts import Bottleneck
from trimtab.tuning.policy import Policy
from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Snapshot

SCRAPE_S = 5.0
LABEL = re.compile(r'(\w+)="([^"]*)"')
WHO = {"namespace": "test", "pipeline": "clicks", "pod": "clicks-driver-0"}


class Scraped:
    """A Prometheus that has scraped a driver: its gauges as they are, the rates as told."""

    def __init__(self, metrics: Mapping[str, float], rates: Mapping[str, float]) -> None:
        asked = queries(SCRAPE_S)
        self._answers = {asked[what]: [Sample(WHO, value)] for what, value in rates.items()}
        # in Spark's local mode the driver is the executor
        seen = {**metrics, "batch_executors_min": 1, 'executors{state="running"}': 1}
        self._answers[asked["gauges"]] = [
            Sample(WHO | dict(LABEL.findall(name)) | {"__name__": "trimtab_" + name.split("{")[0]},
                   value)
            for name, value in seen.items()
        ]  # fmt: skip

    def query(self, promql: str) -> list[Sample]:
        """The answer to one of the operator's queries."""
        return self._answers.get(promql, [])


def bottleneck(metrics: Mapping[str, float], settings: Settings, rate: float) -> Bottleneck:
    """The bottleneck named when so many records/s come in, more than the pipeline works off."""
    source = Scraped(
        metrics,
        {"input_rate": rate, "input_rate_long": rate, "lag_records": rate, "partitions": 4},
    )
    now_s = metrics["heartbeat_timestamp_seconds"]
    driver = {("test", "clicks"): Target("clicks-driver-0")}
    seen = gather(source, driver, now_s, SCRAPE_S).metrics["test", "clicks"]
    told = signals(seen, 0.95, now_s, SCRAPE_S)
    assert not isinstance(told, Missing)
    batch = told.batch
    assert batch is not None
    goal = Goal.model_validate({"latency": {"target": "10s"}})
    policy = Policy.stated(goal, Limits(), Tuning(), ExecutorResources())
    snapshot = Snapshot(now_s, policy, settings, told)
    point = Point(1, batch.records, batch.overhead_s, batch.duration_s)
    model = learning.fitted(snapshot, (point,))
    load = measure(snapshot, model)
    assert model is not None
    assert load is not None
    return diagnose(snapshot, model, load)
