"""One Kafka broker on loopback as a plain JVM (KRaft, no Docker), and the jars that it needs.

Maven fetches the jars of `images/pom.xml` into the user's cache, once; a changed pom gets a new
directory. Used by `tests/kafka` and by hand: `python -m dev.kafka DIRECTORY`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from dev.localcluster.controlplane import free_ports
from dev.localcluster.jars import ensure_jars
from dev.localcluster.paths import from_environment

CLUSTER_ID = "dHJpbXRhYi10cmltdGFiLQ"  # any 16 bytes in base64
START_TIMEOUT_S = 60.0


def jars(profile: str) -> Path:
    """The directory with the jars of one profile of the pom (`kafka` or `spark`).

    Raises:
        CommandError: Maven could not fetch them.
    """
    return ensure_jars(from_environment(), profile)


class KafkaBroker:
    """A broker and controller in one process; it keeps its port and its log across restarts."""

    def __init__(self, directory: Path, options: Mapping[str, str] | None = None) -> None:
        """Starts nothing; `directory` is created by `start`."""
        self.directory = directory
        self.port, self.controller_port = free_ports(2)
        self.options = dict(options or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """The bootstrap address."""
        return f"127.0.0.1:{self.port}"

    def _properties(self) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},"
            f"CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
            "log.dirs": str(self.directory / "data"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
            **self.options,
        }

    def _java(self, main: str, *arguments: str) -> list[str]:
        # a test broker is short-lived: it would never regain the time that C2 takes
        options = ["-Xms128m", "-Xmx512m", "-XX:TieredStopAtLevel=1"]
        level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        classpath = f"{jars('kafka')}/*"
        return ["java", *options, level, "-cp", classpath, main, *arguments]

    def start(self) -> None:
        """Start and wait until the broker answers; the first start formats its storage.

        Raises:
            RuntimeError: it exited, or did not answer within a minute; with the end of its log.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        config = self.directory / "server.properties"
        first = not config.exists()
        config.write_text("".join(f"{k}={v}\n" for k, v in self._properties().items()))
        with (self.directory / "broker.log").open("ab") as log:
            if first:
                tool = self._java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID)
                command = [*tool, "-c", str(config)]
                if subprocess.run(command, stdout=log, stderr=log, check=False).returncode:
                    raise RuntimeError(f"its storage was not formatted: {self._last_words()}")
            command = self._java("kafka.Kafka", str(config))
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self._await_answer()

    def _await_answer(self) -> None:
        assert self._process is not None
        admin = self.admin()
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"the broker exited: {self._last_words()}")
            try:
                if admin.list_topics(timeout=1).brokers:
                    return
            except Exception:  # noqa: S110 -- not up yet, whatever the client calls it
                pass
            time.sleep(0.2)
        raise RuntimeError(f"the broker did not answer: {self._last_words()}")

    def _last_words(self) -> str:
        """The end of its log, which tests remove with everything else."""
        return (self.directory / "broker.log").read_text(errors="replace")[-2000:]

    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self._process is not None and self._process.poll() is not None

    def stop(self) -> None:
        """Shut down cleanly; does nothing if it is not running."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None

    def kill(self) -> None:
        """Kill it, as if its machine were lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = None

    def admin(self) -> AdminClient:
        """An admin client that does not write connection errors to stderr."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Create a topic and wait until each of its partitions has a leader.

        Raises:
            RuntimeError: they did not within a minute.
        """
        admin = self.admin()  # its futures need it alive
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            found = admin.list_topics(name, timeout=10).topics[name].partitions.values()
            if len(found) == partitions and all(each.leader >= 0 for each in found):
                return
            time.sleep(0.05)
        raise RuntimeError(f"partitions of {name} have no leaders")

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until it is gone.

        Raises:
            RuntimeError: it was still there after a minute.
        """
        admin = self.admin()
        admin.delete_topics([name])[name].result(30)
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if name not in admin.list_topics(timeout=10).topics:
                return
            time.sleep(0.05)
        raise RuntimeError(f"{name} is still there")


def main() -> None:
    """Run a broker until interrupted; prints its address to stdout."""
    broker = KafkaBroker(Path(sys.argv[1]))
    broker.start()
    sys.stdout.write(f"{broker.bootstrap}\n")
    sys.stdout.flush()
    try:
        assert broker._process is not None
        broker._process.wait()
    except KeyboardInterrupt:
        broker.stop()


if __name__ == "__main__":
    main()
