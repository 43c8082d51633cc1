"""What Argo CD says of our objects: its health script on what the operator writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa import lua51
from tests.unit.reconcile.stage import NAMESPACE, Stage
from tests.unit.reconcile.test_policies import put, run, started
from tests.unit.workloads.manifests import Json

from trimtab.api.kinds import OURS
from trimtab.api.v1alpha1.status import ConditionType

SCRIPTS: dict[str, str] = {
    name.rpartition("_")[2]: text
    for name, text in yaml.safe_load(Path("examples/gitops/argocd-cm.yaml").read_text())[
        "data"
    ].items()
}
"""The health script by kind."""


def health(live: Json) -> tuple[str, str]:
    """What the script says, in the Lua of Argo CD, which is 5.1."""
    lua = lua51.LuaRuntime(unpack_returned_tuples=True)
    function = lua.eval(f"function(obj) {SCRIPTS[live['kind']]} end")
    found = function(lua.table_from(live, recursive=True))
    return found["status"], found["message"]


def of(stage: Stage, kind: str = "StreamPipeline", name: str = "clicks") -> tuple[str, str]:
    return health(stage.cluster.objects[kind, NAMESPACE, name])


def test_each_of_our_kinds_has_a_script() -> None:
    assert SCRIPTS.keys() == {kind.name for kind in OURS}


def test_the_life_of_a_pipeline() -> None:
    stage = Stage()
    assert of(stage)[0] == "Progressing"
    stage.tick()
    assert of(stage)[0] == "Progressing", "its driver starts"
    stage.run_driver()
    run(stage, "clicks")
    assert of(stage)[0] == "Healthy"
    stage.edit("limits.executors.max", 6)
    assert of(stage)[0] == "Progressing", "the edit has not been seen"
    stage.tick()
    assert of(stage)[0] == "Healthy"


def test_a_suspended_pipeline_is_suspended_and_no_hang() -> None:
    stage = started("clicks")
    stage.edit("suspend", True)
    stage.tick()
    assert of(stage) == ("Suspended", "Suspended: spec.suspend is true")


def test_a_pipeline_between_two_runs_is_suspended_and_says_when_the_next_starts() -> None:
    stage = started("clicks")
    stage.edit("runs", {"schedule": "0 2 * * *"})
    stage.tick()
    status, message = of(stage)
    assert status == "Suspended"
    assert message.startswith("BetweenRuns: no run so far; the next starts at ")


def test_what_needs_a_person_is_degraded_with_its_words() -> None:
    stage = Stage()
    stage.edit("goal", {})
    stage.tick()
    status, message = of(stage)
    assert (status, message.partition(":")[0]) == ("Degraded", "InvalidSpec")
    put(stage, "typo", windows=[{"start": "x", "duration": "1h"}])
    put(stage, "fine", mode="Observe")
    stage.tick()
    assert of(stage, "TuningPolicy", "typo")[0] == "Degraded"
    assert of(stage, "TuningPolicy", "fine") == ("Healthy", "Accepted")


def test_a_kafka_cluster_has_a_health_too() -> None:
    stage = started("clicks")
    assert of(stage, "KafkaCluster", "events")[0] in {"Healthy", "Progressing"}
    stage.cluster.objects["KafkaCluster", NAMESPACE, "events"]["status"] = {
        "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "False", "reason": "DiskFull", "message": "m"},
                       {"type": "Stalled", "status": "True", "reason": "DiskFull", "message": "m"}],
    }  # fmt: skip
    assert of(stage, "KafkaCluster", "events") == ("Degraded", "DiskFull: m")


@pytest.mark.parametrize("type_", list(ConditionType))
@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
def test_every_state_of_every_condition_has_a_health(type_: ConditionType, status: str) -> None:
    """Beside a pipeline that runs well, one condition at a time."""
    stage = started("clicks")
    run(stage, "clicks")
    live: Json = stage.get("StreamPipeline", "clicks")
    conditions: list[dict[str, Any]] = live["status"]["conditions"]
    (one,) = (c for c in conditions if c["type"] == type_)
    one |= {"status": status, "reason": "Tried", "message": "words"}
    expected = "Healthy"
    if type_ is ConditionType.READY and status != "True":
        expected = "Progressing"
    if status == "True":
        expected = {"Stalled": "Degraded", "Suspended": "Suspended"}.get(type_, expected)
    assert health(live)[0] == expected
