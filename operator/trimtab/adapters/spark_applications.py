"""SparkApplications as people read them, of Kubeflow's operator or of Apache's."""

from __future__ import annotations

from functools import partial

import kubernetes.client

from trimtab.adapters.calls import TIMEOUT_S, made
from trimtab.adapters.pipelines import connected
from trimtab.api.kinds import SPARK_GROUPS
from trimtab.errors import BadInputError, GoneError
from trimtab.ports import Manifest

PLURAL = "sparkapplications"


def read_spark_application(name: str, namespace: str | None, kubeconfig: str | None) -> Manifest:
    """One SparkApplication; a namespace of None is that of the context, a kubeconfig kubectl's.

    Raises:
        BadInputError: there is no kubeconfig, or no such SparkApplication.
        UnavailableError: the API server did not answer.
    """
    api, where = connected(namespace, kubeconfig)
    served = made(partial(kubernetes.client.ApisApi().get_api_versions, _request_timeout=TIMEOUT_S))
    known = {group.name: group.preferred_version.version for group in served.groups}
    for group in (group for group in SPARK_GROUPS if group in known):
        read = partial(api.get_namespaced_custom_object, group, known[group], where, PLURAL, name)
        try:
            return dict(made(partial(read, _request_timeout=TIMEOUT_S)))
        except GoneError:
            continue
    raise BadInputError(f"there is no SparkApplication {name!r} in namespace {where!r}")
