"""A broker with the listeners of a secured KafkaCluster, and the Job that makes its users."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from dev.kafka import KafkaBroker
from dev.localcluster.controlplane import free_ports
from tests.kafka.test_image import IMAGE, NODE, probe, tools
from tests.long import LONG

from trimtab.adapters.certificates import OwnCertificates
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.ports import Pair
from trimtab.workloads.kafka import listeners

__all__ = ["tools"]

pytestmark = pytest.mark.kafka
SPEC = KafkaClusterSpec.model_validate({"security": {"users": ["reports"]}})
TOPIC = "secured"


class Secured:
    """One broker, its certificates, and the passwords of its users."""

    def __init__(self, directory: Path) -> None:
        self.stores = directory / "tls"
        self.stores.mkdir(parents=True)
        made, now_s = OwnCertificates(), time.time()
        self.authority = made.authority("tests", now_s, 2)
        self.keep(made.issue(self.authority, ["localhost"], now_s, 2))
        self.client, self.peers = free_ports(2)
        self.broker = KafkaBroker(directory / "broker")
        found = listeners.properties(SPEC)
        found["listeners"] = (
            f"CLIENT://localhost:{self.client},PEERS://localhost:{self.peers},"
            f"LOCAL://localhost:{self.broker.port},"
            f"CONTROLLER://localhost:{self.broker.controller_port}"
        )
        self.broker.options = {
            **{
                key: value.replace(listeners.STORES, str(self.stores))
                for key, value in found.items()
            },
            "advertised.listeners": found["listeners"].rpartition(",")[0],
            "controller.quorum.voters": f"1@localhost:{self.broker.controller_port}",
        }
        self.peer = directory / "peer.properties"
        lines = (f"{key}={value}" for key, value in listeners.peer(SPEC).items())
        self.peer.write_text("\n".join(lines).replace(listeners.STORES, str(self.stores)))
        self.users = directory / "users"
        self.users.mkdir()

    def keep(self, pair: Pair) -> None:
        """What the brokers' Secrets hold."""
        (self.stores / "broker.pem").write_text(pair.key + pair.certificate)
        (self.stores / "ca.crt").write_text(self.authority.certificate)

    def login(self, user: str, password: str | None) -> None:
        """What the user's Secret holds; None: there is none any more."""
        if password is None:
            (self.users / user).unlink()
        else:
            (self.users / user).write_text(password)

    def run_job(self, tools: dict[str, str]) -> None:
        where = {"KAFKA_CLIENT_CONFIG": str(self.peer), "KAFKA_USERS": str(self.users)}
        argv = ["sh", IMAGE / "topics", f"localhost:{self.peers}", f"{TOPIC}:2::1"]
        subprocess.run(argv, env=tools | where, check=True, timeout=180)

    def client_of(self, user: str, password: str) -> dict[str, str]:
        return {
            "bootstrap.servers": f"localhost:{self.client}", "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": user, "sasl.password": password,
            "ssl.ca.location": str(self.stores / "ca.crt"), "log_level": "0",
        }  # fmt: skip


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    made = Secured(tmp_path_factory.mktemp("secured"))
    made.broker.start()
    yield made
    made.broker.stop()


def lets_in(settings: dict[str, str]) -> bool:
    try:
        AdminClient(settings).list_topics(timeout=8)
    except KafkaException:
        return False
    return True


@LONG
def test_users_are_made_changed_and_removed_and_nobody_else_gets_in(
    secured: Secured, tools: dict[str, str]
) -> None:
    secured.login("pipelines", "first-password")
    secured.login("reports", "of-reports")
    secured.run_job(tools)
    ours = secured.client_of("pipelines", "first-password")
    assert lets_in(ours)
    assert lets_in(secured.client_of("reports", "of-reports"))
    produced: list[bool] = []
    producer = Producer(ours)
    producer.produce(TOPIC, b"x", on_delivery=lambda error, _: produced.append(error is None))
    producer.flush(20)
    assert produced == [True]
    assert not lets_in(secured.client_of("pipelines", "guess"))
    assert not lets_in({"bootstrap.servers": f"localhost:{secured.client}", "log_level": "0"})

    secured.login("pipelines", "second-password")
    secured.login("reports", None)
    secured.run_job(tools)
    assert lets_in(secured.client_of("pipelines", "second-password"))
    assert not lets_in(ours)
    assert not lets_in(secured.client_of("reports", "of-reports"))


def test_only_who_shows_the_brokers_certificate_is_a_peer(secured: Secured) -> None:
    trusted = {"ssl.ca.location": str(secured.stores / "ca.crt"), "log_level": "0"}
    peer = {"bootstrap.servers": f"localhost:{secured.peers}", "security.protocol": "SSL"} | trusted
    assert not lets_in(peer)
    own = str(secured.stores / "broker.pem")
    assert lets_in(peer | {"ssl.certificate.location": own, "ssl.key.location": own})


def test_the_probe_asks_on_loopback(secured: Secured) -> None:
    assert probe(NODE, secured.broker.port) == (0, "")
