"""An S3 server on this machine, which keeps buckets as folders and objects as files."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from dev.localcluster.binaries import binary, ensure_tools
from dev.localcluster.controlplane import free_ports
from dev.localcluster.network import accepts
from dev.localcluster.paths import from_environment

ACCESS_KEY, SECRET_KEY = "trimtab-access", "trimtab-secret-key"
BUCKET = "lake"
START_TIMEOUT_S = 30.0


class S3Server:
    """A server with one bucket and one pair of keys."""

    def __init__(self, directory: Path, host: str = "127.0.0.1") -> None:
        """Starts nothing; `directory` will hold the buckets."""
        self.directory, self.host = directory, host
        (self.port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{self.host}:{self.port}"

    @property
    def bucket(self) -> Path:
        """The folder with the objects of the bucket."""
        return self.directory / BUCKET

    @property
    def spark_conf(self) -> dict[str, str]:
        """What a pipeline needs to reach it, but for the keys."""
        return {
            "spark.hadoop.fs.s3a.endpoint": self.url,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        }

    def start(self) -> None:
        """Start; returns once it answers.

        Raises:
            CommandError: it cannot be built.
            TimeoutError: it does not answer; with what it said.
        """
        paths = from_environment()
        ensure_tools(paths, ["versitygw"])
        self.bucket.mkdir(parents=True, exist_ok=True)
        log = self.directory.with_suffix(".log")
        command = [str(binary(paths, "versitygw")), "--port", f"{self.host}:{self.port}", "--quiet"]
        command += ["--access", ACCESS_KEY, "--secret", SECRET_KEY, "posix", str(self.directory)]
        with log.open("ab") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not accepts(self.host, self.port):
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise TimeoutError(log.read_text()[-2000:])
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop; what it holds stays."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None
