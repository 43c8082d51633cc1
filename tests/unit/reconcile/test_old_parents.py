"""A custom resource that is known in an old version, with children that are newer.

Whoever acts on it would undo what another operator, or the one before, has done since.
"""

from __future__ import annotations

import copy

import pytest
from tests.unit.reconcile.stage import NAMESPACE, PARENT, Stage
from tests.unit.workloads.manifests import CONFIG, Json, changed

from trimtab.adapters.memory import MemoryCluster
from trimtab.api.kinds import WATCHED
from trimtab.errors import UnavailableError
from trimtab.ports import Key
from trimtab.reconcile.loop import ControlLoop

KAFKA = ("KafkaCluster", NAMESPACE, "events")
EDITS = {
    PARENT: ("evictable", False),  # changes a child, and no condition
    KAFKA: ("resources", {"memory": "2Gi"}),
}


@pytest.fixture(params=EDITS, ids=lambda key: str(key[0]))
def edited(request: pytest.FixtureRequest) -> Key:
    key: Key = request.param
    return key


def behind(edited: Key) -> Stage:
    """An edit, on which another operator has acted: ours has read all but the edit."""
    stage = Stage.at_rest()
    stage.tick()
    old = copy.deepcopy(stage.cluster.objects[edited])
    new = changed(old, *EDITS[edited])
    new["metadata"]["generation"] += 1
    stage.cluster.put(new)
    other = ControlLoop(stage.cluster, stage.metrics, stage.telemetry, stage.clock, CONFIG)
    other.tick()
    stage.loop.resync()
    cache = stage.loop.cache
    cache.forget(edited)
    cache.observe(old)
    stage.cluster.writes.clear()
    return stage


def children(stage: Stage) -> dict[Key, Json]:
    return {key: m for key, m in stage.cluster.objects.items() if key not in EDITS}


def test_what_an_old_spec_says_is_not_written(edited: Key) -> None:
    stage = behind(edited)
    before = copy.deepcopy(children(stage))
    stage.loop.tick()
    assert stage.cluster.writes == []
    stage.loop.tick()
    assert children(stage) == before
    assert stage.loop.cache.get(*edited) == stage.cluster.objects[edited]


def without_policies(stage: Stage, parent: Key) -> None:
    """What would be written at once."""
    uid = stage.cluster.objects[parent]["metadata"]["uid"]
    for key, live in list(stage.cluster.objects.items()):
        owners = live["metadata"].get("ownerReferences", [])
        if key[0] == "NetworkPolicy" and owners[0]["uid"] == uid:
            del stage.cluster.objects[key]
            stage.loop.cache.forget(key)


def test_nothing_is_written_about_what_is_deleted(edited: Key) -> None:
    stage = behind(edited)
    without_policies(stage, edited)
    del stage.cluster.objects[edited]
    before = copy.deepcopy(children(stage))
    stage.loop.tick()
    assert children(stage) == before
    assert stage.loop.cache.get(*edited) is None


def test_versions_that_went_back_heal(edited: Key) -> None:
    """The store was restored from a backup: what is there now has a lower version."""
    stage = behind(edited)
    known = copy.deepcopy(stage.cluster.objects[edited])
    known["metadata"]["resourceVersion"] = "999999"
    stage.loop.cache.observe(known)
    before = copy.deepcopy(children(stage))
    without_policies(stage, edited)
    stage.loop.tick()
    stage.loop.tick()
    assert stage.loop.cache.get(*edited) == stage.cluster.objects[edited]
    assert children(stage).keys() == before.keys()


def test_a_refused_status_is_read_again_at_once() -> None:
    """An event was lost: the next tick needs no list to know."""
    stage = Stage.at_rest()
    stage.edit("suspend", True)
    stage.overload(6)
    stage.overload(7)
    stage.tick(listed=False)
    stage.tick(listed=False)
    assert stage.condition("Suspended") == ("True", "Suspended")


def test_one_call_a_tick_makes_sure(edited: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    asked: list[Key] = []
    get = stage.cluster.get
    monkeypatch.setattr(stage.cluster, "get", lambda key: asked.append(key) or get(key))
    stage.tick()
    stage.tick()
    assert asked.count(edited) <= 1
    asked.clear()
    stage.tick()
    assert edited not in asked, "a quiet tick asks for nothing"


def test_an_api_server_that_does_not_say_lets_nothing_be_written(
    edited: Key, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stage = behind(edited)

    def silent(self: MemoryCluster, key: Key) -> None:
        raise UnavailableError("the API server did not answer")

    monkeypatch.setattr(MemoryCluster, "get", silent)
    stage.loop.tick()
    assert stage.cluster.writes == []
    assert "did not answer" in caplog.text
    assert {kind.name for kind in WATCHED} >= {edited[0]}
