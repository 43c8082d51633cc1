"""What every `MetricSource` port promises: run against the one in memory and a real Prometheus.

A subclass gives the fixture `source`, which knows one series of each of these.
"""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.errors import UnavailableError
from trimtab.ports import MetricSource, Sample

GENERATION = "trimtab_settings_generation"
NOT_A_NUMBER = "trimtab_cpu_ratio"
HISTOGRAM = "trimtab_record_latency_seconds"
UNKNOWN = "trimtab_gc_ratio"


class MetricSourceContract:
    """The promises, each a test."""

    def test_a_series_comes_with_its_labels(self, source: MetricSource) -> None:
        (sample,) = source.query(GENERATION)
        assert isinstance(sample, Sample)
        assert sample.value == 4
        known = {"__name__": GENERATION, "namespace": "n", "pipeline": "clicks"}
        assert known.items() <= dict(sample.labels).items()

    def test_what_nobody_exports_is_no_sample(self, source: MetricSource) -> None:
        assert source.query(UNKNOWN) == []

    def test_what_is_no_number_is_left_out(self, source: MetricSource) -> None:
        assert source.query(NOT_A_NUMBER) == []

    def test_a_histogram_is_left_out(self, source: MetricSource) -> None:
        assert source.query(HISTOGRAM) == []

    def test_a_server_that_is_away_is_unavailable(self, away: Any) -> None:
        with pytest.raises(UnavailableError):
            away.query(GENERATION)
