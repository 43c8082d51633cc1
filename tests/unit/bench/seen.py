"""Signals, batches and settings for tests of the peers, with plain defaults."""

from __future__ import annotations

from typing import Any

from trimtab.tuning.settings import Settings
from trimtab.tuning.snapshot import Batch, Signals


def settings(executors: int, trigger_s: float = 10, max_offsets: int = 10_000) -> Settings:
    return Settings(executors, trigger_s, max_offsets)


def batch(
    id: int = 1,  # noqa: A002 - the field's own name
    records: int = 1000,
    duration_s: float = 4,
    executors: int = 2,
    committed_at_s: float = 0,
) -> Batch:
    return Batch(1, id, committed_at_s, records, duration_s, 0.3, 0, executors)


def signals(at_s: float, **known: Any) -> Signals:
    return Signals(
        sampled_at_s=at_s, settings_generation=0, rejected_generation=0,
        **{"batch": None, "partitions": 12, **known},
    )  # fmt: skip
