"""A job, and a progress event as Spark 4.2 gives it, with parts that a test can replace."""

from __future__ import annotations

from typing import Any

from trimtab.api.contract import Job
from trimtab.job.batches.progress import SLICES

T0 = 1_800_000_000.0


def job(**changes: Any) -> Job:
    document = {
        "namespace": "shop",
        "pipeline": "clicks",
        "pipelineUid": "uid",
        "source": {"bootstrapServers": "kafka:9092", "topics": ["in"]},
        "transform": {"sql": "SELECT value FROM source"},
        "sink": {"kind": "noop"},
        "checkpointUri": "/checkpoint/1",
    }
    return Job.model_validate(document | changes)


def progress(**changes: Any) -> dict[str, Any]:
    stamps = [(T0 + 1.0 - age) * 1000 for age in (0.5, 2.0, 3.0, *([1.0] * len(SLICES)))]
    event: dict[str, Any] = {
        "runId": "run-a",
        "timestamp": "2027-01-15T08:00:00.000Z",
        "batchId": 3,
        "numInputRows": 40,
        "durationMs": {
            "addBatch": 700,
            "commitOffsets": 40,
            "getBatch": 10,
            "latestOffset": 20,
            "queryPlanning": 30,
            "triggerExecution": 1000,
            "walCommit": 60,
        },
        "stateOperators": [],
        "sources": [
            {
                "startOffset": {"in": {"0": 0, "1": 0}},
                "endOffset": {"in": {"0": 20, "1": 20}},
                "latestOffset": {"in": {"0": 20, "1": 20}},
            }
        ],
        "observedMetrics": {
            "trimtab_source": {
                "records": 40,
                "fingerprint": 1,
                "stamps": stamps,
                "stamp_sum": 40 * T0 * 1000,
                "ahead": 2,
            },
            "trimtab_sink": {"records": 40},
        },
    }
    return event | changes
