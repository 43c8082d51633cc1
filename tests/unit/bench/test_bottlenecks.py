"""The cases of `make demo-bottlenecks`: their objects are valid, their work is there."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from bench.bottlenecks import __main__ as bottlenecks
from bench.bottlenecks import drive, page, quota, work
from bench.bottlenecks.cases import CASES, Case, kafka, pipeline
from dev.demo.kube import Kube

from trimtab.api.reasons import BottleneckKind, Reason
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.tuning import Mode
from trimtab.job.executors.locality import preferred


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_a_valid_pipeline_of_a_known_kind(case: Case) -> None:
    spec = StreamPipelineSpec.model_validate(pipeline(case, sick=False)["spec"])
    assert spec.tuning.mode is Mode.AUTO
    sick = StreamPipelineSpec.model_validate(pipeline(case, sick=True)["spec"])
    assert sick.tuning.mode is Mode.OBSERVE
    topics = {topic.name for topic in KafkaClusterSpec.model_validate(kafka()["spec"]).topics}
    assert {*spec.source.kafka.topics, spec.sink.kafka.topic} <= topics
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?", case.name)
    assert BottleneckKind(case.kind)
    assert all(Reason(reason) for reason in case.expects)
    assert hasattr(work, case.function)


CHANGE = {
    "action": "Change", "reason": "PartitionsSplit", "time": "1",
    "message": "Skew (60%); load 1.9 at 160 records/s: minPartitions 1 -> 6, predicted load 0.7",
}  # fmt: skip
KEEP = {"action": "Keep", "reason": "TrialKept", "time": "2", "message": "load 1.9 -> 0.6; x"}


def test_a_row_says_what_was_named_moved_and_given() -> None:
    one = drive.Outcome(
        "Skew", "Skew", named={"Skew": 7, "Cpu": 1}, decisions=[CHANGE, KEEP],
        before_s=50.0, after_s=9.0, settled=True, commit="a",
    )  # fmt: skip
    less = replace(one, repeat=2, named={"Cpu": 1}, decisions=[CHANGE | {"reason": "CoresRaised"}])
    other = replace(less, before_s=60.0, after_s=13.0)
    row = page.table([one, other]).splitlines()[-1]
    assert row == (
        "| Skew | 1 of 2 | Skew 7, Cpu 2 | 1 of 2 (PartitionsSplit)"
        " | PartitionsSplit (minPartitions 1 -> 6); CoresRaised (minPartitions 1 -> 6)"
        " | TrialKept: load 1.9 -> 0.6 | 55.0 (50.0–60.0) | 11.0 (9.0–13.0) | 1 of 2 (12s) | a |"
    )


def test_a_cure_by_hand_is_what_the_message_asks_for_and_is_told() -> None:
    ((case, by_hand),) = ((c, c.by_hand) for c in CASES if c.by_hand is not None)
    sick, cured = (
        StreamPipelineSpec.model_validate(pipeline(each, sick=False)["spec"])
        for each in (case, replace(case, pinned=by_hand))
    )
    assert sick.tuning.pinned.fetch is not None
    assert cured.tuning.pinned == sick.tuning.pinned.model_copy(update={"fetch": None})
    row = page.table([drive.Outcome(case.kind, case.title)]).splitlines()[-1]
    assert "| by hand |" in row


def test_a_change_that_does_not_help_is_to_be_put_back_and_says_by_which_verdict() -> None:
    cases = [case for case in CASES if case.reverts]
    assert {Reason(case.reverts) for case in cases} == {
        Reason.TRIAL_NO_GAIN, Reason.PODS_PENDING, Reason.EXECUTORS_REFUSED,
    }  # fmt: skip
    title = next(case.title for case in cases if case.reverts == Reason.PODS_PENDING)
    revert = KEEP | {"action": "Revert", "reason": "PodsPending"}
    tried = drive.Outcome("Cpu", title, decisions=[CHANGE | {"reason": "ExecutorsRaised"}])
    done = replace(tried, repeat=2, decisions=[*tried.decisions, revert])
    assert "| 1 of 2 (put back: PodsPending) |" in page.table([tried, done])


def test_a_namespace_is_filled_up_but_for_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    kube, applied = Kube("kubectl", "helm", None, "here"), []
    pods = [{"status": {"phase": phase}} for phase in ("Running", "Pending", "Succeeded")]
    monkeypatch.setattr(Kube, "get", lambda *_: {"items": pods})
    monkeypatch.setattr(Kube, "apply", lambda _, one: applied.append(one))
    quota.no_more_pods(kube, room=1)
    assert applied[0]["spec"]["hard"] == {"pods": "3"}


def test_what_is_to_know_of_a_case_follows_the_table() -> None:
    noted = next(case for case in CASES if case.note)
    lines = page.table([drive.Outcome(noted.kind, noted.title)]).splitlines()
    assert lines[-1] == f"- {noted.title}: {noted.note}"
    assert "Notes" not in page.table([drive.Outcome("Skew", "Skew")])


@pytest.mark.parametrize(("then", "falls"), [((20.0, 20.0), True), ((29.0, 30.0), False)])
def test_a_latency_that_falls_has_not_settled(
    monkeypatch: pytest.MonkeyPatch, then: tuple[float, float], falls: bool
) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    watch = drive.Watch(object(), CASES[0], drive.Outcome("Skew", "Skew"))  # type: ignore[arg-type]
    watch.p95_s = [(60.0, 5.0), (72.0, 30.0), (80.0, 30.0), (90.0, then[0]), (99.0, then[1])]
    assert watch.falls(30.0) is falls


def test_a_run_of_one_case_keeps_the_rows_of_the_others(tmp_path: Path) -> None:
    old = [drive.Outcome("Skew", "Skew"), drive.Outcome("Cpu", "Cpu", commit="old")]
    file = tmp_path / "bottlenecks.json"
    bottlenecks.write(file, old)
    bottlenecks.write(file, [drive.Outcome("Cpu", "Cpu", commit="new")])
    assert [(each.title, each.commit) for each in bottlenecks.read(file)] == [
        ("Cpu", "new"), ("Skew", ""),
    ]  # fmt: skip


def test_every_kind_has_a_case_that_this_cluster_can_make() -> None:
    made = {case.kind for case in CASES}
    assert len({case.name for case in CASES}) == len(CASES)
    assert {"None"} == set(BottleneckKind) - made


def test_the_topics_of_the_case_of_locality_prefer_the_same_of_two_executors() -> None:
    (case,) = (c for c in CASES if c.kind == "Locality")
    assert len({preferred(topic, 0, 2) for topic in case.sources}) == 1
    assert len(set(case.sources)) == 6


def test_the_case_of_state_shares_its_checkpoint_and_keeps_its_stores() -> None:
    (case,) = (c for c in CASES if c.kind == "StateCommit")
    spec = StreamPipelineSpec.model_validate(pipeline(case, sick=False)["spec"])
    assert spec.checkpoint.claim is not None
    assert spec.checkpoint.claim.shared
    assert spec.transform.shuffle_partitions == case.stores > 0
    assert spec.sink.output_mode == "update"


def test_the_quota_slows_the_sink_and_not_the_load_and_is_taken_away() -> None:
    load, sinks = quota.arguments(60_000, "kafka:9092")
    assert load[-4:] == [
        "--entity-name",
        "rdkafka",
        "--add-config",
        f"producer_byte_rate={1 << 40}",
    ]
    assert sinks[-3:] == ["--entity-default", "--add-config", "producer_byte_rate=60000"]
    sinks, load = quota.arguments(None, "kafka:9092")
    assert sinks[-3:] == ["--entity-default", "--delete-config", "producer_byte_rate"]
    assert load[-4:] == ["--entity-name", "rdkafka", "--delete-config", "producer_byte_rate"]


class Exec:
    """Notes what is asked of kubectl."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def call(self, *arguments: str, **_: object) -> str:
        self.asked.append(arguments)
        return ""


def test_the_broker_is_asked_by_its_own_tool() -> None:
    kube = Exec()
    quota.throttle(kube, 60_000)  # type: ignore[arg-type]
    assert len(kube.asked) == 2
    for asked in kube.asked:
        assert asked[:3] == ("exec", "events-kafka-0", "--")
        assert "kafka.admin.ConfigCommand" in asked


def test_what_a_decision_names_counts_once() -> None:
    outcome, named = drive.Outcome("Memory", "Memory"), Counter[str]()
    raised = {"time": "1", "action": "Change", "reason": "ExecutorsRaised",
              "message": "Memory (33% of the time is collected); load 1.29"}  # fmt: skip
    for _ in range(3):
        drive.note(outcome, named, {"bottleneck": {"kind": "None"}, "decisions": [raised]})
    assert named == {"Memory": 1}
    drive.note(outcome, named, {"bottleneck": {"kind": "Memory"}, "decisions": [raised]})
    assert named == {"Memory": 2}
