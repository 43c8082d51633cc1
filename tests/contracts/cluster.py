"""What every `Cluster` port promises: run against the one in memory and a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.errors import ConflictError
from trimtab.ports import Cluster, Manifest
from trimtab.workloads.common import MANAGED_BY

PIPELINE: Manifest = {
    "apiVersion": "trimtab.dev/v1alpha1",
    "kind": "StreamPipeline",
    "spec": {
        "goal": {"latency": {"percentile": 95, "target": "15s"}},
        "source": {"kafka": {"bootstrapServers": "kafka:9092", "topics": ["in"]}},
        "transform": {"sql": "SELECT * FROM source"},
        "sink": {"kafka": {"bootstrapServers": "kafka:9092", "topic": "out"}},
        "limits": {"executors": {"min": 1, "max": 2}},
    },
}


class ClusterContract:
    """The promises, each a test; a subclass gives the fixtures `cluster` and `namespace`."""

    @staticmethod
    def config_map(namespace: str, data: dict[str, str], name: str = "one") -> Manifest:
        meta = {"name": name, "namespace": namespace, "labels": dict(MANAGED_BY)}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}

    @staticmethod
    def pipeline(namespace: str) -> Manifest:
        return PIPELINE | {"metadata": {"name": "clicks", "namespace": namespace}}

    def test_what_was_applied_is_there(self, cluster: Cluster, namespace: str) -> None:
        made = cluster.apply(self.config_map(namespace, {"a": "1"}))
        assert made["data"] == {"a": "1"}
        assert made["metadata"]["uid"]
        found = cluster.get(("ConfigMap", namespace, "one"))
        assert found is not None
        assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
        assert cluster.get(("ConfigMap", namespace, "other")) is None

    def test_an_applied_field_that_is_applied_no_more_goes(
        self, cluster: Cluster, namespace: str
    ) -> None:
        cluster.apply(self.config_map(namespace, {"a": "1", "b": "2"}))
        again = cluster.apply(self.config_map(namespace, {"a": "3"}))
        assert again["data"] == {"a": "3"}
        found = cluster.get(("ConfigMap", namespace, "one"))
        assert found is not None
        assert found["data"] == {"a": "3"}

    def test_a_change_is_a_new_version_and_none_is_not(
        self, cluster: Cluster, namespace: str
    ) -> None:
        first = cluster.apply(self.config_map(namespace, {"a": "1"}))
        same = cluster.apply(self.config_map(namespace, {"a": "1"}))
        other = cluster.apply(self.config_map(namespace, {"a": "2"}))
        versions = [m["metadata"]["resourceVersion"] for m in (first, same, other)]
        assert versions[0] == versions[1]
        assert int(versions[2]) > int(versions[1])

    def test_an_old_version_is_refused(self, cluster: Cluster, namespace: str) -> None:
        first = cluster.apply(self.config_map(namespace, {"a": "1"}))
        cluster.apply(self.config_map(namespace, {"a": "2"}))
        stale = self.config_map(namespace, {"a": "3"})
        stale["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"]
        with pytest.raises(ConflictError):
            cluster.apply(stale)

    def test_lists_hold_what_carries_our_label(self, cluster: Cluster, namespace: str) -> None:
        for name in ("one", "two"):
            cluster.apply(self.config_map(namespace, {}, name))
        foreign = self.config_map(namespace, {}, "three")
        del foreign["metadata"]["labels"]
        cluster.apply(foreign)
        listed = cluster.list_all("ConfigMap")
        ours = {m["metadata"]["name"] for m in listed if m["metadata"]["namespace"] == namespace}
        assert ours == {"one", "two"}
        assert all((m["kind"], m["apiVersion"]) == ("ConfigMap", "v1") for m in listed)

    def test_a_status_is_merged_and_none_takes_a_field_away(
        self, cluster: Cluster, namespace: str
    ) -> None:
        made = cluster.apply(self.pipeline(namespace))
        lag: dict[str, Any] = {"lag": {"records": 7, "time": "3s"}}
        told = cluster.patch_status("StreamPipeline", made, {"partitions": 4} | lag)
        assert (told["status"]["partitions"], told["status"]["lag"]["records"]) == (4, 7)
        told = cluster.patch_status("StreamPipeline", told, {"lag": {"records": 8, "time": None}})
        assert (told["status"]["partitions"], told["status"]["lag"]) == (4, {"records": 8})
        assert told["spec"]["limits"]["executors"]["max"] == 2

    def test_a_status_for_an_old_version_is_refused(self, cluster: Cluster, namespace: str) -> None:
        made = cluster.apply(self.pipeline(namespace))
        cluster.patch_status("StreamPipeline", made, {"partitions": 4})
        with pytest.raises(ConflictError):
            cluster.patch_status("StreamPipeline", made, {"partitions": 5})

    def test_our_own_kinds_are_listed_whatever_their_labels(
        self, cluster: Cluster, namespace: str
    ) -> None:
        cluster.apply(self.pipeline(namespace))
        listed = cluster.list_all("StreamPipeline")
        assert namespace in {m["metadata"]["namespace"] for m in listed}

    def test_only_the_object_that_is_meant_is_deleted(
        self, cluster: Cluster, namespace: str
    ) -> None:
        key = ("ConfigMap", namespace, "one")
        made = cluster.apply(self.config_map(namespace, {}))
        cluster.delete(key, uid="00000000-0000-0000-0000-000000000000")
        assert cluster.get(key) is not None
        cluster.delete(key, uid=made["metadata"]["uid"])
        assert cluster.get(key) is None
        cluster.delete(key)
