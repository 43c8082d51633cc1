"""A real HTTP server on the loopback address that answers with what a test wants."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server:
    """Answers every GET, in pieces with pauses if it is slow, and keeps the requests."""

    def __init__(self, piece_bytes: int = 1 << 20) -> None:
        self.status, self.body, self.pause_s = 200, b"", 0.0
        self.headers: dict[str, str] = {}
        self.seen: list[Any] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.seen.append(self)
                self.send_response(outer.status)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                step = piece_bytes if outer.pause_s else len(outer.body) or 1
                for start in range(0, len(outer.body), step):
                    self.wfile.write(outer.body[start : start + step])
                    time.sleep(outer.pause_s)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()
