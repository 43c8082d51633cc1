"""A small client of the Kubernetes API for the driver: one ConfigMap, and its executors' pods.

Standard library only, because the pipeline image has no Kubernetes client. It uses the pod's
service account. Kubernetes renews the token on disk, so each request reads it again.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from trimtab.errors import UnavailableError

log = logging.getLogger(__name__)

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TIMEOUT_S = 10.0
WATCH_S = 240
RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)


class ClusterApi:
    """Requests to the API server of this pod's cluster, in one namespace."""

    def __init__(self, namespace: str, account: Path = ACCOUNT) -> None:
        """Raises UnavailableError outside a cluster."""
        host = os.environ.get("KUBERNETES_SERVICE_HOST")
        if not host or not (account / "token").exists():
            raise UnavailableError("not inside a cluster: no service account in this pod")
        self._host = host
        self._port = int(os.environ.get("KUBERNETES_SERVICE_PORT", "443"))
        self._account = account
        self._namespace = namespace
        self._tls = ssl.create_default_context(cafile=str(account / "ca.crt"))

    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        timeout_s: float,
        patch: Mapping[str, Any] | None = None,
    ) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPSConnection(
            self._host, self._port, timeout=timeout_s, context=self._tls
        )
        token = (self._account / "token").read_text(encoding="utf-8").strip()
        url = f"/api/v1/namespaces/{self._namespace}/{path}?{urlencode(query)}"
        headers = {"Authorization": f"Bearer {token}"}
        if patch is not None:
            headers["Content-Type"] = "application/merge-patch+json"
        try:
            connection.request(method, url, json.dumps(patch) if patch else None, headers)
            response = connection.getresponse()
        except BaseException:
            connection.close()
            raise
        return connection, response

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        patch: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Send a request and return its JSON; raises UnavailableError with status and message."""
        try:
            connection, response = self._open(method, path, query, TIMEOUT_S, patch)
            with closing(connection):
                body = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise UnavailableError(f"the API server does not answer: {error}") from error
        if response.status >= 300:
            words = body.decode(errors="replace")[:300]
            raise UnavailableError(f"{method} {path}: status {response.status}: {words}")
        return dict(json.loads(body))

    def annotate_pod(self, name: str, key: str, text: str) -> None:
        """Set an annotation of a pod; raises UnavailableError."""
        self.request("PATCH", f"pods/{name}", {}, {"metadata": {"annotations": {key: text}}})

    def pod_runs(self, name: str, uid: str) -> bool:
        """Whether this very pod exists and has not ended; yes if the API server does not answer."""
        try:
            found = self.request("GET", "pods", {"fieldSelector": f"metadata.name={name}"})["items"]
        except UnavailableError as error:
            log.warning("whether pod %s runs is unknown: %s", name, error)
            return True
        ended = {"Succeeded", "Failed"}
        return any(
            pod["metadata"]["uid"] == uid and pod.get("status", {}).get("phase") not in ended
            for pod in found
        )

    def node_of(self, name: str) -> str | None:
        """The node of a pod in this namespace; None if there is no such pod."""
        only = {"fieldSelector": f"metadata.name={name}"}
        found = self.request("GET", "pods", only)["items"]
        return found[0]["spec"].get("nodeName") if found else None

    def delete_pods(self, selector: str) -> int:
        """Delete the pods of a label selector; returns how many; raises UnavailableError."""
        found = self.request("GET", "pods", {"labelSelector": selector})["items"]
        for pod in found:
            name = pod["metadata"]["name"]
            self.request("DELETE", f"pods/{name}", {"gracePeriodSeconds": "0"})
        return len(found)

    def follow_configmap(self, name: str, stopping: threading.Event) -> Iterator[Mapping[str, str]]:
        """The texts by key whenever the ConfigMap changes, until `stopping` is set."""
        for objects in self.follow(
            "configmaps", {"fieldSelector": f"metadata.name={name}"}, stopping
        ):
            for item in objects:
                yield {str(key): str(text) for key, text in (item.get("data") or {}).items()}

    def follow(
        self, path: str, only: Mapping[str, str], stopping: threading.Event
    ) -> Iterator[list[dict[str, Any]]]:
        """All objects that a selector matches, whenever one changes, until `stopping` is set.

        Reconnects with growing delays, and then yields whatever has changed meanwhile.
        """
        failures = 0
        while not stopping.is_set():
            try:
                for objects in self._follow_once(path, only):
                    failures = 0
                    yield objects
                continue
            except (OSError, http.client.HTTPException, UnavailableError, ValueError) as error:
                log.warning("the watch of %s broke: %s", path, error)
            stopping.wait(RETRY_S[min(failures, len(RETRY_S) - 1)])
            failures += 1

    def _follow_once(self, path: str, only: Mapping[str, str]) -> Iterator[list[dict[str, Any]]]:
        listed = self.request("GET", path, only)
        known = {item["metadata"]["name"]: item for item in listed["items"]}
        yield list(known.values())
        query = {
            **only,
            "watch": "1",
            "timeoutSeconds": str(WATCH_S),
            "resourceVersion": listed["metadata"]["resourceVersion"],
        }
        connection, response = self._open("GET", path, query, WATCH_S + TIMEOUT_S)
        with closing(connection):
            if response.status >= 300:
                raise UnavailableError(f"watch of {path}: status {response.status}")
            for line in response:
                event = json.loads(line)
                if event["type"] == "ERROR":  # such as an expired resource version: list again
                    return
                name = event["object"]["metadata"]["name"]
                if event["type"] == "DELETED":
                    known.pop(name, None)
                else:
                    known[name] = event["object"]
                yield list(known.values())
