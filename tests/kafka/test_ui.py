"""Spark's web UI of a real driver: it shows, and stops nothing."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from tests.kafka.driver import Driver

from trimtab.api.listening import UI_PORT

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

PORTS = range(UI_PORT, UI_PORT + 16)
"""Outside a pod Spark takes the next port if one is taken."""
SECRET = "hunter2-is-no-password"


def fetched(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def pages(pipeline: str) -> list[tuple[str, str]]:
    """Id and UI of the pipeline's applications; others beside it show theirs here too."""
    found = []
    for port in PORTS:
        here = f"http://127.0.0.1:{port}"
        with suppress(OSError, ValueError):
            told = json.loads(fetched(f"{here}/api/v1/applications")[1])
            found += [(app["id"], here) for app in told if app["name"] == pipeline]
    return found


def test_it_shows_the_query_without_its_secrets_and_stops_no_job(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    conf = {"spark.hadoop.fs.s3a.secret.key": SECRET}
    driver = make_driver(pipeline="shown", sparkUI=True, sparkConf=conf)
    driver.settings(trigger="100ms")
    made = produce(broker.bootstrap, topics[0], [(1.0, 200)])
    driver.start()
    driver.until(driver.committed(made.acknowledged))
    ((app, here),) = pages("shown")
    status, text = fetched(f"{here}/api/v1/applications/{app}/environment")
    assert status == 200
    assert "spark.hadoop.fs.s3a.secret.key" in text
    assert SECRET not in text
    status, streams = fetched(f"{here}/StreamingQuery/")
    assert status == 200
    assert "shown" in streams
    assert '["spark.ui.killEnabled","false"]' in "".join(text.split())
    assert driver.terminate() == 0


def test_there_is_none_unless_it_is_asked_for(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver]
) -> None:
    driver = make_driver(pipeline="unseen")
    driver.settings(trigger="100ms")
    made = produce(broker.bootstrap, topics[0], [(1.0, 200)])
    driver.start()
    driver.until(driver.committed(made.acknowledged))
    assert not pages("unseen")
    assert driver.terminate() == 0
