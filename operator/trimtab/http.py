"""HTTP for Prometheus and the kubelet: `/metrics` and a process's own probes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

Probe = Callable[[], tuple[bool, str]]
"""Whether it is well (status 200, else 503), and words."""

METRICS = "/metrics"


def serve(port: int, registry: CollectorRegistry, probes: Mapping[str, Probe]) -> int:
    """Answer on all addresses in threads of its own; `probes` are by path.

    Returns the port, which is a free one for 0. Raises OSError when it is taken.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == METRICS:
                encode, content_type = choose_encoder(self.headers.get("Accept", ""))
                self._answer(200, content_type, encode(registry))
            elif probe := probes.get(path):
                well, words = probe()
                self._answer(200 if well else 503, "text/plain; charset=utf-8", words.encode())
            else:
                words = f"only {', '.join([METRICS, *probes])}"
                self._answer(404, "text/plain; charset=utf-8", words.encode())

        def _answer(self, code: int, content_type: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A line for each probe and scrape would drown the log."""

    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="trimtab-http", daemon=True).start()
    return server.server_address[1]
