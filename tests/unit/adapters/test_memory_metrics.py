"""The metrics in memory keep the promises of the port."""

from __future__ import annotations

import pytest
from tests.contracts.metrics import GENERATION, NOT_A_NUMBER, MetricSourceContract

from trimtab.adapters.memory import MemoryMetrics
from trimtab.ports import Sample


class TestMemoryMetrics(MetricSourceContract):
    @pytest.fixture
    def source(self) -> MemoryMetrics:
        labels = {"namespace": "n", "pipeline": "clicks", "instance": "10.0.0.1:9400"}
        return MemoryMetrics(
            {
                name: [Sample(labels | {"__name__": name}, value)]
                for name, value in ((GENERATION, 4.0), (NOT_A_NUMBER, float("nan")))
            }
        )

    @pytest.fixture
    def away(self) -> MemoryMetrics:
        return MemoryMetrics(failure="away")
