"""The cluster in memory keeps the promises of the port."""

from __future__ import annotations

import pytest
from tests.contracts.cluster import ClusterContract, Edit

from trimtab.adapters.memory import MemoryCluster
from trimtab.ports import Key, Manifest


class TestMemoryCluster(ClusterContract):
    @pytest.fixture
    def cluster(self) -> MemoryCluster:
        return MemoryCluster()

    @pytest.fixture
    def namespace(self) -> str:
        return "n"

    @pytest.fixture
    def edit(self, cluster: MemoryCluster) -> Edit:
        def edit(key: Key, patch: Manifest) -> None:
            live = cluster.objects[key]
            cluster.put(live | {part: live[part] | fields for part, fields in patch.items()})

        return edit
