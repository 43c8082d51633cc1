"""The readiness probe of a broker, on answers that Kafka's own classes have written."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "images/kafka/in_sync.py"
ANSWERS = {
    name: bytes.fromhex(text)
    for name, text in (
        line.split() for line in (Path(__file__).parent / "answers.txt").read_text().splitlines()
    )
}
"""By name, whole messages with their size: requests as Kafka's client would write them, and answers
of a cluster of three brokers, with the topics clicks and __consumer_offsets. See Answers.java."""


class Broker:
    """Takes one connection after another and gives prepared answers; keeps what was asked."""

    def __init__(self, *answers: bytes) -> None:
        self.answers, self.asked = answers, list[bytes]()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        connection, _ = self.listening.accept()
        with connection:
            for answer in self.answers:
                size = connection.recv(4, socket.MSG_WAITALL)
                (length,) = struct.unpack(">i", size)
                self.asked.append(size + connection.recv(length, socket.MSG_WAITALL))
                connection.sendall(answer[:7])  # in two parts, as TCP may bring it
                connection.sendall(answer[7:])


@pytest.fixture
def brokers() -> Iterator[list[Broker]]:
    made: list[Broker] = []
    yield made
    for broker in made:
        broker.listening.close()


def probe(node: int, port: int) -> tuple[int, str]:
    argv = [sys.executable, "-I", SCRIPT, str(node), str(port)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    assert done.stderr == ""
    return done.returncode, done.stdout.strip()


def test_it_asks_as_kafkas_own_client_does(brokers: list[Broker]) -> None:
    brokers.append(Broker(ANSWERS["WELL"], ANSWERS["LED"]))
    assert probe(1, brokers[0].port) == (0, "")
    assert brokers[0].asked == [ANSWERS["METADATA_REQUEST"], ANSWERS["QUORUM_REQUEST"]]


@pytest.mark.parametrize(
    ("node", "answers", "words"),
    [
        (1, ("SICK",), "broker 1 is not in sync in 2 partitions: clicks-1, __consumer_offsets-0"),
        (7, ("WELL",), "broker 7 is fenced"),
        (0, ("WELL", "UNLED"), "the controllers have no leader (error 0)"),
        (0, ("WELL", "REFUSED"), "the controllers have no leader (error 6)"),
        (0, ("WELL", "TOP_ERROR"), "the controllers have no leader (error 31)"),
        (0, ("WELL",), "no answer from the broker"),
    ],
)
def test_why_a_broker_is_not_in_sync(
    brokers: list[Broker], node: int, answers: tuple[str, ...], words: str
) -> None:
    brokers.append(Broker(*(ANSWERS[name] for name in answers)))
    code, said = probe(node, brokers[0].port)
    assert code == 1
    assert said.startswith(words)


@pytest.mark.parametrize("node", [0, 2])
def test_a_broker_that_lags_leaves_the_others_ready(brokers: list[Broker], node: int) -> None:
    brokers.append(Broker(ANSWERS["SICK"], ANSWERS["LED"]))
    assert probe(node, brokers[0].port) == (0, "")


def test_an_answer_that_is_none_is_no_crash(brokers: list[Broker]) -> None:
    brokers.append(Broker(struct.pack(">i", 9) + b"\x00" * 9))
    code, said = probe(0, brokers[0].port)
    assert code == 1
    assert said.startswith("no answer from the broker")


def test_a_port_that_nobody_listens_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    code, said = probe(0, port)
    assert code == 1
    assert said.startswith("no answer from the broker")
