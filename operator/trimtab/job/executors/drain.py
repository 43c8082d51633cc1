"""Executors whose pods are deleted by others, such as by `kubectl drain`, go between two batches.

Their preStop hook (`/opt/decom.sh`) holds them until the driver has released them. If the batch
takes longer than the pod may wait, the executor finishes its running tasks and goes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from trimtab.job.cluster import ClusterApi

log = logging.getLogger(__name__)

EXECUTOR_ID_LABEL = "spark-exec-id"
APPLICATION_LABEL = "spark-app-selector"
"""Spark's own. The ids of executors begin again with each driver."""


def terminating(pods: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The pods that are being deleted: executor id -> name."""
    going = (pod["metadata"] for pod in pods if "deletionTimestamp" in pod["metadata"])
    return {
        meta["labels"][EXECUTOR_ID_LABEL]: meta["name"]
        for meta in going
        if EXECUTOR_ID_LABEL in meta.get("labels", {})
    }


def start(
    api: ClusterApi,
    selector: str,
    give_way: Callable[[Iterable[str]], None],
    stopping: threading.Event,
) -> threading.Thread:
    """Tell `give_way` the ids of executors that must go, until `stopping` is set."""

    def run() -> None:
        told: dict[str, str] = {}
        for pods in api.follow("pods", {"labelSelector": selector}, stopping):
            going = terminating(pods)
            for executor in going.keys() - told.keys():
                log.info("executor %s goes after the running batch: its pod is deleted", executor)
            if going != told:
                give_way(going)
            told = going

    thread = threading.Thread(target=run, name="trimtab-drain", daemon=True)
    thread.start()
    return thread
