"""The faults of the table in docs/reliability.md, in its order, and what each one is."""

from __future__ import annotations

from collections.abc import Mapping

CATALOGUE: Mapping[str, str] = {
    "operator-killed": "the operator is killed after its k-th write, for every k",
    "stale-list": "a list answers with what was before an edit",
    "events-lost": "events of all watches are lost",
    "events-late": "events of all watches come two seconds late",
    "events-repeated": "events of all watches come twice, and once more after newer ones",
    "watch-expired": "all watches end: their version is too old (410)",
    **{
        f"answer-{code}": f"writes, reads or watches are answered with {code}"
        for code in (401, 403, 404, 409, 410, 422, 429, 500, 504)
    },
    "answer-hang": "writes, reads or watches get no answer",
    "answer-reset": "connections of writes, reads or watches are reset",
    "answer-lost": "they are reset after the API server has done what was asked",
    "watch-silent": "all watches end, and new ones get no answer",
    "generated-StreamPipeline": "a generated spec of a StreamPipeline, in memory",
    "generated-KafkaCluster": "a generated spec of a KafkaCluster, in memory",
    "generated-live": "a generated spec on a real API server",
    "live-planned": "planned changes under load: executors, trigger, batch limit, driver",
    "live-operator": "the operator's pod is killed under load",
    "live-driver": "the driver's pod is killed under load",
    "live-executor": "an executor is killed under load",
    "live-broker": "one of three brokers is killed under load",
    "live-node": "one of three nodes loses its power for a minute under load",
    "live-all": "all of these kills together, at random",
}
