"""The world keeps the newest version of everything, whatever comes late."""

from __future__ import annotations

from typing import Any

from trimtab.reconcile.observe.cache import ObjectCache

Json = dict[str, Any]


def pod(version: int, name: str = "a") -> Json:
    meta = {"namespace": "n", "name": name, "resourceVersion": str(version)}
    return {"kind": "Pod", "metadata": meta}


def version(world: ObjectCache, name: str = "a") -> str | None:
    found = world.get("Pod", "n", name)
    return found["metadata"]["resourceVersion"] if found else None


def test_an_older_version_is_ignored() -> None:
    world = ObjectCache()
    world.observe(pod(10))
    world.observe(pod(9))
    assert version(world) == "10"
    world.observe(pod(9), deleted=True)
    assert version(world) == "10"
    world.observe(pod(11))
    assert version(world) == "11"


def test_versions_are_compared_as_numbers() -> None:
    world = ObjectCache()
    world.observe(pod(10))
    world.observe(pod(9))
    world.observe(pod(100))
    world.observe(pod(20))
    assert version(world) == "100"


def test_what_is_deleted_is_gone() -> None:
    world = ObjectCache()
    world.observe(pod(10))
    world.observe(pod(11), deleted=True)
    assert version(world) is None
    world.observe(pod(12))
    world.forget(("Pod", "n", "a"))
    assert world.all("Pod") == []


def test_a_list_takes_away_what_it_does_not_hold_but_of_its_kind_only() -> None:
    world = ObjectCache()
    world.observe(pod(10))
    world.observe(pod(10, "b"))
    world.observe(pod(10) | {"kind": "Job"})
    world.resync("Pod", [pod(10, "b")], world.moment())
    assert [p["metadata"]["name"] for p in world.all("Pod")] == ["b"]
    assert len(world.all("Job")) == 1


def test_what_was_told_of_after_a_list_was_asked_for_stays() -> None:
    world = ObjectCache()
    world.observe(pod(10))
    world.observe(pod(10, "gone"))
    since = world.moment()
    listed = [pod(10), pod(10, "gone")]
    world.observe(pod(12))
    world.observe(pod(13, "new"))
    world.observe(pod(14, "gone"), deleted=True)
    world.resync("Pod", listed, since)
    assert (version(world), version(world, "new")) == ("12", "13")
    assert version(world, "gone") is None
    world.resync("Pod", [pod(12)], world.moment())
    assert [p["metadata"]["name"] for p in world.all("Pod")] == ["a"]


def test_objects_come_in_order_and_by_namespace() -> None:
    world = ObjectCache()
    for name in ("c", "a", "b"):
        world.observe(pod(1, name))
    other = pod(1, "z")
    other["metadata"]["namespace"] = "m"
    world.observe(other)
    assert [p["metadata"]["name"] for p in world.all("Pod", "n")] == ["a", "b", "c"]
    assert [p["metadata"]["name"] for p in world.all("Pod")] == ["z", "a", "b", "c"]
