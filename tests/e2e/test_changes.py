"""Planned changes on the real cluster: each knob moves as it should, with no duplicate, no loss."""

from __future__ import annotations

import pytest
from tests.e2e.conftest import Stage, pipeline

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]


def pinned(**values: object) -> dict[str, object]:
    return {
        "mode": "Auto",
        "pinned": values,
        "initial": {"executors": 1, "trigger": "2s", "maxOffsetsPerTrigger": 2500},
    }


def test_planned_changes_under_backlog_lose_and_duplicate_nothing(stage: Stage) -> None:
    """Executors up and down, the trigger, and the driver itself, while records pile up."""
    stage.apply(pipeline(tuning=pinned(executors=1, trigger="2s")))
    stage.wait_ready()
    stage.start_load([(900.0, 150.0)])
    driver = stage.uid("clicks-driver-0")
    stage.apply(pipeline(tuning=pinned(executors=3, trigger="2s")))
    stage.wait_effective(executors=3)
    running = 'max(trimtab_executors{{state="running",namespace="{}"}})'
    query = running.format(stage.kube.namespace)
    stage.wait("3 executors run", 180, lambda: stage.metric(query) == 3)
    stage.apply(pipeline(tuning=pinned(executors=3, trigger="1s")))
    stage.wait_effective(trigger="1s")
    stage.apply(pipeline(tuning=pinned(executors=2, trigger="1s")))
    stage.wait_effective(executors=2)
    stage.wait("2 executors run", 180, lambda: stage.metric(query) == 2)
    assert stage.uid("clicks-driver-0") == driver, "knobs restart no driver"
    held = 'max(container_memory_working_set_bytes{{container="{}",namespace="{}"}})'
    for container in ("driver", "spark-kubernetes-executor"):
        figure = held.format(container, stage.kube.namespace)
        stage.wait(
            f"the kubelet's figure of {container}", 120,
            lambda figure=figure: (stage.metric(figure) or 0) > 200e6,
        )  # fmt: skip
    stage.apply(pipeline(tuning=pinned(executors=2, trigger="1s"),
                         env=[{"name": "SOMETHING", "value": "new"}]))  # fmt: skip
    stage.wait_replaced("clicks-driver-0", driver)
    stage.wait_ready()
    stage.next_step()
    result = stage.delivered()
    assert result["lost"] == 0
    assert result["duplicated"] == 0
    assert result["delivered"] == result["produced"] > 3_000


def test_suspend_drains_and_resume_goes_on(stage: Stage) -> None:
    stage.apply(pipeline(tuning=pinned(executors=1, trigger="1s")))
    stage.wait_ready()
    stage.start_load([(600.0, 50.0)])
    stage.apply(pipeline(tuning=pinned(executors=1, trigger="1s"), suspend=True))
    stage.wait("driver gone", 180, lambda: stage.uid("clicks-driver-0") is None)
    assert stage.condition("Suspended")["status"] == "True"
    stage.apply(pipeline(tuning=pinned(executors=1, trigger="1s")))
    stage.wait_ready()
    stage.next_step()
    result = stage.delivered()
    assert (result["lost"], result["duplicated"]) == (0, 0)
    assert result["delivered"] > 0
