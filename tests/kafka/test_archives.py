"""A transform whose modules are in an archive in S3, read by its hash."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from dev.kafka import KafkaBroker
from dev.loadgen.verify import read_all
from dev.s3 import ACCESS_KEY, SECRET_KEY, S3Server
from tests.kafka.driver import Driver
from tests.kafka.test_formats import send
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]
NAME = "shouts-1.0-py3-none-any.whl"
KEYS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
MODULES = {
    "shouts/__init__.py": "",
    "shouts/loud.py": "def louder(text):\n    return text.upper()\n",
    "shouts/job.py": """
from pyspark.sql import functions as F
from shouts.loud import louder


def transform(df, params):
    shout = F.udf(lambda value: louder(value.decode()))
    return df.select("key", shout("value").alias("value"), "topic", "partition", "offset")
""",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server with the wheel in its bucket."""
    server = S3Server(tmp_path_factory.mktemp("archives") / "s3")
    server.start()
    (server.bucket / "jobs").mkdir()
    with zipfile.ZipFile(server.bucket / "jobs" / NAME, "w") as packed:
        for name, text in MODULES.items():
            packed.writestr(name, text)
    # the server keeps it so for what is uploaded; Hadoop's client reads nothing without it
    os.setxattr(server.bucket / "jobs" / NAME, "user.etag", b"made-by-hand")
    yield server
    server.stop()


def asked(store: S3Server, sha256: str | None = None, name: str = NAME) -> dict[str, Any]:
    """The job's part that names the archive."""
    sha256 = sha256 or hashlib.sha256((store.bucket / "jobs" / NAME).read_bytes()).hexdigest()
    archive = {"uri": f"s3a://lake/jobs/{name}", "sha256": sha256}
    return {
        "schema": 2, "sparkConf": store.spark_conf,
        "transform": {"module": "shouts.job:transform", "archives": [archive]},
    }  # fmt: skip


@LONG
def test_driver_and_executors_import_what_is_in_the_archive(
    broker: KafkaBroker,
    topics: tuple[str, str],
    make_driver: Callable[..., Driver],
    store: S3Server,
) -> None:
    send(broker.bootstrap, topics[0], *(f"word {n}".encode() for n in range(20)))
    driver = make_driver(**asked(store))
    driver.settings(trigger="100ms", maxOffsetsPerTrigger=200)
    driver.start(**KEYS)
    driver.until(driver.committed(20))
    assert driver.terminate() == 0
    assert sorted(map(bytes, filter(None, read_all(broker.bootstrap, topics[1])))) == sorted(
        f"WORD {n}".encode() for n in range(20)
    )
    assert SECRET_KEY not in driver.log.read_text()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sha256": "0" * 64}, "is not the one that the spec names: its sha256 is "),
        pytest.param(
            {"name": "lost.whl"}, "cannot be read: java.io.FileNotFoundException", marks=LONG
        ),
    ],
)
def test_another_archive_does_not_run(
    make_driver: Callable[..., Driver], store: S3Server, wrong: dict[str, str], words: str
) -> None:
    driver = make_driver(**asked(store, **wrong))
    driver.settings(trigger="100ms", maxOffsetsPerTrigger=200)
    driver.start(**KEYS)
    told = driver.termination()
    assert told["reason"] == "ModuleNotFound"
    assert words in told["message"]
