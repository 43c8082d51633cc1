"""A separate broker behind delaying proxies: one listener for each round trip."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.producer.proxy import DelayingProxy
from dev.kafka import KafkaBroker
from dev.localcluster.controlplane import free_ports

TOPIC = "load"


@contextlib.contextmanager
def brokers(round_trips_ms: Sequence[float], partitions: int = 4) -> Iterator[dict[float, str]]:
    """Bootstrap addresses of one broker, by added round trip in milliseconds."""
    with proxied(round_trips_ms, partitions) as proxies:
        yield {ms: proxy.address for ms, proxy in proxies.items()}


@contextlib.contextmanager
def proxied(
    round_trips_ms: Sequence[float], partitions: int = 4
) -> Iterator[dict[float, DelayingProxy]]:
    """The proxies through which the broker is reached."""
    ports = dict(zip(round_trips_ms, free_ports(len(round_trips_ms)), strict=True))
    proxies = {ms: DelayingProxy(ports[ms], ms / 2000) for ms in round_trips_ms}
    names = {ms: f"D{index}" for index, ms in enumerate(round_trips_ms)}
    with contextlib.ExitStack() as stack:
        directory = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="trimtab-producer"))
        )
        broker = KafkaBroker(directory)
        own = f"PLAINTEXT://127.0.0.1:{broker.port}"
        inner = [f"{names[ms]}://127.0.0.1:{port}" for ms, port in ports.items()]
        outer = [f"{names[ms]}://{proxies[ms].address}" for ms in ports]
        protocols = [f"{name}:PLAINTEXT" for name in ("PLAINTEXT", "CONTROLLER", *names.values())]
        controller = f"CONTROLLER://127.0.0.1:{broker.controller_port}"
        broker.options = {
            "listeners": ",".join([own, controller, *inner]),
            "advertised.listeners": ",".join([own, *outer]),
            "listener.security.protocol.map": ",".join(protocols),
            "inter.broker.listener.name": "PLAINTEXT",
            # nobody needs what the probes wrote
            "log.retention.bytes": str(256 << 20),
            "log.segment.bytes": str(64 << 20),
            "log.retention.check.interval.ms": "5000",
        }
        for proxy in proxies.values():
            stack.enter_context(proxy.running())
        broker.start()
        stack.callback(broker.stop)
        broker.create_topic(TOPIC, partitions)
        yield proxies
