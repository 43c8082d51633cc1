"""Packages that were installed before the driver, in a real Spark."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from tests.kafka.driver import REPO, Driver
from tests.package_index import serving, variables

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

MODULE = """
import geo
from pyspark.sql import functions as F

assert geo.VERSION == "1.0"


@F.udf("string")
def place(value):
    import geo

    return value.decode() + geo.VERSION


def transform(df, params):
    return df.select("key", place("value").alias("value"))
"""


def test_the_driver_and_pythons_workers_import_them(
    broker: KafkaBroker,
    topics: tuple[str, str],
    make_driver: Callable[..., Driver],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(tmp_path / "pod") as pod:
        for name, value in variables(pod).items():
            monkeypatch.setenv(name, value)
        assert pod.install(pod.wheel("geo")) == 0
    driver = make_driver(transform={"module": "clicks:transform"})
    modules = driver.directory / "modules"
    modules.mkdir()
    (modules / "clicks.py").write_text(MODULE)
    driver.settings(trigger="200ms", maxOffsetsPerTrigger=500)
    made = produce(broker.bootstrap, topics[0], [(0.5, 200)])
    path = os.pathsep.join([str(REPO / "operator"), str(REPO), str(pod.packages)])
    driver.start(PYTHONPATH=path)
    driver.until(driver.committed(made.acknowledged))
    assert driver.terminate() == 0
