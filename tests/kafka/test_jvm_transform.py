"""A transform in Java: a class in a jar of its own, and what is said of one that does not fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from dev.loadgen.verify import read_all
from tests.kafka.driver import Driver
from tests.kafka.java import packed
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

# without generics and lambdas, which Spark's own compiler does not know
CLICKS = """
package shop;

import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;

public class Clicks implements BiFunction {
  public Object apply(Object frame, Object params) {
    String prefix = (String) ((Map) params).get("prefix");
    if (prefix == null) {
      throw new IllegalArgumentException("write params.prefix");
    }
    Dataset values = ((Dataset) frame).selectExpr(new String[] {"CAST(value AS STRING) AS value"});
    return values.as(Encoders.STRING()).map(new Prefixed(prefix), Encoders.STRING()).toDF();
  }

  public static class Prefixed implements MapFunction {
    private final String prefix;

    public Prefixed(String prefix) {
      this.prefix = prefix;
    }

    public Object call(Object value) {
      return prefix + value;
    }
  }
}
"""
OTHER = """
package shop;

public class Other {
}
"""


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("shop"), {"Clicks": CLICKS, "Other": OTHER})


def test_a_class_transforms_records_in_driver_and_tasks(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], jar: Path
) -> None:
    named = {"class": "shop.Clicks", "jar": str(jar), "params": {"prefix": "seen "}}
    driver = make_driver(transform=named)
    driver.settings(trigger="200ms", maxOffsetsPerTrigger=500)
    made = produce(broker.bootstrap, topics[0], [(0.5, 200)])
    driver.start()
    driver.until(driver.committed(made.acknowledged))
    assert driver.terminate() == 0
    written = [(value or b"").decode() for value in read_all(broker.bootstrap, topics[1])]
    assert len(written) == made.acknowledged
    assert all(value.startswith("seen ") for value in written)


@pytest.mark.parametrize(
    ("transform", "reason", "words"),
    [
        ({"class": "shop.Nowhere"}, "ModuleNotFound", "there is no class shop.Nowhere"),
        pytest.param(
            {"class": "shop.Other"},
            "TransformFailed",
            "is no java.util.function.BiFunction",
            marks=LONG,
        ),
        pytest.param(
            {"class": "shop.Clicks"}, "TransformFailed", "write params.prefix", marks=LONG
        ),
    ],
)
def test_a_class_that_does_not_fit_is_told(
    make_driver: Callable[..., Driver], jar: Path, transform: dict[str, Any], reason: str,
    words: str,
) -> None:  # fmt: skip
    driver = make_driver(transform=transform | {"jar": str(jar)})
    driver.settings(trigger="200ms")
    driver.start()
    said = driver.termination()
    assert (said["reason"], words in said["message"]) == (reason, True), said
