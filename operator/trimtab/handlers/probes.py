"""HTTP for the kubelet and Prometheus: /healthz, /readyz and /metrics of the operator."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry, generate_latest

Probe = Callable[[], tuple[bool, str]]
"""Whether it is well, and words."""


def serve(port: int, registry: CollectorRegistry, alive: Probe, ready: Probe) -> int:
    """Answer in threads of its own; returns the port. Raises OSError when it is taken."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, generate_latest(registry))
                return
            probe = {"/healthz": alive, "/readyz": ready}.get(self.path)
            if probe is None:
                self._answer(404, b"only /healthz, /readyz and /metrics")
                return
            well, words = probe()
            self._answer(200 if well else 503, words.encode())

        def _answer(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A line per probe would drown the log."""

    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="probes", daemon=True).start()
    return server.server_address[1]
