"""What every `Cluster` port promises: run against the one in memory and a real API server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trimtab.api.common import FIELD_MANAGER
from trimtab.errors import ConflictError, ExistsError
from trimtab.ports import Cluster, Key, Manifest
from trimtab.workloads.common import MANAGED_BY

Edit = Callable[[Key, Manifest], None]
"""Somebody else merges a patch into an object."""

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
    """The promises, each a test; a subclass gives the fixtures `cluster`, `namespace`, `edit`."""

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

    def test_a_changed_spec_is_the_next_generation(self, cluster: Cluster, namespace: str) -> None:
        meta = {"name": "one", "namespace": namespace, "labels": dict(MANAGED_BY)}
        budget: Manifest = {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta,
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}},
        }  # fmt: skip
        first = cluster.apply(budget)["metadata"]["generation"]
        assert cluster.apply(budget)["metadata"]["generation"] == first
        labelled = budget | {"metadata": meta | {"labels": {**MANAGED_BY, "c": "d"}}}
        assert cluster.apply(labelled)["metadata"]["generation"] == first
        larger = budget | {"spec": budget["spec"] | {"maxUnavailable": 2}}
        assert cluster.apply(larger)["metadata"]["generation"] == first + 1

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

    def test_create_makes_what_is_not_there_and_owns_its_fields(
        self, cluster: Cluster, namespace: str
    ) -> None:
        made = cluster.create(self.config_map(namespace, {"a": "1", "b": "2"}))
        assert made["data"] == {"a": "1", "b": "2"}
        again = cluster.apply(self.config_map(namespace, {"a": "1"}))
        assert again["data"] == {"a": "1"}
        assert again["metadata"]["uid"] == made["metadata"]["uid"]

    def test_create_changes_nothing_of_what_is_there(
        self, cluster: Cluster, namespace: str
    ) -> None:
        before = cluster.apply(self.config_map(namespace, {"a": "1"}))
        with pytest.raises(ExistsError):
            cluster.create(self.config_map(namespace, {"a": "2"}))
        assert cluster.get(("ConfigMap", namespace, "one")) == before

    def test_an_apply_to_another_object_of_the_name_is_refused(
        self, cluster: Cluster, namespace: str
    ) -> None:
        first = cluster.apply(self.config_map(namespace, {"a": "1"}))
        ours = self.config_map(namespace, {"a": "2"})
        ours["metadata"]["uid"] = first["metadata"]["uid"]
        assert cluster.apply(ours)["data"] == {"a": "2"}
        cluster.delete(("ConfigMap", namespace, "one"))
        with pytest.raises(ConflictError):
            cluster.apply(ours)
        assert cluster.get(("ConfigMap", namespace, "one")) is None
        other = cluster.apply(self.config_map(namespace, {"a": "3"}))
        with pytest.raises(ConflictError):
            cluster.apply(ours)
        assert cluster.get(("ConfigMap", namespace, "one")) == other

    def test_what_others_change_is_recorded_until_it_is_put_back(
        self, cluster: Cluster, namespace: str, edit: Edit
    ) -> None:
        key, ours = ("ConfigMap", namespace, "one"), self.config_map(namespace, {"a": "1"})
        assert others(cluster.apply(ours)) == []
        edit(key, {"data": {"a": "2", "b": "3"}})
        live = cluster.get(key)
        assert live is not None
        assert others(live) == [{"f:data": {"f:a": {}, "f:b": {}}}]
        applied = cluster.apply(ours)
        assert applied["data"] == {"a": "1", "b": "3"}
        assert others(applied) == [{"f:data": {"f:b": {}}}]

    def test_a_replacement_holds_nothing_else(
        self, cluster: Cluster, namespace: str, edit: Edit
    ) -> None:
        key, ours = ("ConfigMap", namespace, "one"), self.config_map(namespace, {"a": "1"})
        made = cluster.apply(ours)
        edit(key, {"data": {"b": "3"}})
        found = cluster.get(key)
        assert found is not None
        ours["metadata"] |= {k: found["metadata"][k] for k in ("uid", "resourceVersion")}
        replaced = cluster.replace(ours)
        assert replaced["data"] == {"a": "1"}
        assert replaced["metadata"]["uid"] == made["metadata"]["uid"]
        assert others(replaced) == []
        with pytest.raises(ConflictError):
            cluster.replace(ours)

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


def others(manifest: Manifest) -> list[Any]:
    """The fields that others than us have set, by manager."""
    entries = manifest["metadata"].get("managedFields") or []
    return [_leaves(e["fieldsV1"]) for e in entries if e["manager"] != FIELD_MANAGER]


def _leaves(fields: Manifest) -> Manifest:
    return {name: _leaves(below) for name, below in fields.items() if name != "."}
