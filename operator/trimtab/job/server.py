"""HTTP for Prometheus and the kubelet: `/metrics` and `/ready`."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from trimtab.job.board import Board


def serve(board: Board, registry: CollectorRegistry, port: int) -> ThreadingHTTPServer:
    """Answer on all addresses in threads of its own; raises OSError when the port is taken."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                encode, content_type = choose_encoder(self.headers.get("Accept", ""))
                self._answer(200, content_type, encode(registry))
            elif path == "/ready":
                reason = board.not_ready
                self._answer(503 if reason else 200, "text/plain", (reason or "ready").encode())
            else:
                self._answer(404, "text/plain", b"only /metrics and /ready")

        def _answer(self, code: int, content_type: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A line per scrape would drown the log."""

    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="trimtab-http", daemon=True).start()
    return server
