"""The Kubernetes API over `kubernetes.dynamic`: lists, server-side apply, status, Events."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import kubernetes.client
import kubernetes.config
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ResourceNotFoundError
from urllib3.exceptions import HTTPError

from trimtab.adapters.calls import LimitedClient, made
from trimtab.api.common import FIELD_MANAGER, GROUP, timestamp
from trimtab.api.kinds import KINDS
from trimtab.errors import (
    ConflictError,
    ExistsError,
    GoneError,
    TrimtabError,
    UnavailableError,
    UnknownKindError,
)
from trimtab.ports import Clock, Key, Manifest
from trimtab.workloads.common import MANAGED_SELECTOR

_PAGE = 500
_OF_CLUSTER = "default"
"""Where Kubernetes keeps the Events about what belongs to no namespace."""
_NO_VERSION = "1"
"""A resource version that no object has: the store itself begins with it."""

log = logging.getLogger(__name__)


class KubernetesCluster:
    """The cluster that the operator runs in, or that its kubeconfig names."""

    def __init__(
        self, namespaces: tuple[str, ...], clock: Clock, kubeconfig: str | None,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:  # fmt: skip
        """Empty `namespaces` means all; `kubeconfig` None means the pod's service account.

        `may_write` is asked before each write, which fails with UnavailableError if it says no.

        Raises UnavailableError or BadInputError if the API server does not let us in.
        """
        if kubeconfig:
            kubernetes.config.load_kube_config(kubeconfig)
        else:
            kubernetes.config.load_incluster_config()
        self._client = made(lambda: DynamicClient(LimitedClient()))
        self._namespaces: tuple[str | None, ...] = namespaces or (None,)
        self._clock = clock
        self._may_write = may_write

    def list_all(self, kind: str) -> list[Manifest]:
        """All objects of a kind in the watched namespaces; of foreign kinds only our own."""
        resource = self._resource(kind)
        selector = None
        if not KINDS[kind].ours:
            selector = MANAGED_SELECTOR
        found: list[Manifest] = []
        for namespace in self._namespaces:
            token: str | None = ""
            while token is not None:
                page = self._page(resource, namespace, selector, token)
                found += [
                    {**item, "kind": kind, "apiVersion": KINDS[kind].api_version}
                    for item in page["items"]
                ]
                token = page["metadata"].get("continue") or None
        return found

    def get(self, key: Key) -> Manifest | None:
        """One object, or None."""
        kind, namespace, name = key
        resource = self._resource(kind)
        try:
            return _plain(made(lambda: resource.get(name=name, namespace=namespace or None)))
        except GoneError:
            return None
        except ConflictError as error:
            raise UnavailableError(f"the API server did not answer: {error}") from error

    def _page(
        self, resource: Any, namespace: str | None, selector: str | None, token: str
    ) -> Manifest:
        def call() -> Any:
            return resource.get(
                namespace=namespace,
                label_selector=selector,
                limit=_PAGE,
                _continue=token or None,
            )

        try:
            return _plain(made(call))
        except TrimtabError as error:
            raise UnavailableError(f"{resource.name} were not listed: {error}") from error

    def create(self, manifest: Manifest) -> Manifest:
        """Server-side apply of an object that is not there yet; raises ExistsError if it is.

        The API server compares the resource version of an apply with that of the object, if there
        is one. A POST would not do: the fields of an object made by it never go with a later apply.
        """
        meta = manifest["metadata"] | {"resourceVersion": _NO_VERSION}
        try:
            return self.apply(manifest | {"metadata": meta})
        except GoneError:
            raise  # its namespace
        except ConflictError as error:
            raise ExistsError(f"there is an object of this name: {error}") from error

    def apply(self, manifest: Manifest) -> Manifest:
        """Server-side apply; returns the object as the API server stored it."""
        resource = self._resource(manifest["kind"])
        meta = manifest["metadata"]
        return _plain(
            self._write(
                lambda: resource.server_side_apply(
                    body=manifest, name=meta["name"], namespace=meta.get("namespace"),
                    field_manager=FIELD_MANAGER, force_conflicts=True,
                )
            )
        )  # fmt: skip

    def replace(self, manifest: Manifest) -> Manifest:
        """Update an object as a whole; returns it as the API server stored it."""
        resource = self._resource(manifest["kind"])
        return _plain(
            self._write(
                lambda: resource.replace(
                    body=manifest, namespace=manifest["metadata"]["namespace"],
                    field_manager=FIELD_MANAGER,
                )
            )
        )  # fmt: skip

    def patch_status(self, kind: str, manifest: Manifest, status: Manifest) -> Manifest:
        """Merge-patch the status, provided that the object has not changed."""
        meta = manifest["metadata"]
        body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": status}
        resource = self._resource(kind).subresources["status"]
        return _plain(
            self._write(
                lambda: resource.patch(
                    body=body, name=meta["name"], namespace=meta.get("namespace"),
                    content_type="application/merge-patch+json", field_manager=FIELD_MANAGER,
                )
            )
        )  # fmt: skip

    def delete(self, key: Key, *, uid: str | None = None) -> None:
        """Delete in the background; a missing object is no error."""
        kind, namespace, name = key
        body: Manifest = {"propagationPolicy": "Background"}
        if uid:
            body["preconditions"] = {"uid": uid}
        resource = self._resource(kind)
        try:
            self._write(lambda: resource.delete(name=name, namespace=namespace, body=body))
        except ConflictError:
            log.info("%s %s/%s has been replaced; not deleted", kind, namespace, name)

    def event(self, about: Manifest, *, warning: bool, reason: str, message: str) -> None:
        """Create one Event. Never retried: with a generated name, a retry might create two."""
        meta = about["metadata"]
        own = {"namespace": meta["namespace"]} if meta.get("namespace") else {}
        namespace = meta.get("namespace") or _OF_CLUSTER
        now = timestamp(self._clock.now())
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{meta['name']}.", "namespace": namespace},
            "involvedObject": {
                "apiVersion": about["apiVersion"], "kind": about["kind"], "name": meta["name"],
                "uid": meta["uid"], **own,
            },
            "type": "Warning" if warning else "Normal",
            "reason": reason,
            "message": message[:1000],
            "source": {"component": FIELD_MANAGER},
            "reportingComponent": GROUP,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }  # fmt: skip
        try:
            self._check()
            resource = self._client.resources.get(api_version="v1", kind="Event")
            resource.create(body=body, namespace=namespace)
        except (ApiException, HTTPError, ResourceNotFoundError, UnavailableError) as error:
            log.warning("event %s about %s was not recorded: %s", reason, meta["name"], error)

    def _resource(self, kind: str) -> Any:
        try:
            return self._client.resources.get(api_version=KINDS[kind].api_version, kind=kind)
        except ResourceNotFoundError as error:
            raise UnknownKindError(
                f"the API server does not know {kind} ({KINDS[kind].api_version}): are the CRDs"
                " installed?"
            ) from error
        except (ApiException, HTTPError) as error:
            raise UnavailableError(f"the API server did not answer: {error}") from error

    def _write(self, call: Callable[[], Any]) -> Any:
        def allowed() -> Any:
            self._check()
            return call()

        return made(allowed)

    def _check(self) -> None:
        if not self._may_write():
            raise UnavailableError("this operator no longer holds the Lease, so it writes nothing")


def _plain(answer: Any) -> Manifest:
    return dict(answer.to_dict())
