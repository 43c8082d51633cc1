"""Policies above pipelines: what they set, what they forbid, and what is told on both sides."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.reconcile.stage import NAMESPACE, OVERLOAD, Stage, series
from tests.unit.workloads.manifests import Json

from trimtab.api.kinds import KINDS
from trimtab.ports import Key
from trimtab.reconcile import policies
from trimtab.reconcile.decide import fleet
from trimtab.reconcile.observe.policies import Seen
from trimtab.tuning.governance.need import need

API = "trimtab.dev/v1alpha1"
CLOSED = {"windows": [{"start": "0 0 1 1 *", "duration": "1m"}]}
"""A window that is closed whenever tests run in virtual time."""


def put(stage: Stage, name: str, *, kind: str = "TuningPolicy", **spec: Any) -> None:
    meta = {"name": name, "generation": 1}
    meta |= {} if kind.startswith("Cluster") else {"namespace": NAMESPACE}
    stage.cluster.put({"apiVersion": API, "kind": kind, "metadata": meta, "spec": spec})


def told(stage: Stage, name: str, kind: str = "TuningPolicy") -> Json:
    namespace = "" if kind.startswith("Cluster") else NAMESPACE
    found: Json = stage.cluster.objects[kind, namespace, name]["status"]
    return found


def verdict(stage: Stage, name: str, kind: str = "TuningPolicy") -> tuple[str, str, str]:
    (ready,) = told(stage, name, kind)["conditions"]
    return ready["status"], ready["reason"], ready["message"]


def started(*names: str, **spec: Any) -> Stage:
    """Pipelines whose drivers run."""
    stage = Stage(*names)
    for name in names if spec else ():
        stage.put_pipeline(name, **spec)
    stage.running(*names)
    return stage


def run(stage: Stage, *names: str, ticks: int = 4, **more: float) -> None:
    """Ticks under an input that one executor does not carry; each brings a new batch."""
    for _ in range(ticks):
        now_s = stage.clock.now_s + 10
        stage.see(*(
            series(
                name, now_s, batch_id=int(now_s), batch_duration_seconds=22.9,
                settings_generation=stage.document(name)["generation"],
                batch_settings_generation=stage.document(name)["generation"], **(OVERLOAD | more),
            )
            for name in names
        ))  # fmt: skip
        stage.tick()


def test_without_policies_the_overloaded_pipeline_gets_more() -> None:
    stage = started("clicks")
    run(stage, "clicks")
    assert stage.document()["settings"]["executors"] > 1
    assert not stage.status().get("policies")


def test_status_names_the_policy_that_set_each_value() -> None:
    stage = started("clicks")
    put(stage, "fleet", kind="ClusterTuningPolicy", knobs={"executors": {"max": 2}})
    put(stage, "team", mode="Recommend")
    run(stage, "clicks")
    assert stage.status()["policies"] == [
        {"field": "mode", "value": "Recommend", "policy": "TuningPolicy/team"},
        {"field": "executors.max", "value": "2", "policy": "ClusterTuningPolicy/fleet"},
    ]
    assert stage.document()["settings"]["executors"] == 1
    assert stage.status()["recommended"]["executors"] == 2
    assert verdict(stage, "team") == ("True", "Accepted", "")
    assert told(stage, "fleet", "ClusterTuningPolicy")["pipelines"] == 1


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        ({"knobs": {"executors": {"locked": True}, "trigger": {"locked": True},
                    "maxOffsetsPerTrigger": {"locked": True}, "maxInFlight": {"locked": True}}},
         "Locked", "is locked by a policy"),
        (CLOSED, "WindowClosed", "no window of TuningPolicy/team is open"),
        ({"budget": {"cores": 1}}, "OverBudget", "the shared budget leaves 1 executors"),
    ],
)  # fmt: skip
def test_what_a_policy_forbids_is_not_done_and_told(
    spec: dict[str, Any], reason: str, words: str
) -> None:
    stage = started("clicks")
    put(stage, "team", **spec)
    run(stage, "clicks")
    assert stage.document()["settings"]["executors"] == 1
    assert stage.condition("Tuning")[1] == reason
    message = next(c for c in stage.status()["conditions"] if c["type"] == "Tuning")["message"]
    assert words in message


def test_records_that_expire_unread_do_not_wait_for_a_window() -> None:
    stage = started("clicks")
    put(stage, "team", **CLOSED)
    run(stage, "clicks", retention_deadline_seconds=3600.0, retention_seconds=4.1 * 3600)
    assert stage.document()["settings"]["executors"] > 1
    assert stage.condition("RecordsExpiring") == ("True", "RetentionNear")
    assert [reason for reason, *_ in stage.cluster.events].count("RetentionNear") == 1


def test_a_policy_that_changed_meanwhile_is_told_by_its_watch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The operator may list and watch policies, and not get one."""
    stage = started("clicks")
    put(stage, "team", mode="Observe")
    stage.loop.resync()
    put(stage, "team", mode="Recommend")
    asked: list[Key] = []
    get = stage.cluster.get

    def noted(key: Key) -> Json | None:
        asked.append(key)
        return get(key)

    monkeypatch.setattr(stage.cluster, "get", noted)
    stage.tick(listed=False)
    assert "status" not in stage.cluster.objects["TuningPolicy", NAMESPACE, "team"]
    assert [key for key in asked if "get" not in KINDS[key[0]].verbs] == []
    stage.tick()
    assert verdict(stage, "team") == ("True", "Accepted", "")


