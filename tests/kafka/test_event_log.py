"""The log of Spark's events of a real driver: in S3, on a volume, and where it cannot be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.produce import produce
from dev.s3 import ACCESS_KEY, SECRET_KEY, S3Server
from tests.kafka.driver import REPO, Driver
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

READ = """
import sys
from trimtab.job import gateway
jvm = gateway.started({})
for name in sys.argv[1:]:
    stream = jvm.com.github.luben.zstd.ZstdInputStream(jvm.java.io.FileInputStream(name))
    print(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
"""


def events(folder: Path, driver: Driver) -> list[dict[str, Any]]:
    """The events in all files of one run."""
    files = sorted(str(path) for path in folder.rglob("events_*"))
    assert files
    env = os.environ | {"PYTHONPATH": str(REPO / "operator"), "SPARK_CONF_DIR": str(driver.conf)}
    done = subprocess.run(
        [sys.executable, "-c", READ, *files], env=env, capture_output=True, text=True, timeout=180,
        check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[S3Server]:
    made = S3Server(tmp_path / "s3")
    made.start()
    yield made
    made.stop()


def run(driver: Driver, broker: KafkaBroker, topic: str, **env: str) -> None:
    driver.settings(trigger="100ms")
    made = produce(broker.bootstrap, topic, [(1.0, 200)])
    driver.start(**env)
    driver.until(driver.committed(made.acknowledged))
    assert driver.terminate() == 0


KEYS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}


def test_it_is_in_s3_without_secrets_and_closed_at_the_end(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver],
    server: S3Server,
) -> None:  # fmt: skip
    hidden = {"spark.hadoop.fs.azure.account.key.lake": "hunter2-is-no-password"}
    driver = make_driver(eventLogUri="s3a://lake/events", sparkConf=server.spark_conf | hidden)
    run(driver, broker, topics[0], **KEYS)
    (log,) = (server.bucket / "events").iterdir()
    assert log.name.startswith("eventlog_v2_")
    assert [path.name for path in log.glob("appstatus_*") if path.name.endswith("inprogress")] == []
    found = events(log, driver)
    assert {"SparkListenerApplicationStart", "SparkListenerJobEnd"} <= {e["Event"] for e in found}
    text = json.dumps(found)
    assert "fs.azure.account.key.lake" in text
    for secret in (SECRET_KEY, *hidden.values()):
        assert secret not in text


@LONG
def test_it_is_on_a_volume(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    folder = tmp_path / "volume" / "events"
    driver = make_driver(eventLogUri=f"file://{folder}")
    run(driver, broker, topics[0])
    assert events(folder, driver)


def test_a_place_that_cannot_be_is_told(
    topics: tuple[str, str], make_driver: Callable[..., Driver], server: S3Server
) -> None:
    for uri in ("s3a://no-such-bucket/events", "file:///proc/events", "nowhere://a/events"):
        driver = make_driver(eventLogUri=uri, sparkConf=server.spark_conf)
        driver.settings()
        driver.start(**KEYS)
        told = driver.termination()
        assert told["reason"] == "EventLogUnreachable", told
        assert f"the event log at {uri}: " in told["message"]


@LONG
def test_a_store_that_goes_away_stops_no_query(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver],
    server: S3Server,
) -> None:  # fmt: skip
    driver = make_driver(eventLogUri="s3a://lake/events", sparkConf=server.spark_conf)
    driver.settings(trigger="100ms")
    made = produce(broker.bootstrap, topics[0], [(1.0, 200)])
    driver.start(**KEYS)
    driver.until(driver.committed(made.acknowledged))
    server.stop()
    more = produce(broker.bootstrap, topics[0], [(1.0, 200)])
    driver.until(driver.committed(made.acknowledged + more.acknowledged))
    assert driver.terminate() == 0
