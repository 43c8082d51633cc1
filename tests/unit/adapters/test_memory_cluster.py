"""The cluster in memory keeps the promises of the port."""

from __future__ import annotations

import pytest
from tests.contracts.cluster import ClusterContract

from trimtab.adapters.memory import MemoryCluster


class TestMemoryCluster(ClusterContract):
    @pytest.fixture
    def cluster(self) -> MemoryCluster:
        return MemoryCluster()

    @pytest.fixture
    def namespace(self) -> str:
        return "n"
