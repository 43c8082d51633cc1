"""The adapter of a real API server keeps the promises of the port."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.contracts.cluster import ClusterContract

from trimtab.adapters.kubernetes import KubernetesCluster
from trimtab.adapters.memory import ManualClock

pytestmark = pytest.mark.apiserver


class TestKubernetesCluster(ClusterContract):
    @pytest.fixture
    def cluster(self, kubectl: Any, kubeconfig: Path, namespace: str) -> KubernetesCluster:
        del kubectl  # it installs the CRDs
        return KubernetesCluster((namespace,), ManualClock(), str(kubeconfig))
