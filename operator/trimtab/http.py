"""HTTP for Prometheus and the kubelet: `/metrics` and a process's own probes.

Anybody who reaches the port may connect, so nobody may keep others out: a request and its answer
have limits in time, threads are bounded, and an unfinished request gives way to a new one.
"""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

log = logging.getLogger(__name__)

Probe = Callable[[], tuple[bool, str]]
"""Whether it is well (status 200, else 503), and words."""

METRICS = "/metrics"
MAX_CONNECTIONS = 16
"""Connections at once, each with a thread: Prometheus and the kubelet need three."""
READ_S = 5.0
"""Seconds for a whole request: a byte now and then does not extend it."""
WRITE_S = 10.0
"""Seconds for a whole answer."""
EVICTION_S = 1.0
"""Seconds within which an unfinished request ends once its connection is shut down."""
WORKER = "trimtab-http-worker"


def serve(port: int, registry: CollectorRegistry, probes: Mapping[str, Probe]) -> int:
    """Answer on all addresses in threads of its own; `probes` are by path.

    Returns the port, which is a free one for 0. Raises OSError when it is taken.
    """

    class Handler(_Handler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == METRICS:
                encode, content_type = choose_encoder(self.headers.get("Accept", ""))
                self.answer(200, content_type, encode(registry))
            elif probe := probes.get(path):
                well, words = probe()
                self.answer(200 if well else 503, "text/plain; charset=utf-8", words.encode())
            else:
                words = f"only {', '.join([METRICS, *probes])}"
                self.answer(404, "text/plain; charset=utf-8", words.encode())

    server = _Server(("", port), Handler)
    threading.Thread(target=server.serve_forever, name="trimtab-http", daemon=True).start()
    return int(server.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    """One request within its limits in time."""

    server: _Server

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(Deadlined(self.connection, READ_S))

    def parse_request(self) -> bool:
        parsed = super().parse_request()
        self.server.complete(self.connection)
        return parsed

    def answer(self, code: int, content_type: str, body: bytes) -> None:
        """Send a whole answer; raises OSError if it is not taken in time."""
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.connection.settimeout(WRITE_S)  # of `sendall` as a whole
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """A line for each probe and scrape would drown the log."""


def _monotonic_s() -> float:
    return time.monotonic()  # noqa: TID251 -- of a real connection


class Deadlined(io.RawIOBase):
    """What a socket receives until a moment; later it raises TimeoutError."""

    def __init__(self, connection: socket.socket, limit_s: float) -> None:
        self._connection = connection
        self._until = _monotonic_s() + limit_s

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for something at most until the moment."""
        left = self._until - _monotonic_s()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Server(TCPServer):
    """A thread for each connection, and a bounded number of them."""

    allow_reuse_address = True
    request_queue_size = 2 * MAX_CONNECTIONS

    def __init__(self, address: tuple[str, int], handler: type[_Handler]) -> None:
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._unfinished: dict[socket.socket, None] = {}  # the oldest first
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def complete(self, connection: socket.socket) -> None:
        """The request is read: from now on it does not give way."""
        with self._lock:
            self._unfinished.pop(connection, None)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; refuse at once if all are busy with answers."""
        free = self._slots.acquire(blocking=False)
        if not free and not (self._evict() and self._slots.acquire(timeout=EVICTION_S)):
            log.debug("%s is refused: %d answers are under way", client_address, MAX_CONNECTIONS)
            self.shutdown_request(request)
            return
        with self._lock:
            self._unfinished[request] = None
        arguments = (request, client_address)
        threading.Thread(target=self._work, args=arguments, name=WORKER, daemon=True).start()

    def _evict(self) -> bool:
        """End the oldest unfinished request; false if there is none."""
        with self._lock:
            oldest = next(iter(self._unfinished), None)
            if oldest is None:
                return False
            del self._unfinished[oldest]
        with contextlib.suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)
        return True

    def _work(self, request: socket.socket, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError as error:
            log.debug("%s: %s", client_address, error)
        except Exception:
            log.exception("the answer to %s failed", client_address)
        finally:
            self.complete(request)
            self.shutdown_request(request)
            self._slots.release()
