"""A minimal client of the Kubernetes API: enough to wait for things, with no dependency."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dev.localcluster.pki import Authority, Identity


class KubeApi:
    """Talks to one API server with one client certificate."""

    def __init__(self, server: str, authority: Authority, identity: Identity) -> None:
        self.server = server.rstrip("/")
        context = ssl.create_default_context(cafile=str(authority.certificate))
        context.load_cert_chain(identity.certificate, identity.key)
        # A proxy from the environment must never see or redirect requests to our own cluster.
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )

    def get_text(self, path: str, *, limit_s: float = 5) -> str:
        """Return the body of a GET.

        Raises:
            OSError: not reachable, or a response other than 2xx (urllib's HTTPError is one).
        """
        with self._opener.open(self.server + path, timeout=limit_s) as answer:
            body: bytes = answer.read()
        return body.decode()

    def lines(self, path: str, *, limit_s: float) -> Iterator[bytes]:
        """Yield the lines of a GET as they come; `limit_s` is the longest silence.

        Raises:
            OSError: as `get_text`.
        """
        with self._opener.open(self.server + path, timeout=limit_s) as answer:
            yield from answer

    def get(self, path: str) -> Any:
        """Return the parsed JSON of a GET, or None for 404."""
        try:
            return json.loads(self.get_text(path))
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def ready(self) -> bool:
        """Return whether the API server reports that it is ready."""
        try:
            return self.get_text("/readyz", limit_s=2) == "ok"
        except OSError:
            return False

    def nodes_ready(self) -> dict[str, bool]:
        """Return for each node whether its Ready condition is true; empty if not reachable."""
        try:
            items = (self.get("/api/v1/nodes") or {}).get("items", [])
        except OSError:
            return {}
        return {item["metadata"]["name"]: is_ready(item) for item in items}

    def exists(self, path: str) -> bool:
        """Return whether a GET finds something."""
        try:
            return self.get(path) is not None
        except OSError:
            return False


def is_ready(thing: dict[str, Any]) -> bool:
    """Return whether an object's Ready condition is true."""
    conditions = thing.get("status", {}).get("conditions", [])
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def load_identity(pki: Path, name: str) -> tuple[Authority, Identity]:
    """Return the authority and a named identity that an earlier command created in `pki`."""
    return Authority(pki), Identity(pki / f"{name}.crt", pki / f"{name}.key")
