"""A slow link between pods: their packets to each other are held for a while.

The kernels that the local cluster runs on often lack netem. So packets from one range of addresses
to another go through a netfilter queue, whose reader releases each after the delay: `python -m
bench.link MILLISECONDS`. Only their numbers are read. Without a reader they pass at once.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

Pair = tuple[str, str]
QUEUE = 77
PACKETS = 65_536
"""Packets that may wait; the kernel drops more."""

NETLINK_NETFILTER, SUBSYSTEM, REQUEST = 12, 3 << 8, 1
PACKET, CONFIG, VERDICTS = 0, 2, 3
"""Messages of nfnetlink_queue; a batch of verdicts holds for all packets up to a number."""

CFG_CMD, CFG_PARAMS, CFG_MAXLEN, HEADER, VERDICT_HEADER = 1, 2, 3, 1, 2
BIND, COPY_META, ACCEPT = 1, 1, 1


@contextlib.contextmanager
def slow(pairs: Iterable[Pair], delay_ms: float) -> Iterator[None]:
    """Delay what goes from the first range of each pair, an address or a CIDR, to the second."""
    held = ["-j", "NFQUEUE", "--queue-num", str(QUEUE), "--queue-bypass"]
    reader = subprocess.Popen([sys.executable, "-m", "bench.link", f"{delay_ms:g}"])
    try:
        with _rules("-A", [["-s", sender, "-d", receiver, *held] for sender, receiver in pairs]):
            yield
    finally:
        reader.terminate()
        reader.wait()


@contextlib.contextmanager
def counted(pairs: Iterable[Pair], port: int) -> Iterator[Callable[[], int]]:
    """Count what goes from a port of the first range of each pair to the second.

    Yields what tells the bytes so far, with their headers.
    """
    told = ["-p", "tcp", "--sport", str(port)]

    def so_far() -> int:
        argv = ["iptables", "-w", "-nvxL", "FORWARD"]
        shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        return sum(int(line.split()[1]) for line in shown.splitlines() if f"spt:{port}" in line)

    # before what delays, which is the end of a packet's way through the rules
    with _rules("-I", [["-s", sender, "-d", receiver, *told] for sender, receiver in pairs]):
        yield so_far


@contextlib.contextmanager
def _rules(how: str, rules: Sequence[Sequence[str]]) -> Iterator[None]:
    try:
        for rule in rules:
            subprocess.run(["iptables", "-w", how, "FORWARD", *rule], check=True)
        yield
    finally:
        for rule in rules:
            subprocess.run(["iptables", "-w", "-D", "FORWARD", *rule], check=False)


def message(kind: int, queue: int, *attributes: tuple[int, bytes]) -> bytes:
    """One message to nfnetlink_queue."""
    body = struct.pack("!BBH", socket.AF_UNSPEC, 0, queue)
    for number, data in attributes:
        body += struct.pack("=HH", 4 + len(data), number) + data + b"\0" * (-len(data) % 4)
    head = struct.pack("=IHHII", 16 + len(body), SUBSYSTEM | kind, REQUEST, 0, 0)
    return head + body


def packet_ids(data: bytes) -> Iterator[int]:
    """The numbers of the packets that some messages announce."""
    while len(data) >= 16:
        length, kind = struct.unpack_from("=IH", data)
        if kind == SUBSYSTEM | PACKET:
            yield from _id(data[20:length])
        data = data[(length + 3) & ~3 :]


def _id(attributes: bytes) -> Iterator[int]:
    while len(attributes) >= 4:
        length, number = struct.unpack_from("=HH", attributes)
        if number == HEADER:
            yield struct.unpack_from("!I", attributes, 4)[0]
        attributes = attributes[(length + 3) & ~3 :]


def hold(delay_s: float) -> None:
    """Read the queue, and release each packet after the delay; ends with the process."""
    queue = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    queue.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    queue.bind((0, 0))
    queue.send(message(CONFIG, QUEUE, (CFG_CMD, struct.pack("!BBH", BIND, 0, socket.AF_INET))))
    queue.send(message(CONFIG, QUEUE, (CFG_PARAMS, struct.pack("!IB", 0, COPY_META))))
    queue.send(message(CONFIG, QUEUE, (CFG_MAXLEN, struct.pack("!I", PACKETS))))
    waiting: deque[tuple[float, int]] = deque()
    while True:
        left_s = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        if select.select([queue], [], [], left_s)[0]:
            now = time.monotonic()
            with contextlib.suppress(OSError):  # more has come than the socket holds
                waiting.extend((now + delay_s, each) for each in packet_ids(queue.recv(1 << 17)))
        due = None
        while waiting and waiting[0][0] <= time.monotonic():
            due = waiting.popleft()[1]
        if due is not None:
            verdict = struct.pack("!II", ACCEPT, due)
            queue.send(message(VERDICTS, QUEUE, (VERDICT_HEADER, verdict)))


if __name__ == "__main__":
    hold(float(sys.argv[1]) / 1000)
