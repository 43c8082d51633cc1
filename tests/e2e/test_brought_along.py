"""What teams bring along, on the real cluster: two Kafkas, several sinks, modules and classes."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import yaml
from dev.localcluster.paths import from_environment
from tests.e2e import own_images
from tests.e2e.conftest import Json, Stage, manifests, pipeline
from tests.long import LONG

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

NEW_CHECKPOINTS = True

RECORDS = {"events": 60, "america": 40}
SQL = """
SELECT concat('eu-', CAST(value AS STRING)) AS value FROM europe
UNION ALL SELECT concat('us-', CAST(value AS STRING)) FROM america
"""


TOPICS = {"orders": 2, "lines": 2, "all": 1, "every": 1, "few": 1}
JOB = """
from pyspark.sql import functions as F

@F.udf("string")
def told(value):
    from shouts import words
    return words.FIRST + value.decode()

def transform(df, params):
    return df.select(told("value").alias("value"))
"""
POSITIONS = """{"lat": 48.2082, "lon": 16.3738}
{"lat": -33.8568, "lon": 151.2153}
{"lat": 48.2}
"""
CELLS = ["r3gx2ux", "u2edk85"]


def kafka(name: str) -> Json:
    (made,) = manifests("kafka")
    made["metadata"] = {"name": name}
    made["spec"]["topics"] = [{"name": t, "partitions": n} for t, n in TOPICS.items()]
    return made


def tool(stage: Stage, cluster: str, name: str, *arguments: str, text: str | None = None) -> str:
    """One of Kafka's tools in the broker's pod."""
    command = ("kafka", f"org.apache.kafka.tools.{name}", "--bootstrap-server", "localhost:9092")
    stdin = ("-i",) if text else ()
    pod = f"{cluster}-kafka-0"
    return stage.kube.call("exec", *stdin, pod, "--", *command, *arguments, text=text)


def written(stage: Stage, topic: str = "all") -> int:
    """Records of a topic, by default the one that both Kafkas' go to."""
    said = tool(stage, "events", "GetOffsetShell", "--topic", topic)
    return sum(int(line.rpartition(":")[2]) for line in said.split())


def values(stage: Stage, topic: str) -> list[str]:
    """All values of a topic, sorted."""
    limits = ("--from-beginning", "--max-messages", str(written(stage, topic)))
    return sorted(
        tool(stage, "events", "consumer.ConsoleConsumer", "--topic", topic, *limits).split()
    )


def produce(stage: Stage, first: int, end: int) -> None:
    lines = "".join(f"{number}\n" for number in range(first, end))
    tool(stage, "events", "ConsoleProducer", "--topic", "lines", text=lines)


@LONG
def test_two_kafkas_are_read_in_one_query_and_a_restart_repeats_nothing(stage: Stage) -> None:
    for name in RECORDS:
        stage.apply(kafka(name))
    for name, count in RECORDS.items():
        stage.wait_long(f"Kafka {name}", 240, lambda n=name: stage.kafka_ready(n))
        lines = "".join(f"{number}\n" for number in range(count))
        tool(stage, name, "ConsoleProducer", "--topic", "orders", text=lines)
    sources = [
        {"name": view, "kafka": {"cluster": cluster, "topics": ["orders"],
                                 "startingOffsets": "earliest"}}
        for view, cluster in (("europe", "events"), ("america", "america"))
    ]  # fmt: skip
    parts = {
        "source": None, "sources": sources, "transform": {"sql": SQL},
        "sink": {"kafka": {"cluster": "events", "topic": "all"}},
    }  # fmt: skip
    stage.apply(pipeline(**parts))
    stage.wait_ready()
    stage.wait_long("all of both", 240, lambda: written(stage) >= 100)
    assert written(stage) == 100
    driver = stage.uid("clicks-driver-0")
    stage.apply(pipeline(**parts, env=[{"name": "SOMETHING", "value": "new"}]))
    stage.wait_replaced("clicks-driver-0", driver)
    stage.wait_ready()
    tool(stage, "america", "ConsoleProducer", "--topic", "orders", text="40\n41\n")
    stage.wait_long("what came since", 120, lambda: written(stage) >= 102)
    assert written(stage) == 102, "and nothing twice"
    stage.kube.call("delete", "tkc", "america")


@LONG
def test_modules_classes_and_jars_of_images_of_ones_own_write_to_two_topics(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is not in the image is told, and nothing is lost from one job to the next."""
    stage.apply(kafka("events"))
    with zipfile.ZipFile(tmp_path / "shouts.zip", "w") as packed:
        for name, text in (("__init__", ""), ("words", "FIRST = 'py-'"), ("job", JOB)):
            packed.writestr(f"shouts/{name}.py", text)
    image = own_images.of_modules(from_environment(), tmp_path / "shouts.zip", monkeypatch)
    target = {"cluster": "events"}
    parts = {
        "source": {"kafka": target | {"topics": ["lines"], "startingOffsets": "earliest"}},
        "sink": None,
        "sinks": [
            {"name": "everything", "kafka": target | {"topic": "every"}},
            {"name": "sevens", "sql": "SELECT value FROM result WHERE value LIKE '%7'",
             "kafka": target | {"topic": "few"}},
        ],
    }  # fmt: skip
    python = {"module": "shouts.job:transform", "modulesFrom": {"image": image, "path": "/none"}}
    stage.apply(pipeline(**parts, transform={"python": python}))
    assert "nothing was copied from" in stage.wait_stalled("ModuleNotFound", 240)
    python["modulesFrom"] = {"image": image}
    stage.apply(pipeline(**parts, transform={"python": python}))
    stage.wait_ready()
    produce(stage, 0, 20)
    stage.wait_long("all of the first", 120, lambda: written(stage, "every") >= 20)
    stage.wait_long("some of the first", 60, lambda: written(stage, "few") >= 2)
    driver = stage.uid("clicks-driver-0")
    own = own_images.of_jars(from_environment(), stage.image)
    jvm = {"class": "shop.Clicks", "params": {"prefix": "jvm-"}}
    stage.apply(pipeline(**parts, image=own, transform={"jvm": jvm}))
    stage.wait_replaced("clicks-driver-0", driver)
    stage.wait_ready()
    produce(stage, 20, 28)
    stage.wait_long("all of the second", 120, lambda: written(stage, "every") >= 28)
    stage.wait_long("some of the second", 60, lambda: written(stage, "few") >= 3)
    known = [f"py-{n}" for n in range(20)] + [f"jvm-{n}" for n in range(20, 28)]
    assert values(stage, "every") == sorted(known), "each once"
    assert values(stage, "few") == ["jvm-27", "py-17", "py-7"]
    driver = stage.uid("clicks-driver-0")
    example = yaml.safe_load((own_images.EXAMPLE / "pipeline.yaml").read_text())["spec"]
    stage.apply(pipeline(**parts, image=own, transform=example["transform"]))
    stage.wait_replaced("clicks-driver-0", driver)
    stage.wait_ready()
    tool(stage, "events", "ConsoleProducer", "--topic", "lines", text=POSITIONS)
    stage.wait_long("the cells of the example", 120, lambda: written(stage, "every") >= 30)
    assert sorted(set(values(stage, "every")) - set(known)) == CELLS
