"""The writer for Iceberg: a real table, a real Spark, and a batch whose commit was lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from dev.kafka import KafkaBroker
from dev.localcluster.jars import cached, made_once
from dev.localcluster.paths import from_environment
from tests.kafka.driver import REPO, Driver
from tests.kafka.test_sinks import SQL, every_record_once, replayed
from tests.long import LONG

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(500)]
PACKAGES = REPO / "tests/kafka/iceberg.txt"

MAKE = """
import pyarrow as pa
from pyiceberg.catalog import load_catalog
catalog = load_catalog("lake")
catalog.create_namespace("shop")
catalog.create_table("shop.items", schema=pa.schema([
    ("id", pa.string()), ("item", pa.int32()), ("topic", pa.string()),
    ("partition", pa.int32()), ("offset", pa.int64()),
]))
"""
READ = """
import json
from pyiceberg.catalog import load_catalog
table = load_catalog("lake").load_table("shop.items")
marks = [v for k, v in table.properties.items() if k.startswith("trimtab.batch.")]
print(json.dumps({"ids": table.scan().to_arrow()["id"].to_pylist(), "marks": marks}))
"""


@pytest.fixture(scope="module")
def packages() -> Path:
    """A folder with PyIceberg, kept in the user's cache."""

    def install(folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        more = ["--no-deps", "--target", str(folder), "-r", str(PACKAGES)]
        subprocess.run([*pip, *more], check=True, timeout=300)

    return made_once(cached(from_environment(), "iceberg", [PACKAGES]), "PyIceberg", install)


@LONG
def test_a_table_has_each_record_of_a_replayed_batch_once(
    broker: KafkaBroker, topics: tuple[str, str], make_driver: Callable[..., Driver],
    packages: Path, tmp_path: Path,
) -> None:  # fmt: skip
    env = {
        "PYICEBERG_CATALOG__LAKE__TYPE": "sql",
        "PYICEBERG_CATALOG__LAKE__URI": f"sqlite:///{tmp_path}/catalog.db",
        "PYICEBERG_CATALOG__LAKE__WAREHOUSE": f"file://{tmp_path}/warehouse",
    }
    told(packages, env, MAKE)
    params = {"catalog": "lake", "table": "shop.items"}
    driver = make_driver(
        transform={"sql": SQL},
        sink={"kind": "foreachBatch", "module": "trimtab.writers:iceberg", "params": params},
    )
    path = os.pathsep.join([str(driver.code), str(REPO), str(packages)])
    replayed(driver, broker.bootstrap, topics[0], PYTHONPATH=path, **env)
    found = json.loads(told(packages, env, READ))
    every_record_once(found["ids"], broker, topics[0])
    assert len(found["marks"]) == 1


def told(packages: Path, env: dict[str, str], script: str) -> str:
    """What a script prints that uses PyIceberg."""
    path = {"PYTHONPATH": str(packages)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | env | path, capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
