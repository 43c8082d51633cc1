"""StreamPipelines as people read them, with a kubeconfig, or a pod's account if there is none."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import kubernetes.client
import kubernetes.config
from kubernetes.config import ConfigException, incluster_config

from trimtab.adapters.calls import TIMEOUT_S, made
from trimtab.api.common import GROUP, VERSION
from trimtab.api.kinds import STREAM_PIPELINE
from trimtab.errors import BadInputError, GoneError
from trimtab.ports import Manifest
from trimtab.workloads.names import history_name

_PAGE = 500


def read_pipeline(name: str, namespace: str | None, kubeconfig: str | None) -> Manifest:
    """One StreamPipeline; a namespace of None is that of the context, a kubeconfig kubectl's.

    Raises:
        BadInputError: there is no kubeconfig, or no such pipeline.
        UnavailableError: the API server did not answer.
    """
    api, where = connected(namespace, kubeconfig)
    kind = STREAM_PIPELINE
    try:
        return dict(
            made(
                partial(
                    api.get_namespaced_custom_object,
                    GROUP,
                    VERSION,
                    where,
                    kind.plural,
                    name,
                    _request_timeout=TIMEOUT_S,
                )
            )
        )
    except GoneError as error:
        raise BadInputError(f"there is no {kind.name} {name!r} in namespace {where!r}") from error


def read_history(name: str, namespace: str | None, kubeconfig: str | None) -> Manifest:
    """The ConfigMap with the decisions of one StreamPipeline; raises like `read_pipeline`."""
    _, where = connected(namespace, kubeconfig)
    api, named = kubernetes.client.CoreV1Api(), history_name(name)
    try:
        found = made(
            partial(
                api.read_namespaced_config_map,
                name=named,
                namespace=where,
                _request_timeout=TIMEOUT_S,
            )
        )
    except GoneError as error:
        message = f"there is no history of a StreamPipeline {name!r} in namespace {where!r}"
        raise BadInputError(message) from error
    return {"metadata": {"name": named}, "binaryData": dict(found.binary_data or {})}


def list_pipelines(
    namespace: str | None, kubeconfig: str | None, selector: str, *, everywhere: bool
) -> list[Manifest]:
    """The StreamPipelines of a namespace, or of all; raises like `read_pipeline`."""
    api, where = connected(namespace, kubeconfig)
    plural = STREAM_PIPELINE.plural
    read = (
        partial(api.list_cluster_custom_object, GROUP, VERSION, plural)
        if everywhere
        else partial(api.list_namespaced_custom_object, GROUP, VERSION, where, plural)
    )
    found: list[Manifest] = []
    token = ""
    while True:
        options = {"label_selector": selector, "limit": _PAGE, "_continue": token}
        given: dict[str, Any] = {name: value for name, value in options.items() if value}
        page = made(partial(read, _request_timeout=TIMEOUT_S, **given))
        found += page["items"]
        token = page["metadata"].get("continue") or ""
        if not token:
            return found


def connected(namespace: str | None, kubeconfig: str | None) -> tuple[Any, str]:
    """A client, and the namespace that is meant."""
    try:
        _, current = kubernetes.config.list_kube_config_contexts(kubeconfig)
        kubernetes.config.load_kube_config(kubeconfig)
    except (ConfigException, TypeError) as error:  # TypeError: the file is empty
        home = None if kubeconfig else _in_pod()
        if home is None:
            raise BadInputError(f"the kubeconfig cannot be used: {error}") from error
        return kubernetes.client.CustomObjectsApi(), namespace or home
    where = namespace or current["context"].get("namespace") or "default"
    return kubernetes.client.CustomObjectsApi(), where


def _in_pod() -> str | None:
    """The namespace of the pod that this runs in, as whose account it then acts; None outside."""
    try:
        kubernetes.config.load_incluster_config()
    except ConfigException:
        return None
    return Path(incluster_config.SERVICE_TOKEN_FILENAME).with_name("namespace").read_text()
