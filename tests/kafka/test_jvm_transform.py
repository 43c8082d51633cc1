"""A transform in Java: a class in a jar of its own, and what is said of one that does not fit."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from dev.loadgen.verify import read_all
from pyspark.java_gateway import launch_gateway
from tests.kafka.driver import Driver

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
    """The classes, by the compiler in Spark's own jars: there may be no JDK."""
    folder = tmp_path_factory.mktemp("shop")
    gateway: Any = launch_gateway()
    try:
        compiler = gateway.jvm.org.codehaus.janino.Compiler()
        compiler.setDestinationDirectory(gateway.jvm.java.io.File(f"{folder}/classes"), False)
        files = gateway.new_array(gateway.jvm.java.io.File, 2)
        for n, (name, text) in enumerate((("Clicks", CLICKS), ("Other", OTHER))):
            (folder / f"{name}.java").write_text(text)
            files[n] = gateway.jvm.java.io.File(f"{folder}/{name}.java")
        compiler.compile(files)
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(30)
    with zipfile.ZipFile(folder / "shop.jar", "w") as packed:
        for file in (folder / "classes").rglob("*.class"):
            packed.write(file, str(file.relative_to(folder / "classes")))
    return folder / "shop.jar"


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
        ({"class": "shop.Other"}, "TransformFailed", "is no java.util.function.BiFunction"),
        ({"class": "shop.Clicks"}, "TransformFailed", "write params.prefix"),
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
