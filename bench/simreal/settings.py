"""The twelve settings of the campaign: four to fit on, eight to predict."""

from __future__ import annotations

from dataclasses import dataclass

PARTITIONS = 12
"""Partitions of the topic, and so the tasks of a batch."""

WAIT_MS, CORES = 8, 1
"""Milliseconds of each record's call; task slots of an executor."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The pinned settings, and the load."""

    name: str
    executors: int
    trigger_s: float
    max_offsets: int
    load: float
    """Records/s."""
    saturated: bool
    """The load exceeds what the pipeline can process, so the batch limit cuts each batch."""
    fitted: bool = False
    """Whether its measurements are used for the fit; all others are predicted."""


CAMPAIGN = (
    Setting("p5-busy", 5, 10, 6000, 300, False),
    Setting("p5-idle", 5, 10, 6000, 40, False, fitted=True),
    Setting("p4-busy", 4, 2, 4000, 250, False),
    Setting("p3-busy", 3, 5, 4000, 200, False),
    Setting("p2-busy", 2, 2, 4000, 60, False),
    Setting("p1-idle", 1, 10, 2500, 15, False, fitted=True),
    Setting("p1-full", 1, 5, 1500, 140, True, fitted=True),
    Setting("p1-short", 1, 2, 400, 130, True),
    Setting("p2-full", 2, 10, 3000, 280, True),
    Setting("p3-short", 3, 2, 1200, 400, True),
    Setting("p4-full", 4, 5, 4000, 560, True),
    Setting("p5-full", 5, 5, 5000, 680, True, fitted=True),
)
"""In the order of the campaign: the saturated ones last, so that no backlog has to be drained.

One and five executors separate the fixed cost from the cost of a task; small and large batches
separate both from the work; the plant interpolates between one and five.
"""
