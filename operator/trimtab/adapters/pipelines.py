"""StreamPipelines as people read them, with a kubeconfig, or a pod's account if there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kubernetes.client
import kubernetes.config
from kubernetes.client.exceptions import ApiException
from kubernetes.config import ConfigException, incluster_config
from urllib3.exceptions import HTTPError

from trimtab.adapters.calls import TIMEOUT_S, translated
from trimtab.api.common import GROUP, VERSION
from trimtab.api.kinds import STREAM_PIPELINE
from trimtab.errors import BadInputError, UnavailableError
from trimtab.ports import Manifest

_PAGE = 500


def read_pipeline(name: str, namespace: str | None, kubeconfig: str | None) -> Manifest:
    """One StreamPipeline; a namespace of None is that of the context, a kubeconfig kubectl's.

    Raises:
        BadInputError: there is no kubeconfig, or no such pipeline.
        UnavailableError: the API server did not answer.
    """
    api, where = _connected(namespace, kubeconfig)
    try:
        found = api.get_namespaced_custom_object(
            GROUP, VERSION, where, STREAM_PIPELINE.plural, name, _request_timeout=TIMEOUT_S
        )
    except ApiException as error:
        if error.status == 404:
            message = f"there is no StreamPipeline {name!r} in namespace {where!r}"
            raise BadInputError(message) from error
        raise translated(error) from error
    except HTTPError as error:
        raise UnavailableError(f"the API server did not answer: {error}") from error
    return dict(found)


def list_pipelines(
    namespace: str | None, kubeconfig: str | None, selector: str, *, everywhere: bool
) -> list[Manifest]:
    """The StreamPipelines of a namespace, or of all; raises like `read_pipeline`."""
    api, where = _connected(namespace, kubeconfig)
    found: list[Manifest] = []
    token = ""
    while True:
        options = {"label_selector": selector, "limit": _PAGE, "_continue": token}
        given: dict[str, Any] = {name: value for name, value in options.items() if value}
        try:
            page = (
                api.list_cluster_custom_object(
                    GROUP, VERSION, STREAM_PIPELINE.plural, _request_timeout=TIMEOUT_S, **given
                )
                if everywhere
                else api.list_namespaced_custom_object(
                    GROUP, VERSION, where, STREAM_PIPELINE.plural, _request_timeout=TIMEOUT_S,
                    **given,
                )
            )  # fmt: skip
        except ApiException as error:
            raise translated(error) from error
        except HTTPError as error:
            raise UnavailableError(f"the API server did not answer: {error}") from error
        found += page["items"]
        token = page["metadata"].get("continue") or ""
        if not token:
            return found


def _connected(namespace: str | None, kubeconfig: str | None) -> tuple[Any, str]:
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
