"""Listeners of the user in a real driver: Spark tells them of its events, or says why it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from tests.kafka.classes import class_path
from tests.kafka.driver import Driver
from tests.kafka.java import packed

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

SEEN = """
package shop;

import java.io.FileWriter;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobEnd;

public class Seen extends SparkListener {
  private final String file;

  public Seen(SparkConf conf) {
    file = conf.get("spark.shop.file");
  }

  public void onJobEnd(SparkListenerJobEnd event) {
    try {
      FileWriter writer = new FileWriter(file, true);
      writer.write("job\\n");
      writer.close();
    } catch (java.io.IOException error) {
      throw new RuntimeException(error);
    }
  }
}
"""


def test_a_class_is_told_of_the_jobs(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    jar, told = packed(tmp_path, {"Seen": SEEN}), tmp_path / "told"
    driver = make_driver(
        defaults={"spark.driver.extraClassPath": f"{class_path()}:{jar}"},
        listeners=["shop.Seen"],
        sparkConf={"spark.shop.file": str(told)},
    )
    driver.settings(trigger="100ms")
    made = produce(broker.bootstrap, topics[0], [(1.0, 200)])
    driver.start()
    driver.until(driver.committed(made.acknowledged))
    assert driver.terminate() == 0
    assert told.read_text().splitlines().count("job") >= 1


def test_a_class_that_is_not_there_is_named(make_driver: Callable[..., Driver]) -> None:
    driver = make_driver(listeners=["shop.Missing"])
    driver.settings(trigger="100ms")
    driver.start()
    assert driver.process.wait(120) != 0
    said = json.loads((driver.directory / "termination.json").read_text())
    assert said["reason"] == "ListenerFailed"
    assert "shop.Missing does not start: java.lang.ClassNotFoundException" in said["message"]