def test_a_window_holds_while_they_do_not() -> None:
    stage = started("clicks")
    put(stage, "team", **CLOSED)
    run(stage, "clicks", retention_deadline_seconds=3600.0, retention_seconds=3.9 * 3600)
    assert stage.document()["settings"]["executors"] == 1
    assert stage.condition("RecordsExpiring") == ("False", "NotExpiring")


def test_outside_of_windows_raises_may_be_allowed() -> None:
    stage = started("clicks")
    put(stage, "team", **CLOSED, outsideWindows="Raises")
    run(stage, "clicks")
    assert stage.document()["settings"]["executors"] > 1


def test_a_step_is_no_larger_than_a_policy_says() -> None:
    stage = started("clicks")
    put(stage, "team", knobs={"executors": {"maxStep": 1}})
    run(stage, "clicks")
    assert stage.document()["settings"]["executors"] == 2


def test_a_policy_that_cannot_be_read_is_told_on_both_and_nothing_changes() -> None:
    stage = started("clicks")
    window = {"start": "0 2 * * *", "duration": "1h", "timeZone": "Europe/Berlln"}
    put(stage, "typo", windows=[window])
    run(stage, "clicks")
    assert stage.document()["settings"]["executors"] == 1
    assert stage.condition("Tuning")[1] == "PolicyConflict"
    status, reason, message = verdict(stage, "typo")
    assert (status, reason) == ("False", "InvalidSpec")
    assert "there is no time zone 'Europe/Berlln'" in message
    assert "InvalidSpec" in [reason for reason, _ in stage.cluster.events]
    put(stage, "typo", windows=[])
    run(stage, "clicks")
    assert verdict(stage, "typo")[1] == "Accepted"
    assert stage.document()["settings"]["executors"] > 1


def test_two_policies_that_fight_are_told_on_both_and_nothing_changes() -> None:
    stage = started("clicks")
    put(stage, "one", defaults={"catchUp": "60s"})
    put(stage, "other", defaults={"catchUp": "2m"})
    run(stage, "clicks")
    assert stage.document()["settings"]["executors"] == 1
    for name in ("one", "other"):
        status, reason, message = verdict(stage, name)
        assert (status, reason) == ("False", "PolicyConflict")
        assert "TuningPolicy/one and TuningPolicy/other" in message
    words = next(c for c in stage.status()["conditions"] if c["type"] == "Tuning")["message"]
    assert "TuningPolicy/one and TuningPolicy/other" in words


def test_a_policy_is_written_once_and_then_only_with_news() -> None:
    stage = started("clicks")
    put(stage, "team", mode="Observe")
    run(stage, "clicks", ticks=2)
    key = ("TuningPolicy", NAMESPACE, "team")
    stage.cluster.writes.clear()
    run(stage, "clicks", ticks=2)
    assert key not in [written for _, written in stage.cluster.writes]


def test_only_so_many_pipelines_change_at_once() -> None:
    names = ("clicks", "orders", "views")
    stage = started(*names)
    put(stage, "team", budget={"changesAtOnce": 1})
    run(stage, *names, ticks=2)
    raised = [name for name in names if stage.document(name)["settings"]["executors"] > 1]
    assert len(raised) == 1
    waiting = {stage.condition("Tuning", name)[1] for name in names if name not in raised}
    assert waiting == {"TooManyChanges"}


