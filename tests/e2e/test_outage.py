"""An outage of what all pipelines share."""

from __future__ import annotations

import time

import pytest
from tests.e2e.conftest import TICK_S, Stage, pipeline

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

TICKS = 5
"""More than the tuner needs to change something, if it went by what it cannot know."""


@pytest.mark.alone
def test_without_prometheus_the_last_good_settings_stay(stage: Stage) -> None:
    stage.apply(pipeline(tuning={"initial": {"executors": 2, "trigger": "2s"}}))
    stage.wait_ready()

    def metrics() -> str:
        return str(stage.condition("MetricsAvailable").get("status"))

    stage.wait("metrics", 180, lambda: metrics() == "True")
    with stage.without("trimtab-prometheus"):
        stage.wait("metrics are missed", 180, lambda: metrics() == "False")
        # as long as there were metrics, the tuner was free to release what idles
        before = stage.status()["controller"]["settings"]
        time.sleep(TICKS * TICK_S)
        assert stage.status()["controller"]["settings"] == before
        assert stage.condition("Ready")["status"] == "True"
    stage.wait("metrics again", 180, lambda: metrics() == "True")
