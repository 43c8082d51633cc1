"""A driver of the last release's image under today's operator, and today's image after it."""

from __future__ import annotations

import pytest
from dev.localcluster.paths import from_environment
from tests.e2e.conftest import PLAIN, Stage, pipeline
from tests.e2e.lastimage import last_image
from tests.long import LONG

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800), LONG]

DRIVER = "clicks-driver-0"


def executors(stage: Stage) -> set[str]:
    """The images of the executors that run."""
    return {pod["spec"]["containers"][0]["image"] for pod in stage.executors()}


def said(stage: Stage) -> str:
    return str(stage.condition("Ready").get("message", ""))


def test_an_image_of_the_last_release_is_named_and_nothing_is_lost_until_it_is_replaced(
    stage: Stage,
) -> None:
    """Its executors are not restricted, so this namespace and the chart's policy refuse them."""
    old = last_image(from_environment(), stage.image)
    tuning = {"pinned": {"executors": 1, "trigger": "1s"}}
    stage.apply(pipeline(image=old, transform=PLAIN, tuning=tuning))
    stage.start_load([(900.0, 50.0)])
    stage.wait_long("the old image is named", 180, lambda: "build the image anew" in said(stage))
    assert executors(stage) == set()

    first = stage.uid(DRIVER)
    stage.apply(pipeline(transform=PLAIN, tuning=tuning))
    stage.wait_replaced(DRIVER, first)
    stage.wait_ready()
    stage.wait_long("executors of today's image", 120, lambda: executors(stage) == {stage.image})
    stage.next_step()
    result = stage.delivered()
    assert (result["lost"], result["duplicated"]) == (0, 0)
