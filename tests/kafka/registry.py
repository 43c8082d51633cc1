"""A schema registry for tests: a real HTTP server that speaks the wire format of Confluent's.

It answers GET /schemas/ids/{id}, GET /subjects/{subject}/versions and
GET /subjects/{subject}/versions/{version}, and the 404 of what it does not have.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


class Registry:
    """Runs while it is a context; schemas may be added meanwhile."""

    def __init__(self, pair: Path | None = None) -> None:
        """Over TLS with a `pair`: a key and its certificate in one file."""
        self.schemas: dict[int, dict[str, Any]] = {}
        self.subjects: dict[str, list[int]] = defaultdict(list)
        self.asked: list[str] = []
        """The paths of all requests."""
        self.logins: set[str | None] = set()
        self.status: int | None = None
        """The error that it answers with, whatever is asked."""
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(self.path)
                registry.logins.add(self.headers["Authorization"])
                status, body = registry.answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *args: Any) -> None:
                del args

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._scheme = "http"
        if pair is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(pair)
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
            self._scheme = "https"

    def add(self, number: int, schema: Any, subject: str | None = None, **more: Any) -> None:
        self.schemas[number] = {"schema": json.dumps(schema), **more}
        if subject:
            self.subjects[subject].append(number)

    def answer(self, path: str) -> tuple[int, Any]:
        if self.status:
            return self.status, {"error_code": self.status * 100 + 1, "message": "no"}
        match path.strip("/").split("/"):
            case ["schemas", "ids", number] if int(number) in self.schemas:
                return 200, self.schemas[int(number)]
            case ["schemas", "ids", _]:
                return 404, {"error_code": 40403, "message": "Schema not found"}
            case ["subjects", subject, "versions"] if subject in self.subjects:
                return 200, list(range(1, len(self.subjects[subject]) + 1))
            case ["subjects", subject, "versions", version] if subject in self.subjects:
                number = self.subjects[subject][int(version) - 1]
                said = {"subject": subject, "version": int(version), "id": number}
                return 200, said | self.schemas[number]
        return 404, {"error_code": 40401, "message": "Subject not found"}

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
