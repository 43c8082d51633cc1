"""One driver under test: a real `python -m trimtab.job` process with Spark in local mode."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any

from dev.localcluster.controlplane import free_ports
from tests.kafka.classes import archive, class_path

from trimtab.tuning.settings import Settings

REPO = Path(__file__).resolve().parents[2]
SAMPLE = re.compile(r"^(?P<name>\w+)(\{(?P<labels>[^}]*)\})? (?P<value>\S+)$", re.M)
UID = "uid-of-the-test"

RATE = {"kind": "rate", "rowsPerSecond": 20, "partitions": 2}
NOWHERE = "nowhere.invalid:9092"
OF_KAFKA = ("lag_", "partition_input", "partitions_", "retention_", "locality_places", "batch_wait")
"""Figures that only a source on Kafka has begin so."""


class Driver:
    """Keeps one pipeline's files in a directory; a driver can be started on them many times."""

    def __init__(
        self, directory: Path, bootstrap: str, defaults: dict[str, str] | None = None, **job: Any
    ) -> None:
        """`defaults` are for spark-defaults.conf, which may set what a pipeline may not."""
        self.directory = directory
        self.port = free_ports(1)[0]
        self.generation = 0
        self.source: dict[str, Any] = {"startingOffsets": "earliest"}
        self.starts = 0
        self.code = REPO / "operator"
        """The folder that `trimtab` is imported from."""
        directory.mkdir(parents=True, exist_ok=True)
        document = {
            "schema": 1,
            "namespace": "test",
            "pipeline": "clicks",
            "pipelineUid": UID,
            "source": {"bootstrapServers": bootstrap, "topics": ["clicks"]},
            "transform": {"sql": "SELECT key, upper(value) AS value FROM source"},
            "sink": {"kind": "kafka", "bootstrapServers": bootstrap, "topic": "clicks-out"},
            "checkpointUri": str(directory / "checkpoint" / "1"),
            "drainTimeout": "30s",
            "sparkConf": {
                # a trigger of 0 s asks the broker for news without a pause, or after this one
                "spark.sql.streaming.pollingDelay": "100ms",
                **job.pop("sparkConf", {}),
            },
            **job,
        }
        (directory / "job.json").write_text(json.dumps(document))
        self._write_defaults(defaults or {})

    def _write_defaults(self, changes: dict[str, str]) -> None:
        """How Spark runs on this machine, from where the image has its own."""
        keys = {
            "spark.master": "local[2]",
            "spark.driver.extraClassPath": class_path(),
            "spark.driver.defaultJavaOptions": f"-XX:SharedArchiveFile={archive()}",
            # a test's driver lives for seconds: it would never win back the time of C2
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.memory": "640m",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        } | changes
        self.conf.mkdir(exist_ok=True)
        lines = "".join(f"{key} {value}\n" for key, value in keys.items())
        (self.conf / "spark-defaults.conf").write_text(lines)

    def apply(self, settings: Settings) -> int:
        """Write the law's settings, as far as they need no cluster; returns their generation."""
        known = settings.knob_values().model_dump(by_alias=True, exclude_none=True, mode="json")
        trigger = f"{max(1, round(settings.trigger_s * 1000))}ms"
        return self.settings(
            trigger=trigger,
            maxOffsetsPerTrigger=settings.max_offsets,
            **{name: known[name] for name in ("sink", "producer") if name in known},
        )

    def settings(self, *, schema: int = 1, uid: str = UID, **knobs: Any) -> int:
        """Write the next generation of settings.json, as a ConfigMap volume would: at once."""
        self.generation += 1
        document = {
            "schema": schema,
            "generation": self.generation,
            "pipelineUid": uid,
            "settings": knobs,
            "source": self.source,
            "reason": "test",
        }
        partial = self.directory / "settings.partial"
        partial.write_text(json.dumps(document))
        partial.replace(self.directory / "settings.json")
        return self.generation

    def start(self, **env: str) -> None:
        self.starts += 1
        module = [sys.executable, "-m", "trimtab.job"]
        arguments = {
            "--job": "job.json",
            "--settings": "settings.json",
            "--termination-log": "termination.json",
            "--modules": "modules",
        }
        for flag, name in arguments.items():
            module += [flag, str(self.directory / name)]
        path = os.pathsep.join([str(self.code), str(REPO)])
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*module, "--metrics-port", str(self.port)],
                env={
                    **os.environ,
                    "PYSPARK_PYTHON": sys.executable,  # as in the image
                    "PYTHONPATH": path,
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "SPARK_CONF_DIR": str(self.conf),
                    **env,
                },
                stdout=log,
                stderr=log,
            )

    @property
    def log(self) -> Path:
        return self.directory / "driver.log"

    @property
    def conf(self) -> Path:
        return self.directory / "conf"

    def get(self, path: str) -> tuple[int, str]:
        """The status and the text of an answer.

        Raises:
            OSError: there is none, or the driver ended within it.
        """
        url = f"http://127.0.0.1:{self.port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except HTTPException as error:
            raise ConnectionError(str(error)) from error

    def metrics(self) -> dict[str, float]:
        """All samples: `name` or `name{label="x"}`, without the prefix; {} when it is down."""
        try:
            _, text = self.get("/metrics")
        except OSError:
            return {}
        return {
            f"{m['name']}{{{m['labels']}}}".removesuffix("{None}").removeprefix("trimtab_"): float(
                m["value"]
            )
            for m in SAMPLE.finditer(text)
        }

    def until(self, what: Callable[[dict[str, float]], Any], timeout_s: float = 150) -> Any:
        """Wait until `what(metrics)` is true; fails at once when the driver is gone."""
        deadline = time.monotonic() + timeout_s
        metrics: dict[str, float] = {}
        while time.monotonic() < deadline:
            metrics = self.metrics()
            if metrics and what(metrics):
                return metrics
            if self.process.poll() is not None:
                raise AssertionError(
                    f"the driver ended with {self.process.returncode}\n{self.tail()}"
                )
            time.sleep(0.05)
        raise AssertionError(f"not in {timeout_s} s; metrics: {metrics}\n{self.tail()}")

    def committed(self, records: int) -> Callable[[dict[str, float]], bool]:
        """A condition: nothing lags, and this driver has committed at least so many records."""

        def check(metrics: dict[str, float]) -> bool:
            lags = [v for k, v in metrics.items() if k.startswith("lag_records{")]
            return metrics.get("records_total", 0) >= records and bool(lags) and sum(lags) == 0

        return check

    def tail(self, lines: int = 60) -> str:
        return "\n".join(self.log.read_text().splitlines()[-lines:])

    def terminate(self, timeout_s: float = 120) -> int:
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout_s)

    def kill(self) -> None:
        """`kill -9` of Python; the JVM ends when its standard input closes."""
        self.process.kill()
        self.process.wait(30)

    def termination(self, timeout_s: float = 150) -> dict[str, str]:
        """Wait for a failing end; what the termination log says."""
        code = self.process.wait(timeout_s)
        assert code == 1, self.tail()
        told: dict[str, str] = json.loads((self.directory / "termination.json").read_text())
        return told
