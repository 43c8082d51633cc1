"""The adapter of a real API server keeps the promises of the port."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.cluster import ClusterContract, Edit
from tests.unit.workloads.manifests import changed, kafka_children, pipeline_children
from tests.unit.workloads.manifests import example as in_memory

from trimtab.adapters.kubernetes import KubernetesCluster
from trimtab.adapters.memory import ManualClock
from trimtab.api.kinds import KINDS
from trimtab.errors import ExistsError
from trimtab.ports import Key, Manifest, key_of

pytestmark = pytest.mark.apiserver
BROKERS = changed(in_memory("kafka"), "replicas", 3)


class TestKubernetesCluster(ClusterContract):
    @pytest.fixture
    def cluster(self, kubectl: Any, kubeconfig: Path, namespace: str) -> KubernetesCluster:
        del kubectl  # it installs the CRDs
        return KubernetesCluster((namespace,), ManualClock(), str(kubeconfig))

    @pytest.fixture
    def edit(self, kubectl: Any) -> Edit:
        def edit(key: Key, patch: Manifest) -> None:
            kind, namespace, name = key
            text = json.dumps(patch)
            kubectl("patch", kind, name, "-n", namespace, "--type=merge", "-p", text)

        return edit

    @pytest.mark.parametrize(
        "kind",
        [
            "ServiceAccount", "Role", "RoleBinding", "ConfigMap", "PersistentVolumeClaim",
            "StatefulSet", "Service", "Job", "PodDisruptionBudget", "NetworkPolicy",
        ],
    )  # fmt: skip
    def test_a_child_of_each_kind_is_created_once(
        self, cluster: KubernetesCluster, namespace: str, kind: str
    ) -> None:
        """Which of a create and an update an apply is, the API server decides for each kind."""
        of_kafka = {child["kind"]: child for child in kafka_children(BROKERS)}
        child = (of_kafka | pipeline_children(in_memory("pipeline")))[kind]
        child["metadata"]["namespace"] = namespace
        made = cluster.create(child)
        with pytest.raises(ExistsError):
            cluster.create(child)
        assert cluster.get(key_of(child)) == made
        if "update" in KINDS[kind].verbs:
            exact = {k: made["metadata"][k] for k in ("uid", "resourceVersion")}
            replaced = cluster.replace(child | {"metadata": child["metadata"] | exact})
            assert replaced.get("spec") == made.get("spec")
