"""What the operator holds does not grow with what others have in the cluster."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import kubernetes.client
import kubernetes.config
import pytest
from tests.apiserver.conftest import Kubectl
from tests.faults.life import Life, started
from tests.long import LONG

pytestmark = pytest.mark.apiserver

LOG = logging.getLogger(__name__)
PODS = 5000
CALLERS = 8
THEIRS = "strangers"
GROWTH_MIB = 30.0
"""What a process may take for other reasons; 5,000 pods in a cache of it take over 100 MiB."""
Json = dict[str, Any]


@pytest.fixture
def life(kubectl: Kubectl, kubeconfig: Path, token: str, tmp_path: Path) -> Iterator[Life]:
    kubectl("create", "namespace", THEIRS)
    watched = f"ours,{THEIRS}"
    with started(kubeconfig, token, tmp_path, "ours", resync_s=3, NAMESPACES=watched) as made:
        yield made
    kubectl("delete", "namespace", THEIRS, "--wait=false")


@LONG
def test_five_thousand_pods_of_others_take_no_memory(life: Life, kubeconfig: Path) -> None:
    life.make()
    life.settle("made")
    before_mib = rss_mib(life)
    make_pods(kubeconfig)
    life.go_on(10)  # several full lists
    beside_mib = rss_mib(life)
    life.operator.kill()
    life.operator.wait(10)
    life.operator.start()
    life.settle("started beside them")
    again_mib = rss_mib(life)
    LOG.info("%.1f MiB, %.1f with pods of others, %.1f", before_mib, beside_mib, again_mib)
    assert beside_mib < before_mib + GROWTH_MIB
    assert again_mib < before_mib + GROWTH_MIB


def make_pods(kubeconfig: Path) -> None:
    """Pods of an ordinary size, about 5 KiB each, labelled by somebody else."""
    core = kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config(str(kubeconfig)))
    core.api_client.configuration.connection_pool_maxsize = CALLERS
    with ThreadPoolExecutor(CALLERS) as callers:
        list(callers.map(
            lambda number: core.create_namespaced_pod(THEIRS, pod(number)), range(PODS)
        ))  # fmt: skip


def pod(number: int) -> Json:
    """One of a stranger's Deployment."""
    env = [{"name": f"SETTING_{each}", "value": "x" * 60} for each in range(40)]
    return {
        "metadata": {"name": f"web-{number}", "labels": {"app": "web"}},
        "spec": {
            "containers": [{"name": "web", "image": "web:1", "env": env}],
            "automountServiceAccountToken": False,
        },
    }


def rss_mib(life: Life) -> float:
    """Resident memory of the operator's process."""
    assert life.operator.process
    status = Path(f"/proc/{life.operator.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found
    return int(found[1]) / 1024
