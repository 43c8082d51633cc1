"""Reads what a cluster says of itself, with the current context of a kubeconfig."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import kubernetes.client
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import ResourceNotFoundError

from trimtab.adapters.calls import LimitedClient, made
from trimtab.adapters.pipelines import connected
from trimtab.api.kinds import OURS, STREAM_PIPELINE
from trimtab.errors import BadInputError, GoneError
from trimtab.ports import Manifest
from trimtab.survey import RIGHTS, Listed, Right, Survey, Unread

_OURS = "app.kubernetes.io/name=trimtab"
_COMPONENT = "app.kubernetes.io/component"
"""What the chart labels pods with, not Deployments."""
_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_REVIEW = ("authorization.k8s.io/v1", "SelfSubjectAccessReview")


def read_survey(namespace: str | None, kubeconfig: str | None) -> Survey:
    """What doctor judges; a namespace of None is that of the context, a kubeconfig kubectl's.

    Raises:
        BadInputError: there is no kubeconfig that can be used.
        UnavailableError: the API server did not answer.
    """
    _, where = connected(namespace, kubeconfig)
    with tempfile.TemporaryDirectory() as folder:  # what others have cached may be outdated
        cache = str(Path(folder) / "discovery.json")
        client = made(lambda: DynamicClient(LimitedClient(), cache_file=cache))
        return _read(client, where)


def _read(client: Any, where: str) -> Survey:
    return Survey(
        version=str(made(kubernetes.client.VersionApi(client.client).get_code).git_version),
        namespace=where,
        home=_named(client, "v1", "Namespace", where),
        crds=_crds(client),
        operators=_operators(client),
        denied=tuple(right for right in RIGHTS if not _may(client, right, where)),
        classes=_listed(client, "storage.k8s.io/v1", "StorageClass"),
        pipelines=_pipelines(client, where),
        quotas=_listed(client, "v1", "ResourceQuota", namespace=where),
        ranges=_listed(client, "v1", "LimitRange", namespace=where),
    )


def _resource(client: Any, api_version: str, kind: str) -> Any:
    return made(lambda: client.resources.get(api_version=api_version, kind=kind))


def _listed(client: Any, api_version: str, kind: str, **which: str) -> Listed:
    try:
        resource = _resource(client, api_version, kind)
        return tuple(made(lambda: resource.get(**which)).to_dict()["items"])
    except ResourceNotFoundError:
        return ()
    except BadInputError as error:
        return Unread(str(error))


def _named(client: Any, api_version: str, kind: str, name: str) -> Manifest | Unread | None:
    resource = _resource(client, api_version, kind)
    try:
        return dict(made(lambda: resource.get(name=name)).to_dict())
    except GoneError:
        return None
    except BadInputError as error:
        return Unread(str(error))


def _crds(client: Any) -> Listed:
    found = [_named(client, *_CRD, f"{kind.plural}.{kind.group}") for kind in OURS]
    for each in found:
        if isinstance(each, Unread):
            return each
    return tuple(each for each in found if isinstance(each, dict))


def _operators(client: Any) -> Listed:
    found = _listed(client, "apps/v1", "Deployment", label_selector=_OURS)
    if isinstance(found, Unread):
        return found
    return tuple(each for each in found if _labels_of_pods(each).get(_COMPONENT) == "operator")


def _labels_of_pods(deployment: Manifest) -> dict[str, str]:
    return dict(deployment["spec"]["template"]["metadata"].get("labels") or {})


def _pipelines(client: Any, where: str) -> Listed:
    kind = (STREAM_PIPELINE.api_version, STREAM_PIPELINE.name)
    everywhere = _listed(client, *kind)
    return _listed(client, *kind, namespace=where) if isinstance(everywhere, Unread) else everywhere


def _may(client: Any, right: Right, where: str) -> bool:
    asked = {
        "namespace": where, "verb": right.verb, "resource": right.resource, "group": right.group
    }  # fmt: skip
    body = {"apiVersion": _REVIEW[0], "kind": _REVIEW[1], "spec": {"resourceAttributes": asked}}
    review = _resource(client, *_REVIEW)
    return bool(made(lambda: review.create(body=body)).to_dict()["status"]["allowed"])
