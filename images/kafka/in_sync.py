"""Whether a broker is in sync; its pod's readiness probe.

    in_sync.py [ID [PORT]]        ID defaults to $POD_INDEX, PORT to $PROBE_PORT or 9092

Exits 0 if the broker answers, is not fenced, reaches the controllers, and is in the ISR of every
partition that it holds a copy of; else 1, after a line that says why. So if the pods of all
brokers are ready, no partition is under-replicated; and a broker that catches up takes no other
one out of service.

It speaks Kafka's protocol itself: a probe runs every few seconds, and starting a JVM for one of
Kafka's tools takes a second of CPU.
"""

import os
import socket
import struct
import sys

TIMEOUT_S = 4.0
"""Per read; the probe allows 5 s."""
METADATA = 3, 7
DESCRIBE_QUORUM = 55, 0
"""Key and version of two requests. The first is answered from what the broker knows itself, the
second by the leader of the controllers, to which the broker forwards it."""
ALL_TOPICS = struct.pack(">i?", -1, False)  # null array; create none
QUORUM = b"\x02\x13__cluster_metadata\x02" + struct.pack(">i", 0) + b"\x00\x00\x00"
SHOWN = 3
"""Partitions that the message names."""


class NotInSyncError(Exception):
    """Why the broker is not in sync."""


class Reader:
    """Reads an answer field by field."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, form: str) -> int:
        """One number, in the notation of `struct`."""
        (value,) = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return int(value)

    def numbers(self) -> tuple[int, ...]:
        """An array of int32."""
        form = f">{self.number('i')}i"
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def text(self) -> str:
        """A string; a null one is empty."""
        length = max(0, self.number("h"))
        self.at += length
        return self.data[self.at - length : self.at].decode()


def ask(broker: socket.socket, request: tuple[int, int], body: bytes, tags: bytes = b"") -> Reader:
    """The answer to a request; `tags` ends the header of the newer form."""
    header = struct.pack(">hhih", *request, 1, -1) + tags  # correlation 1, no client id
    message = header + body
    broker.sendall(struct.pack(">i", len(message)) + message)
    answer = Reader(received(broker, *struct.unpack(">i", received(broker, 4))))
    answer.at = 4 + len(tags)  # the correlation, and its header's own tags
    return answer


def received(broker: socket.socket, size: int) -> bytes:
    """So many bytes."""
    parts: list[bytes] = []
    while size > 0:
        part = broker.recv(min(size, 1 << 20))
        if not part:
            raise ConnectionError("it closed the connection")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def check_partitions(broker: socket.socket, node: int) -> None:
    """Raise NotInSyncError unless the broker is live, and in sync in all partitions."""
    found = ask(broker, METADATA, ALL_TOPICS)
    found.number("i")  # throttle time
    live = set()
    for _ in range(found.number("i")):
        live.add(found.number("i"))
        found.text(), found.number("i"), found.text()  # host, port, rack
    if node not in live:
        raise NotInSyncError(f"broker {node} is fenced")
    found.text(), found.number("i")  # cluster, controller
    lacking = []
    for _ in range(found.number("i")):
        found.number("h")
        topic = found.text()
        found.number("b")  # internal
        for _ in range(found.number("i")):
            found.number("h")
            partition = found.number("i")
            found.number("i"), found.number("i")  # leader, epoch
            copies, in_sync = found.numbers(), found.numbers()
            found.numbers()  # offline
            if node in copies and node not in in_sync:
                lacking.append(f"{topic}-{partition}")
    if lacking:
        more = ", ..." if len(lacking) > SHOWN else ""
        names = ", ".join(lacking[:SHOWN]) + more
        raise NotInSyncError(f"broker {node} is not in sync in {len(lacking)} partitions: {names}")


def check_controllers(broker: socket.socket) -> None:
    """Raise NotInSyncError unless the controllers have a leader that answers."""
    try:
        found = ask(broker, DESCRIBE_QUORUM, QUORUM, tags=b"\x00")
    except TimeoutError:
        raise NotInSyncError("the controllers do not answer") from None
    error = found.number("h")
    if error == 0:
        found.number("b")  # one topic
        length = found.number("B") - 1
        found.at += length  # its name
        found.number("b"), found.number("i")  # one partition, its index
        error = found.number("h")
    if error != 0 or found.number("i") < 0:
        raise NotInSyncError(f"the controllers have no leader (error {error})")


def main() -> int:
    """Print why the broker is not in sync, if it is not."""
    node = int(sys.argv[1] if len(sys.argv) > 1 else os.environ["POD_INDEX"])
    port = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("PROBE_PORT", "9092"))
    try:
        with socket.create_connection(("localhost", port), TIMEOUT_S) as broker:
            check_partitions(broker, node)
            check_controllers(broker)
    except (NotInSyncError, OSError, struct.error, ValueError) as error:
        why = error if isinstance(error, NotInSyncError) else f"no answer from the broker: {error}"
        sys.stdout.write(f"{why}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