def test_a_budget_is_never_exceeded_by_pipelines_that_raise_at_the_same_time() -> None:
    names = ("clicks", "orders", "views")
    stage = started(*names)
    put(stage, "team", budget={"cores": 5})
    run(stage, *names, ticks=6)
    executors = [stage.document(name)["settings"]["executors"] for name in names]
    assert sum(executors) <= 5
    assert max(executors) > 1


def test_a_lowered_budget_is_given_back_at_once() -> None:
    names = ("clicks", "orders")
    stage = started(*names, tuning={"initial": {"executors": 4}})
    assert stage.document("orders")["settings"]["executors"] == 4
    put(stage, "team", budget={"cores": 4})
    run(stage, *names, ticks=1)
    executors = [stage.document(name)["settings"]["executors"] for name in names]
    assert sum(executors) == 4
    assert min(executors) >= 1
    assert "OverBudget" in [reason for reason, _ in stage.cluster.events]


def approve(stage: Stage, generation: int | str) -> None:
    live = stage.get("StreamPipeline", "clicks")
    live["metadata"]["annotations"] = {"trimtab.dev/approve": str(generation)}
    stage.cluster.put(live)


def test_a_recommendation_is_applied_when_its_generation_is_approved() -> None:
    stage = started("clicks")
    put(stage, "team", mode="Recommend")
    run(stage, "clicks")
    told = stage.status()
    standing = told["recommendation"]
    assert standing["generation"] == 1
    assert standing["cores"] == f"1 -> {told['recommended']['executors']}"
    assert float(standing["predictedLoad"]) < float(standing["load"])
    assert told["adviceRecord"]["given"] == 1
    for other in (2, "yes"):
        approve(stage, other)
        run(stage, "clicks", ticks=1)
        assert stage.document()["settings"]["executors"] == 1
    approve(stage, 1)
    run(stage, "clicks", ticks=1)
    assert stage.document()["settings"]["executors"] == told["recommended"]["executors"]
    assert not stage.status().get("recommendation")
    assert stage.status()["adviceRecord"]["approved"] == 1


def test_a_standing_recommendation_is_written_once() -> None:
    stage = started("clicks")
    put(stage, "team", mode="Recommend")
    run(stage, "clicks")
    before = stage.status()["recommendation"]
    decisions = len(stage.status()["decisions"])
    run(stage, "clicks", ticks=3)
    assert stage.status()["recommendation"] == before
    assert len(stage.status()["decisions"]) == decisions


def test_a_policy_lets_chosen_knobs_wait_for_a_person() -> None:
    stage = started("clicks")
    put(stage, "team", approval=["executors"])
    run(stage, "clicks")
    assert stage.document()["settings"]["executors"] == 1
    assert stage.status()["recommendation"]["generation"] == 1
    value = {"field": "executors.approval", "value": "required", "policy": "TuningPolicy/team"}
    assert value in stage.status()["policies"]


def test_an_error_about_one_policy_or_one_share_does_not_touch_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("clicks", "orders")
    stage = started(*names)
    put(stage, "broken")
    put(stage, "shared", budget={"cores": 16})
    whole = policies.status

    def failing(seen: Seen, *rest: Any) -> Any:
        if seen.layer.name == "broken":
            raise ZeroDivisionError
        return whole(seen, *rest)

    def no_need(snapshot: Any, memory: Any) -> Any:
        if len(asked) == 0:
            asked.append(memory)
            raise ZeroDivisionError
        return need(snapshot, memory)

    asked: list[Any] = []
    monkeypatch.setattr(policies, "status", failing)
    monkeypatch.setattr(fleet, "need", no_need)
    run(stage, *names)
    assert verdict(stage, "shared")[1] == "Accepted"
    assert all(stage.document(name)["settings"]["executors"] > 1 for name in names)
    assert asked


def test_whose_need_cannot_be_told_keeps_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_need(snapshot: Any, memory: Any) -> Any:
        raise ZeroDivisionError

    stage = started("clicks")
    put(stage, "shared", budget={"cores": 1})
    run(stage, "clicks", ticks=1)
    monkeypatch.setattr(fleet, "need", no_need)
    run(stage, "clicks")
    assert stage.document()["settings"]["executors"] == 1
    assert stage.condition("Tuning")[1] == "OverBudget"
