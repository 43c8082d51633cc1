"""Drivers read directly: what counts as theirs, and the quick ticks in between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.reconcile.stage import CONFIG, NAMESPACE, OVERLOAD, POD, Stage, series

from trimtab.adapters.memory import MemoryDrivers
from trimtab.api.figure import PREFIX, Reader
from trimtab.api.figures import DRIVER
from trimtab.ports import Sample
from trimtab.reconcile.loop import ControlLoop
from trimtab.reconcile.observe.direct import FOLDS, INPUT, NOT_TOLD, RATE, Said, over, said
from trimtab.reconcile.observe.gather import DriverMetrics
from trimtab.reconcile.observe.queries import MAX_SERIES, queries
from trimtab.reconcile.observe.targets import Target

ADDRESS = "10.0.0.1"
TARGET = Target("clicks-driver-0", frozenset({ADDRESS}), uid="uid-clicks", address=ADDRESS)
NOW_S = 1_000_000.0


def figure(name: str, value: float, **labels: str) -> Sample:
    return Sample({"__name__": f"{PREFIX}{name}", **labels}, value)


def answer(
    ends: Iterable[float] = (100, 200), polled_s: float = NOW_S, uid: str = "uid-clicks",
    **values: Any,
) -> list[Sample]:  # fmt: skip
    """What a driver says of itself: its figures as they stand, and its partitions."""
    lag_s = values.pop("lag_s", 8.0)
    lag = values.pop("lag_records", 200.0)
    rates = ("input_rate", "input_rate_long")
    stands = series("clicks", polled_s, **{k: v for k, v in values.items() if k not in rates})
    drop = {"namespace", "pipeline", "instance"}
    own = [
        Sample({k: v for k, v in each.labels.items() if k not in drop}, each.value)
        for each in stands["gauges"]
    ]
    own += [figure("pipeline_info", 1, uid=uid), figure("lag_polled_timestamp_seconds", polled_s)]
    for number, end in enumerate(ends):
        place = {"topic": "in", "partition": str(number)}
        own.append(figure(INPUT, end, **place))
        own += [figure("lag_records", lag / 2, **place), figure("lag_seconds", lag_s, **place)]
    return own


def told(before: Said | None = None, target: Target = TARGET, **kwargs: Any) -> Said:
    found = said(answer(**kwargs), target, before)
    assert isinstance(found, Said)
    return found


def test_the_table_says_what_is_aggregated_directly() -> None:
    assert {f.series for f in DRIVER if f.reader is Reader.NOW} == {f for f, _ in FOLDS.values()}
    assert FOLDS.keys() <= queries(5.0).keys()


def test_figures_are_aggregated_as_by_the_queries() -> None:
    more = [figure("executor_load", 0.5, executor="1"), figure("executor_load", 0.7, executor="2"),
            figure("executor_capacity", 0.2, executor="1"),
            figure("executor_capacity", 0.4, executor="2")]  # fmt: skip
    found = said([*answer(lag_records=30.0), *more], TARGET, None)
    assert isinstance(found, Said)
    seen = {name: found.number(name) for name in FOLDS}
    assert seen == pytest.approx({
        "lag_records": 30.0, "lag_s": 8.0, "partitions": 2, "executor_load": 0.6,
        "executor_capacity": 0.3, "least_capacity": 0.2, "most_capacity": 0.4,
    })  # fmt: skip
    assert found.values["executors", "running"] == 1
    assert found.number(RATE) is None


def test_the_rate_is_that_between_two_polls_whenever_they_are_read() -> None:
    first = told()
    again = told(first)
    assert again.rate is None
    second = told(again, ends=(130, 230), polled_s=NOW_S + 3)
    assert second.number(RATE) == 20.0
    same_poll = told(second, ends=(130, 230), polled_s=NOW_S + 3)
    assert same_poll.number(RATE) == 20.0


@pytest.mark.parametrize(
    "now",
    [
        {"ends": (130, 30)},
        {"ends": (130, 230, 5)},
        {"batches_total": 1},
        {"polled_s": NOW_S + 60},
        {"polled_s": NOW_S - 1},
        {"target": replace(TARGET, address="10.0.0.2")},
    ],
)
def test_no_rate_over_a_start(now: dict[str, Any]) -> None:
    values: dict[str, Any] = {"ends": (130, 230), "polled_s": NOW_S + 2} | now
    assert told(told(), **values).number(RATE) is None


def test_another_pipelines_driver_at_the_address_does_not_count() -> None:
    for uid in ("uid-views", ""):
        assert said(answer(uid=uid), TARGET, None) == NOT_TOLD
    assert said(answer(), replace(TARGET, uid=""), None) == NOT_TOLD


def test_a_driver_with_too_many_series_does_not_count() -> None:
    more = [figure("effective_number", 1, knob=str(i)) for i in range(MAX_SERIES)]
    found = said([*answer(), *more], TARGET, None)
    assert isinstance(found, str)
    assert f"at most {MAX_SERIES}" in found


def test_only_the_figures_of_windows_stay_those_of_prometheus() -> None:
    history = {("input_rate_long", ""): 25.0, ("worst_latency", "0.95"): 12.0, (RATE, ""): 30.0,
               ("lag_records", ""): 9.0, ("batch_running_id", ""): 7.0}  # fmt: skip
    known = over(DriverMetrics(history), told(lag_records=40.0))
    assert known.number("input_rate_long") == 25.0
    assert known.number("worst_latency", "0.95") == 12.0
    assert known.number(RATE) == 30.0, "until there are two reads"
    assert known.number("lag_records") == 40.0
    assert known.number("batch_running_id") is None, "no batch is running any more"
    assert over(None, told()).number("input_rate_long") is None
    unknown = over(DriverMetrics({("lag_s", ""): 9.0}), replace(told(), values={}))
    assert unknown.number("lag_s") is None, "the driver does not know its lag now"


class Quick(Stage):
    """A stage whose operator reads drivers directly, every 2 s."""

    def __init__(self) -> None:
        self.drivers = MemoryDrivers()
        self.config = replace(CONFIG, direct_tick_s=2.0)
        super().__init__()

    def start_operator(self, config: Any = None) -> None:
        self.loop = ControlLoop(
            self.cluster, self.metrics, self.telemetry, self.clock, config or self.config,
            drivers=self.drivers,
        )  # fmt: skip

    def say(self, **values: Any) -> None:
        """What the driver answers from now on."""
        self.drivers.answers[ADDRESS] = answer(**({"polled_s": self.clock.now_s} | values))

    def hurry(self, seconds: float = 2.0) -> None:
        self.clock.now_s += seconds
        self.cluster.writes.clear()
        self.loop.tick()


@pytest.fixture
def quick() -> Quick:
    made = Quick()
    made.running()
    made.see(series("clicks", made.clock.now_s + 10))
    made.say(polled_s=made.clock.now_s + 10)
    made.tick()
    return made


def overload(stage: Quick, batch: int) -> None:
    stage.say(
        batch_id=batch,
        batch_duration_seconds=22.9,
        lag_s=20.0,
        polled_s=stage.clock.now_s + 2,
        ends=(batch * 280.0, batch * 280.0),
        **OVERLOAD,
    )


def test_a_quick_tick_asks_no_prometheus_and_raises_at_once(quick: Quick) -> None:
    asked = len(quick.metrics.asked)
    for batch in (6, 7, 8):
        overload(quick, batch)
        quick.hurry()
    assert len(quick.metrics.asked) == asked
    assert quick.document()["settings"]["executors"] > 1
    assert quick.telemetry.ticks[-1]["queries"] == 0


def test_without_direct_reads_every_tick_is_whole(quick: Quick) -> None:
    stage = Stage.at_rest()
    asked = len(stage.metrics.asked)
    stage.clock.now_s += 2
    stage.loop.tick()
    assert len(stage.metrics.asked) == asked + len(queries(CONFIG.scrape_s))


def test_the_pace_says_how_often_it_looks(quick: Quick) -> None:
    assert quick.status()["pace"] == {"scrape": "2s", "tick": "2s"}
    assert quick.condition("MetricsAvailable") == ("True", "Fresh")


def test_a_driver_that_cannot_be_read_is_seen_through_prometheus_and_that_is_told(
    quick: Quick,
) -> None:
    quick.drivers.answers[ADDRESS] = "did not answer in 1 s"
    before = quick.status()
    quick.hurry()
    assert quick.status() == before, "a quick tick leaves it to the next whole one"
    quick.see(series("clicks", quick.clock.now_s + 10))
    quick.tick()
    assert quick.condition("MetricsAvailable") == ("True", "FreshFromPrometheus")
    (words,) = (c["message"] for c in quick.status()["conditions"]
                if c["type"] == "MetricsAvailable")  # fmt: skip
    assert words == "the driver did not answer in 1 s"
    assert quick.status()["pace"] == {"scrape": "5s", "tick": "10s"}
    asked = len(quick.drivers.asked)
    quick.hurry()
    assert len(quick.drivers.asked) == asked, "it is asked again in the next whole tick"


def test_without_prometheus_nothing_is_known(quick: Quick) -> None:
    quick.metrics.failure = "Prometheus did not answer"
    quick.say()
    quick.tick()
    assert quick.condition("MetricsAvailable") == ("False", "NoMetrics")
    assert quick.status()["pace"] == {"scrape": "5s", "tick": "10s"}
    for batch in (6, 7, 8):
        overload(quick, batch)
        quick.hurry()
    assert quick.document()["settings"]["executors"] == 1


@pytest.mark.parametrize("change", ["owner", "deleted", "not ready"])
def test_only_the_pods_of_the_pipelines_own_stateful_set_are_read(
    quick: Quick, change: str
) -> None:
    pod = quick.cluster.objects[POD]
    if change == "owner":
        pod["metadata"]["ownerReferences"][0]["uid"] = "of somebody else"
    elif change == "deleted":
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    else:
        pod["status"]["conditions"][0]["status"] = "False"
    quick.cluster.put(pod)
    quick.drivers.asked.clear()
    quick.tick()
    assert quick.drivers.asked == []


def test_a_quiet_pipeline_is_not_written_by_quick_ticks(quick: Quick) -> None:
    writes = 0
    for step in range(1, 60):
        now_s = quick.clock.now_s + 2
        quick.see(series("clicks", now_s))
        quick.say(polled_s=now_s, ends=(100 + 25 * step, 200 + 25 * step), batch_id=5 + step // 5,
                  batches_total=9 + step // 5, lag_records=200.0 + 10 * (step % 5))  # fmt: skip
        quick.hurry()
        writes += len(quick.cluster.writes)
    assert writes <= 5


def test_quick_ticks_leave_the_pipelines_of_others_alone(quick: Quick) -> None:
    quick.put_pipeline("views")
    quick.loop.resync()
    quick.say()
    quick.hurry()
    assert ("StreamPipeline", NAMESPACE, "views") not in [key for _, key in quick.cluster.writes]
    assert quick.telemetry.ticks[-1]["pipelines"] == 1
