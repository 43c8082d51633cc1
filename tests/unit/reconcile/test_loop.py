"""Ticks over pipelines in memory: the order of the writes, and who waits for whom."""

from __future__ import annotations

import json
import logging
import random
import re
from typing import Any

import pytest
from tests.unit.reconcile.stage import HISTORY, NAMESPACE, PARENT, TUNING, Stage, series
from tests.unit.workloads.manifests import changed, example

from trimtab.api.contract import FORM
from trimtab.errors import UnavailableError
from trimtab.ports import Key, Manifest
from trimtab.reconcile.observe.cache import FETCHED_S


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.running()
    return made


def raised(stage: Stage) -> None:
    """Two samples of overload: the second one ends the dwell."""
    for batch in (6, 7):
        stage.overload(batch)
        stage.tick()


def test_the_status_is_written_before_the_tuning_document(stage: Stage) -> None:
    raised(stage)
    assert stage.cluster.writes == [("status", PARENT), ("apply", TUNING), ("apply", HISTORY)]
    assert stage.document()["generation"] == stage.status()["controller"]["generation"] == 2
    assert stage.document()["settings"]["executors"] > 1


def test_a_quiet_tick_writes_nothing(stage: Stage) -> None:
    for _ in range(3):
        stage.see(series("clicks", stage.clock.now_s + 10))
        stage.tick()
    assert stage.cluster.writes == []
    assert stage.telemetry.ticks[-1]["writes"] == 0


def test_noise_in_a_rate_is_not_written() -> None:
    stage = Stage()
    stage.put_pipeline("clicks", goal={"throughput": {"recordsPerSecond": 1000}})
    stage.running()
    for rate in (25.0, 25.4, 24.0, 26.9):
        stage.see(series("clicks", stage.clock.now_s + 10, input_rate_long=rate, input_rate=rate))
        stage.tick()
    assert stage.status()["goal"] == {"target": "1000/s", "observed": "25/s"}
    assert stage.cluster.writes == []
    stage.see(series("clicks", stage.clock.now_s + 10, input_rate_long=40.0, input_rate=40.0))
    stage.tick()
    assert stage.status()["goal"]["observed"] == "40/s"


def sawtooth(stage: Stage, ticks: int) -> int:
    """Ticks at 140 records/s: the lag goes up to a batch and down again, p95 wobbles by 10 %."""
    noise, writes = random.Random("sawtooth"), 0
    stage.rest(batch_records=1400, batch_duration_seconds=1.0, input_rate=140.0,
               input_rate_long=140.0)  # fmt: skip
    for batch in range(ticks):
        values = {
            "batch_id": 100 + batch, "batches_total": 100 + batch,
            "batch_records": 1400 + noise.randint(-70, 70),
            "batch_duration_seconds": 1.0 + noise.uniform(-0.05, 0.05),
            "batch_record_latency_seconds": 10.0 * noise.uniform(0.9, 1.1),
            "lag_records": noise.choice([100.0, 450.0, 800.0, 1150.0, 1500.0]),
            "lag_s": noise.choice([0.7, 3.0, 5.5, 8.0, 10.5]),
            "input_rate": 140 * noise.uniform(0.95, 1.05),
            "input_rate_long": 140 * noise.uniform(0.95, 1.05),
        }  # fmt: skip
        stage.see(series("clicks", stage.clock.now_s + 10, **values))
        before = stage.status()
        stage.tick()
        writes += len(stage.cluster.writes)
        if stage.status()["controller"] != before["controller"]:
            assert ("status", PARENT) in stage.cluster.writes
    return writes


@pytest.mark.parametrize("goal", [None, {"throughput": {"recordsPerSecond": 1000}}])
def test_a_lag_that_goes_up_and_down_with_the_batches_is_not_written_each_tick(goal: Any) -> None:
    stage = Stage()
    if goal:
        stage.put_pipeline("clicks", goal=goal)
    stage.running()
    assert sawtooth(stage, 100) <= 6, "one of them for how even the batches are"
    assert 100 <= stage.status()["lag"]["records"] <= 1500


def test_a_lag_that_grows_beyond_a_batch_is_written(stage: Stage) -> None:
    sawtooth(stage, 5)
    values = {"batch_records": 1400, "input_rate": 140.0, "input_rate_long": 140.0}
    for lag, shown in ((6000.0, 6000), (7000.0, 6000), (50.0, 50)):
        now_s = stage.clock.now_s + 10
        stage.see(series("clicks", now_s, batch_id=104, lag_records=lag, **values))
        stage.tick()
        assert stage.status()["lag"]["records"] == shown


def test_records_that_wait_beside_idle_slots_starve_them_and_that_is_written_once(
    stage: Stage,
) -> None:
    sawtooth(stage, 5)
    assert stage.status()["flow"]["state"] == "Flowing"
    values = {"batch_records": 1400, "input_rate": 140.0, "input_rate_long": 140.0}
    for lag in (6000.0, 7000.0):
        now_s = stage.clock.now_s + 10
        stage.see(series("clicks", now_s, batch_id=104, lag_records=lag, **values))
        stage.tick()
        assert stage.status()["flow"]["state"] == "Starved"
        assert "6000 records wait" in stage.status()["flow"]["evidence"]


def test_what_is_written_anyway_carries_the_newest_numbers(stage: Stage) -> None:
    stage.rest()
    for batch, latency, lag in ((6, 12.0, 200.0), (7, 14.0, 240.0), (8, 15.4, 260.0)):
        values = {"batch_record_latency_seconds": latency, "lag_records": lag}
        stage.see(series("clicks", stage.clock.now_s + 10, batch_id=batch, **values))
        stage.tick()
        goal, lag_shown = stage.status()["goal"], stage.status()["lag"]["records"]
        if batch == 7:
            assert (goal["observed"], lag_shown) == ("12s", 200)
    assert stage.condition("GoalMet") == ("False", "LatencyAboveTarget")
    assert (goal["observed"], lag_shown) == ("15s", 260)


def test_messages_have_the_numbers_that_are_written_beside_them(stage: Stage) -> None:
    stage.rest()
    told = []
    for batch, latency in ((6, 16.0), (7, 17.0), (8, 40.0)):
        seen = {"batch_record_latency_seconds": latency, "worst_latency": latency}
        stage.see(series("clicks", stage.clock.now_s + 10, batch_id=batch, **seen))
        stage.tick()
        assert stage.condition("GoalMet") == ("False", "LatencyAboveTarget")
        message = next(c for c in stage.status()["conditions"] if c["type"] == "GoalMet")["message"]
        told.append((stage.status()["goal"]["observed"], message.partition(",")[0]))
    assert told == [("16s", "p95 16.0 s"), ("16s", "p95 16.0 s"), ("40s", "p95 40.0 s")]


def test_a_latency_that_wobbles_on_the_target_turns_the_condition_once(stage: Stage) -> None:
    """The goal is 15 s. Prometheus keeps the worst of a minute, that is of seven ticks here."""
    stage.rest()
    seen, told = [14.9], []
    for batch, latency in enumerate([15.1, 14.9, 15.2, 14.8] * 5 + [14.9] * 8):
        seen.append(latency)
        values = {"batch_record_latency_seconds": latency, "worst_latency": max(seen[-7:])}
        stage.see(series("clicks", stage.clock.now_s + 10, batch_id=20 + batch, **values))
        stage.tick()
        told.append((stage.condition("GoalMet")[0], len(stage.cluster.writes)))
    shown = [status for status, _ in told]
    assert shown == ["False"] * 25 + ["True"] * 3
    wrote = {i for i, (_, writes) in enumerate(told) if writes}
    assert {0, 25} <= wrote
    assert len(wrote) <= 3, "once more within 600 s, for when batches of this size were last seen"


def test_a_worst_latency_that_is_not_known_leaves_the_last_batch(stage: Stage) -> None:
    for latency, status in ((14.0, "True"), (16.0, "False"), (14.0, "True")):
        values = {"batch_record_latency_seconds": latency}
        driver = series("clicks", stage.clock.now_s + 10, **values) | {"worst_latency": []}
        stage.see(driver)
        stage.tick()
        assert stage.condition("GoalMet")[0] == status


def test_a_pipeline_that_stays_saturated_is_not_written() -> None:
    stage = Stage()
    limits = {"executors": {"min": 1, "max": 1}}
    stage.put_pipeline("clicks", limits=limits, tuning={"pinned": {"trigger": "5s"}})
    stage.running()
    applied = stage.document()["generation"]
    for batch in range(6, 14):
        stage.overload(batch, settings_generation=applied, batch_settings_generation=applied)
        stage.tick()
    assert stage.condition("Saturated")[0] == "True"
    assert stage.cluster.writes == []


def test_what_was_seen_last_stays_while_nothing_is_seen(stage: Stage) -> None:
    stage.see(series("clicks", stage.clock.now_s + 10))
    stage.tick()
    before = stage.status()
    stage.metrics.failure = "Prometheus did not answer"
    stage.tick()
    assert stage.cluster.writes == [("status", PARENT)]
    assert (stage.status()["goal"], stage.status()["lag"]) == (before["goal"], before["lag"])


def test_an_old_record_that_nobody_takes_is_told(stage: Stage) -> None:
    for age_s, shown in ((8.0, "8s"), (15.0, "8s"), (60.0, "60s")):
        stage.see(series("clicks", stage.clock.now_s + 10, lag_s=age_s))
        stage.tick()
        assert stage.status()["lag"]["time"] == shown


def test_a_goal_of_another_kind_begins_anew(stage: Stage) -> None:
    stage.see(series("clicks", stage.clock.now_s + 10))
    stage.tick()
    latency = stage.get(*PARENT[::2])["spec"]["goal"]
    for goal, observed in (({"throughput": {"recordsPerSecond": 9}}, "25/s"), (latency, "12s")):
        spec = stage.get(*PARENT[::2])
        stage.cluster.put(spec | {"spec": spec["spec"] | {"goal": goal}})
        stage.see(series("clicks", stage.clock.now_s + 10))
        stage.tick()
        assert stage.status()["goal"]["observed"] == observed


def test_a_conflict_on_the_status_drops_the_decision(stage: Stage) -> None:
    stage.overload(6)
    stage.tick()
    before, events = stage.document(), list(stage.cluster.events)
    stage.cluster.put(stage.get("StreamPipeline", "clicks"))  # somebody else wrote it meanwhile
    stage.overload(7)
    stage.tick(listed=False)
    assert stage.document() == before
    assert stage.cluster.writes == []
    assert (stage.cluster.events, stage.telemetry.decisions) == (events, [])
    assert stage.status()["controller"]["generation"] == 1
    stage.overload(8)
    stage.tick()
    assert stage.document()["generation"] == 2


def test_a_crash_between_the_writes_loses_nothing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.overload(6)
    stage.tick()
    apply = stage.cluster.apply

    def away(manifest: Manifest) -> Manifest:
        raise UnavailableError("the API server is away")

    monkeypatch.setattr(stage.cluster, "apply", away)
    stage.overload(7)
    stage.tick()
    assert stage.document()["generation"] == 1
    monkeypatch.setattr(stage.cluster, "apply", apply)
    stage.start_operator()
    stage.tick()
    assert stage.document()["generation"] == stage.status()["controller"]["generation"] == 2


def put_document(stage: Stage, **changes: Any) -> None:
    live = stage.get("ConfigMap", "clicks-tuning")
    text = json.dumps(stage.document() | changes)
    annotations = {"trimtab.dev/applied-hash": "other"}
    meta = live["metadata"] | {"annotations": annotations}
    stage.cluster.put(live | {"metadata": meta, "data": {"settings.json": text}})


def test_settings_that_somebody_edited_are_outdone_by_those_of_the_status(stage: Stage) -> None:
    before = stage.document()["settings"]
    put_document(stage, generation=9, settings={"executors": 4})
    stage.tick()
    assert stage.cluster.writes == [("status", PARENT), ("apply", TUNING)]
    assert stage.status()["controller"]["generation"] == stage.document()["generation"] == 10
    assert stage.document()["settings"] == before
    stage.tick()
    assert stage.cluster.writes == []


def test_an_edit_without_a_new_generation_is_put_back(stage: Stage) -> None:
    before, live = stage.document(), stage.get("ConfigMap", "clicks-tuning")
    for text in ("{}", json.dumps(before | {"settings": {"executors": 4}})):
        stage.cluster.put(live | {"data": {"settings.json": text}})  # as kubectl edit: same hash
        stage.tick()
        assert stage.document() == before


def test_another_key_in_the_tuning_document_is_left_alone(stage: Stage) -> None:
    live = stage.get("ConfigMap", "clicks-tuning")
    stage.cluster.put(live | {"data": live["data"] | {"note": "mine"}})
    stage.tick()
    assert stage.cluster.writes == []


@pytest.mark.parametrize("gauge", ["settings_generation", "settings_rejected_generation"])
def test_a_generation_that_only_the_driver_has_seen_is_outdone(stage: Stage, gauge: str) -> None:
    before = stage.document()["settings"]
    for expected in (10, 10):
        stage.see(series("clicks", stage.clock.now_s + 10, **{gauge: 9}))
        stage.tick()
        assert stage.document()["generation"] == expected
        assert stage.document()["settings"] == before
    assert stage.cluster.writes == []


def test_a_refused_generation_is_not_the_one_under_trial(stage: Stage) -> None:
    raised(stage)
    settings = stage.document()["settings"]
    stage.overload(8, settings_generation=2, settings_rejected_generation=7)
    stage.tick()
    assert stage.document() == stage.document() | {"generation": 8, "settings": settings}
    assert stage.status()["controller"]["trial"]["generation"] == 8


@pytest.mark.parametrize("changes", [{"generation": 0}, {"pipelineUid": "of-an-earlier-one"}])
def test_an_older_or_foreign_tuning_document_is(stage: Stage, changes: dict[str, Any]) -> None:
    put_document(stage, **{"generation": 9} | changes)
    stage.tick()
    assert (stage.document()["generation"], stage.document()["pipelineUid"]) == (1, "uid-clicks")


def test_without_a_status_the_document_is_taken_over(stage: Stage) -> None:
    put_document(stage, generation=9, settings={"executors": 4, "trigger": "5s"})
    live = stage.get("StreamPipeline", "clicks")
    stage.cluster.put({k: v for k, v in live.items() if k != "status"})
    stage.tick()
    assert stage.status()["controller"]["generation"] == 10
    assert stage.document()["settings"] == {
        "executors": 4, "trigger": "5s", "maxOffsetsPerTrigger": 2500,
    }  # fmt: skip


def test_limits_hold_at_once_even_without_a_driver() -> None:
    stage = Stage()
    stage.tick()
    live = stage.get("StreamPipeline", "clicks")
    limits = {"executors": {"min": 3, "max": 5}}
    stage.cluster.put(live | {"spec": live["spec"] | {"limits": limits}})
    stage.tick()
    assert (stage.document()["settings"]["executors"], stage.document()["generation"]) == (3, 2)


def test_events_are_for_news_only(stage: Stage) -> None:
    stage.see(series("clicks", stage.clock.now_s + 10))
    stage.tick()
    assert stage.cluster.events == []
    raised(stage)
    assert [reason for reason, _ in stage.cluster.events] == ["ExecutorsRaised"]
    assert stage.telemetry.decisions == [("Change", "ExecutorsRaised")]
    for batch in (8, 9):
        stage.overload(batch)
        stage.tick()
    assert len(stage.cluster.events) == 1


def test_the_same_recommendation_is_told_once() -> None:
    stage = Stage()
    live = stage.get("StreamPipeline", "clicks")
    stage.put_pipeline("clicks", tuning=live["spec"]["tuning"] | {"mode": "Recommend"})
    stage.running()
    for batch in (6, 7, 8, 9):
        stage.overload(batch)
        stage.tick()
    assert [reason for reason, _ in stage.cluster.events] == ["ExecutorsRaised"]
    assert len(stage.status()["decisions"]) == 1
    assert stage.status()["recommended"]["executors"] > 1
    assert stage.document()["settings"]["executors"] == 1


def test_a_stall_is_told_when_it_begins_and_when_its_reason_changes(stage: Stage) -> None:
    def die(reason: str) -> None:
        words = json.dumps({"reason": reason, "message": "m", "form": FORM})
        state = {"terminated": {"exitCode": 1, "message": words}}
        stage.run_driver(containerStatuses=[{"image": "i", "state": state}])
        stage.tick()
        stage.tick()

    for reason in ("TopicNotFound", "TopicNotFound", "KafkaDenied"):
        die(reason)
    assert [reason for reason, _ in stage.cluster.events] == ["TopicNotFound", "KafkaDenied"]
    assert stage.condition("Stalled") == ("True", "KafkaDenied")


def test_an_edit_of_the_job_deletes_that_one_driver(stage: Stage) -> None:
    uid = stage.get("Pod", "clicks-driver-0")["metadata"]["uid"]
    live = stage.get("StreamPipeline", "clicks")
    stage.cluster.put(live | {"spec": live["spec"] | {"drainTimeout": "30s"}})
    stage.tick()
    assert ("delete", ("Pod", NAMESPACE, "clicks-driver-0")) in stage.cluster.writes
    assert stage.condition("Ready") == ("False", "DriverRestarting"), "though the old one is ready"
    stage.run_driver()
    stage.tick()
    assert stage.get("Pod", "clicks-driver-0")["metadata"]["uid"] != uid
    assert stage.condition("Ready") == ("True", "QueryRunning")


@pytest.mark.parametrize("kind", ["ServiceAccount", "PersistentVolumeClaim", "RoleBinding"])
def test_a_refused_child_does_not_keep_the_others_from_being_made(kind: str) -> None:
    stage = Stage()
    stage.refuse(kind)
    stage.tick()
    stage.tick()
    assert stage.has("StatefulSet", "clicks-driver")
    assert stage.condition("Stalled") == ("True", "ChildRefused")
    (message,) = {c["message"] for c in stage.status()["conditions"] if c["type"] == "Stalled"}
    assert f"exceeded quota of {kind}" in message
    assert re.search(rf"{kind} (trimtab-driver-)?clicks\b", message)
    assert [reason for reason, _ in stage.cluster.events] == ["ChildRefused"]
    stage.refuse("")
    stage.tick()
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")


def test_a_restarted_operator_says_what_was_refused_until_it_knows_better() -> None:
    stage = Stage()
    stage.refuse("ServiceAccount")
    stage.tick()
    stage.tick()
    before = stage.status()
    stage.start_operator()
    stage.tick()
    assert stage.condition("Stalled") == ("True", "ChildRefused")
    assert stage.status() == before
    stage.refuse("")
    stage.start_operator()
    stage.tick()
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")
    assert [reason for reason, _ in stage.cluster.events] == ["ChildRefused"]


def test_a_driver_is_not_restarted_where_what_it_would_get_was_refused(stage: Stage) -> None:
    live = stage.get("StreamPipeline", "clicks")
    stage.cluster.put(live | {"spec": live["spec"] | {"drainTimeout": "30s"}})
    stage.refuse("StatefulSet")
    for _ in range(3):
        stage.tick()
    assert stage.has("Pod", "clicks-driver-0")
    stage.refuse("")
    stage.tick()
    assert not stage.has("Pod", "clicks-driver-0")


@pytest.mark.parametrize("kind", ["Service", "Job"])
def test_a_refused_child_of_a_kafka_cluster_is_told_too(kind: str) -> None:
    stage = Stage()
    stage.cluster.put(changed(example("kafka"), "topics", [{"name": "a", "partitions": 1}]))
    stage.refuse(kind)
    stage.tick()
    ready, _, stalled = stage.get("KafkaCluster", "events")["status"]["conditions"]
    assert (ready["status"], ready["reason"]) == ("False", "ChildRefused")
    assert f"exceeded quota of {kind}" in ready["message"]
    assert (stalled["status"], stalled["reason"]) == ("True", "ChildRefused")
    stage.refuse("")
    stage.tick()
    ready, _, stalled = stage.get("KafkaCluster", "events")["status"]["conditions"]
    assert (ready["reason"], stalled["status"]) == ("TopicsPending", "False")


def missing_kafka(stage: Stage) -> None:
    source = {"kafka": {"cluster": "nowhere", "topics": ["clicks"]}}
    stage.put_pipeline("broken", source=source)


def missing_module(stage: Stage) -> None:
    python = {"module": "clicks:transform", "configMap": "nowhere"}
    stage.put_pipeline("broken", transform={"python": python})


def requirements(stage: Stage, text: str | None) -> None:
    python = {"module": "clicks:transform", "requirements": {"configMap": {"name": "packages"}}}
    stage.put_pipeline("broken", transform={"python": python})
    if text is not None:
        meta = {"name": "packages", "namespace": NAMESPACE}
        data = {"requirements.txt": text}
        stage.cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})


def missing_requirements(stage: Stage) -> None:
    requirements(stage, None)


def unpinned_requirements(stage: Stage) -> None:
    requirements(stage, "geo>=1\n")


def unreadable_spec(stage: Stage) -> None:
    stage.put_pipeline("broken", goal={})


def unreadable_kafka(stage: Stage) -> None:
    spec = {"replicas": "many"}
    meta = {"name": "odd", "namespace": NAMESPACE}
    stage.cluster.put({"kind": "KafkaCluster", "metadata": meta, "spec": spec})
    stage.put_pipeline("broken", source={"kafka": {"cluster": "odd", "topics": ["clicks"]}})


def unreadable_status(stage: Stage) -> None:
    live = stage.put_pipeline("broken")
    stage.cluster.put(live | {"status": {"conditions": "none"}})


def endless_loop(stage: Stage) -> None:
    """The sink names the KafkaCluster, the source one of its addresses."""
    address = "elsewhere:9092,events-kafka-0.events-kafka.n.svc:9092"
    source = {"kafka": {"bootstrapServers": address, "topics": ["a", "clicks"]}}
    sink = {"kafka": {"cluster": "events", "topic": "clicks"}}
    stage.put_pipeline("broken", source=source, sink=sink)


def unavailable_api(stage: Stage) -> None:
    stage.put_pipeline("broken")
    get = stage.cluster.get

    def flaky(key: Key) -> Manifest | None:
        if key[0] != "ConfigMap":
            return get(key)
        stage.cluster.get = get  # type: ignore[method-assign]
        raise UnavailableError("the API server answered 503")

    stage.cluster.get = flaky  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "breaks",
    [
        missing_kafka, missing_module, missing_requirements, unpinned_requirements,
        unreadable_spec, unreadable_kafka, unreadable_status,
        endless_loop, unavailable_api,
    ],
)  # fmt: skip
def test_one_broken_pipeline_does_not_keep_the_others_waiting(breaks: Any) -> None:
    stage = Stage()
    breaks(stage)
    stage.tick()
    assert stage.has("StatefulSet", "clicks-driver")
    assert not stage.has("StatefulSet", "broken-driver")
    assert stage.document("clicks")["generation"] == 1


@pytest.mark.parametrize(
    ("breaks", "reason"),
    [
        (missing_kafka, "KafkaClusterNotFound"), (missing_module, "ModuleNotFound"),
        (missing_requirements, "RequirementsInvalid"),
        (unpinned_requirements, "RequirementsInvalid"),
        (unreadable_spec, "InvalidSpec"), (endless_loop, "InvalidSpec"),
        (unreadable_kafka, "InvalidSpec"),
    ],
)  # fmt: skip
def test_a_broken_pipeline_says_what_is_wrong(
    breaks: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage()
    breaks(stage)
    stage.tick()
    assert stage.condition("Stalled", "broken") == ("True", reason)
    assert not [record for record in caplog.records if record.exc_info]


def message(stage: Stage, kind: str, name: str, type_: str) -> str:
    found = stage.get(kind, name)["status"]["conditions"]
    return str(next(c for c in found if c["type"] == type_)["message"])


def test_requirements_are_refused_with_the_line_and_taken_once_they_are_right() -> None:
    stage = Stage()
    requirements(stage, None)
    stage.tick()
    said = message(stage, "StreamPipeline", "broken", "Stalled")
    assert said == "there is no ConfigMap 'packages' in namespace 'n'"
    requirements(stage, "# geo\n--index-url https://x/\ngeo==1.0\n")
    stage.tick()
    said = message(stage, "StreamPipeline", "broken", "Stalled")
    assert said.startswith("key 'requirements.txt' of ConfigMap 'packages': line 2: --index-url")
    assert said.endswith("; line 3: geo has no hash: write name==version --hash=sha256:...")
    requirements(stage, f"geo==1.0 --hash=sha256:{'0' * 64}\n")
    stage.tick()  # what was read of it holds for a while
    stage.clock.now_s += FETCHED_S
    stage.tick()
    assert stage.condition("Stalled", "broken") == ("False", "NotStalled")
    pod = stage.get("StatefulSet", "broken-driver")["spec"]["template"]["spec"]
    assert [first["name"] for first in pod["initContainers"]] == ["packages"]


def test_what_is_wrong_is_said_without_the_words_of_the_library() -> None:
    stage = Stage()
    stage.put_pipeline("broken", goal={}, suspend="often")
    kafka = changed(stage.get("KafkaCluster", "events"), "replicas", 9)
    stage.cluster.put(changed(kafka, "resources", {"memory": "100Mi"}))
    stage.tick()
    said = message(stage, "StreamPipeline", "broken", "Stalled")
    assert said.startswith("goal: write exactly one goal")
    assert "; suspend: " in said
    kafka_said = message(stage, "KafkaCluster", "events", "Stalled")
    assert "replicas: " in kafka_said
    assert "; resources.memory: " in kafka_said
    for text in (said, kafka_said):
        assert not re.search("pydantic|Value error|validation error|input_value", text)


def test_a_kafka_cluster_that_cannot_be_read_any_more_keeps_its_addresses(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    before = stage.get("StatefulSet", "clicks-driver")["spec"]
    stage.cluster.put(changed(stage.get("KafkaCluster", "events"), "topics", "many"))
    stage.tick()
    stage.tick()
    assert stage.condition("Ready")[0] == "True"
    assert stage.get("StatefulSet", "clicks-driver")["spec"] == before
    assert not [record for record in caplog.records if record.exc_info]


BROKEN_SPECS = [
    {"source": {"kafka": {"cluster": "nowhere", "topics": ["clicks"]}}},
    {"transform": {"python": {"module": "clicks:transform", "configMap": "nowhere"}}},
    {"goal": {}},
]


@pytest.mark.parametrize("broken", BROKEN_SPECS)
def test_suspend_stops_the_driver_while_something_is_wrong(
    stage: Stage, broken: dict[str, Any]
) -> None:
    live = stage.get("StreamPipeline", "clicks")
    good, before = live["spec"], stage.get("StatefulSet", "clicks-driver")["spec"]
    stage.cluster.put(live | {"spec": good | broken})
    stage.tick()
    assert stage.get("StatefulSet", "clicks-driver")["spec"]["replicas"] == 1
    live = stage.get("StreamPipeline", "clicks")
    stage.cluster.put(live | {"spec": good | broken | {"suspend": True}})
    stage.tick()
    assert stage.get("StatefulSet", "clicks-driver")["spec"] == before | {"replicas": 0}
    assert stage.condition("Suspended") == ("True", "Suspended")
    assert stage.condition("Stalled")[0] == "True"
    stage.tick()
    assert stage.cluster.writes == []
    stage.cluster.put(stage.get("StreamPipeline", "clicks") | {"spec": good})
    stage.tick()
    assert stage.get("StatefulSet", "clicks-driver")["spec"]["replicas"] == 1


def test_a_kafka_cluster_with_an_invalid_spec_keeps_no_pipeline_from_being_served(
    stage: Stage,
) -> None:
    kafka = stage.get("KafkaCluster", "events")
    stage.cluster.put(kafka | {"spec": kafka["spec"] | {"replicas": "three"}})
    stage.see(series("clicks", stage.clock.now_s + 10))
    stage.tick()
    stage.tick()
    assert stage.condition("Ready") == ("True", "QueryRunning")
    assert stage.condition("MetricsAvailable")[0] == "True"
    assert stage.cluster.writes == []
    live = stage.get("KafkaCluster", "events")
    stage.cluster.put(live | {"status": {}})
    stage.put_pipeline("other")
    stage.loop.resync()
    stage.loop.tick()
    assert stage.condition("Stalled", "other") == ("True", "InvalidSpec")


def test_suspend_makes_no_driver_while_something_is_wrong() -> None:
    stage = Stage()
    stage.put_pipeline("broken", goal={}, suspend=True)
    stage.tick()
    assert not stage.has("StatefulSet", "broken-driver")


@pytest.mark.parametrize("controller", [{"settings": {}}, {"generation": 1}, {"generation": "x"}])
def test_a_memory_that_does_not_read_is_begun_anew(
    stage: Stage, controller: Any, caplog: pytest.LogCaptureFixture
) -> None:
    live = stage.get("StreamPipeline", "clicks")
    stage.cluster.put(live | {"status": live["status"] | {"controller": controller}})
    with caplog.at_level(logging.WARNING):
        stage.tick()
    assert "status.controller is unreadable" in caplog.text
    assert stage.status()["controller"]["generation"] == stage.document()["generation"] == 2


def test_other_topics_need_a_new_checkpoint_generation(stage: Stage) -> None:
    live = stage.get("StreamPipeline", "clicks")
    source = {"kafka": live["spec"]["source"]["kafka"] | {"topics": ["other"]}}
    changed = live["spec"] | {"source": source}
    stage.cluster.put(live | {"spec": changed})
    stage.tick()
    assert stage.condition("Stalled") == ("True", "CheckpointIncompatible")
    assert stage.has("Pod", "clicks-driver-0"), "the old query goes on"
    live = stage.get("StreamPipeline", "clicks")
    stage.cluster.put(live | {"spec": changed | {"checkpoint": {"generation": 2}}})
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")


def test_a_generation_is_not_lowered(stage: Stage) -> None:
    stage.edit("checkpoint", {"generation": 3})
    stage.tick()
    stage.tick()
    stage.edit("checkpoint", {"generation": 2})
    stage.tick()
    assert stage.condition("Stalled") == ("True", "CheckpointIncompatible")
    live = stage.status()
    (words,) = (c["message"] for c in live["conditions"] if c["type"] == "Stalled")
    assert "cannot be lowered to 2" in words
    stage.edit("checkpoint", {"generation": 3})
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")


def test_another_address_or_sink_keeps_the_checkpoint(stage: Stage) -> None:
    stage.edit("sink.kafka.topic", "elsewhere")
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")
    said = [message for reason, message in stage.cluster.events if reason == "SinkChanged"]
    assert len(said) == 1
    assert "goes to topic elsewhere of events" in said[0]
    stage.tick()
    assert len([reason for reason, _ in stage.cluster.events if reason == "SinkChanged"]) == 1
    stage.edit("source.kafka", {"bootstrapServers": "b:9093,a:9093", "topics": ["clicks"]})
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")


def test_the_identity_of_an_older_operator_is_taken_and_replaced(stage: Stage) -> None:
    claim = stage.get("PersistentVolumeClaim", "clicks-checkpoint")
    claim["metadata"]["annotations"] |= {
        "trimtab.dev/checkpoint-identity": "1:0123456789", "trimtab.dev/applied-hash": "older",
    }  # fmt: skip
    stage.cluster.put(claim)
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")
    held = stage.get("PersistentVolumeClaim", "clicks-checkpoint")["metadata"]["annotations"]
    assert held["trimtab.dev/checkpoint-identity"].startswith("1:2:")


def test_a_position_beyond_the_end_stalls(stage: Stage) -> None:
    stage.see(series("clicks", stage.clock.now_s + 10, partitions_beyond_end=2.0))
    stage.tick()
    assert stage.condition("Stalled") == ("True", "PositionBeyondEnd")
    assert stage.condition("Ready") == ("False", "PositionBeyondEnd")


def test_a_claim_of_another_access_mode_is_not_taken(stage: Stage) -> None:
    shared = {"volumeClaim": {"shared": True}}
    stage.edit("checkpoint", shared)
    stage.tick()
    assert stage.condition("Stalled") == ("True", "CheckpointIncompatible")
    live = stage.get("StreamPipeline", "clicks")
    (words,) = (c["message"] for c in live["status"]["conditions"] if c["type"] == "Stalled")
    assert "is ReadWriteOnce" in words
    assert stage.has("Pod", "clicks-driver-0"), "the old query goes on"
    stage.edit("checkpoint", {"volumeClaim": {}})
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")


def test_a_claim_keeps_the_class_that_the_spec_does_not_name_any_more(stage: Stage) -> None:
    stage.edit("checkpoint", {"volumeClaim": {"storageClassName": "standard"}})
    stage.tick()
    stage.edit("checkpoint", {"volumeClaim": {}})
    stage.tick()
    claim = stage.get("PersistentVolumeClaim", "clicks-checkpoint")
    assert claim["spec"]["storageClassName"] == "standard", "a claim cannot give it back"
    assert stage.condition("Stalled") == ("False", "NotStalled")


def test_a_checkpoint_under_a_uri_goes_on_only_with_what_it_began_with(stage: Stage) -> None:
    stage.edit("checkpoint", {"uri": "s3a://bucket/path", "generation": 2})
    stage.tick()
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")
    stage.edit("sink.outputMode", "update")
    stage.tick()
    assert stage.condition("Stalled") == ("True", "CheckpointIncompatible")
    stage.edit("checkpoint.generation", 3)
    stage.tick()
    assert stage.condition("Stalled") == ("False", "NotStalled")


def test_without_metrics_nothing_moves_and_it_is_said(stage: Stage) -> None:
    stage.overload(6)
    stage.tick()
    stage.metrics.failure = "Prometheus did not answer"
    for _ in range(3):
        stage.tick()
    assert stage.document()["generation"] == 1
    assert stage.condition("MetricsAvailable") == ("False", "NoMetrics")
    assert stage.condition("Tuning") == ("False", "NoMetrics")


def test_series_of_another_pod_are_counted_and_told(stage: Stage) -> None:
    stage.see(series("clicks", stage.clock.now_s + 10, instance="10.0.0.9:9400"))
    stage.tick()
    assert stage.condition("MetricsAvailable") == ("False", "NoMetrics")
    words = next(c for c in stage.status()["conditions"] if c["type"] == "MetricsAvailable")
    assert "none of its driver's pod" in words["message"]
    assert stage.telemetry.unread["other_pod"] > 30


def test_why_there_are_no_metrics_is_told_anew_but_not_its_numbers(stage: Stage) -> None:
    def told(failure: str) -> str:
        stage.metrics.failure = failure
        stage.tick()
        conditions = stage.status()["conditions"]
        return str(next(c["message"] for c in conditions if c["type"] == "MetricsAvailable"))

    assert told("Prometheus answered 502 in 12 s") == "Prometheus answered 502 in 12 s"
    assert told("Prometheus answered 502 in 13 s") == "Prometheus answered 502 in 12 s"
    assert stage.cluster.writes == []
    assert told("Prometheus did not answer") == "Prometheus did not answer"


def test_an_old_heartbeat_is_told_apart_from_a_prometheus_that_is_away(stage: Stage) -> None:
    stage.see(series("clicks", stage.clock.now_s))
    for _ in range(3):
        stage.tick()
    for type_ in ("MetricsAvailable", "Tuning"):
        assert stage.condition(type_) == ("False", "MetricsStale")
    (words,) = {
        c["message"] for c in stage.status()["conditions"] if c["type"] == "MetricsAvailable"
    }
    assert "heartbeat" in words
    stage.metrics.failure = "Prometheus did not answer"
    stage.tick()
    for type_ in ("MetricsAvailable", "Tuning"):
        assert stage.condition(type_) == ("False", "NoMetrics")


def test_a_clamp_does_not_hide_that_metrics_are_stale(stage: Stage) -> None:
    stage.see(series("clicks", stage.clock.now_s - 60))
    live = stage.get("StreamPipeline", "clicks")
    limits = {"executors": {"min": 3, "max": 5}}
    stage.cluster.put(live | {"spec": live["spec"] | {"limits": limits}})
    stage.tick()
    assert stage.condition("Tuning") == ("True", "Clamped")
    assert stage.condition("MetricsAvailable") == ("False", "MetricsStale")


def test_the_modules_are_read_every_half_a_minute_and_not_each_tick() -> None:
    stage = Stage("a", "b")
    stage.tick()
    asked = count_gets(stage)
    for _ in range(6):
        stage.tick()
    assert asked == [("ConfigMap", NAMESPACE, "clicks-transform")] * 2
    inputs = stage.get("StatefulSet", "a-driver")["spec"]["template"]["metadata"]
    modules = stage.get("ConfigMap", "clicks-transform")
    stage.cluster.put(modules | {"data": {"clicks.py": "other"}})
    for _ in range(3):
        stage.tick()
    assert stage.get("StatefulSet", "a-driver")["spec"]["template"]["metadata"] != inputs


def test_modules_that_are_missing_are_asked_for_each_tick(stage: Stage) -> None:
    missing_module(stage)
    stage.tick()
    modules = {"kind": "ConfigMap", "metadata": {"name": "nowhere", "namespace": NAMESPACE}}
    stage.cluster.put(modules | {"data": {}})
    stage.tick()
    assert stage.condition("Stalled", "broken") == ("False", "NotStalled")


def count_gets(stage: Stage) -> list[Key]:
    get, asked = stage.cluster.get, []

    def counting(key: Key) -> Manifest | None:
        asked.append(key)
        return get(key)

    stage.cluster.get = counting  # type: ignore[method-assign]
    return asked


def test_load_and_capacity_are_news_only_when_their_case_changes(stage: Stage) -> None:
    stage.running()
    for load in (0.6, 0.7, 0.6):
        stage.see(series("clicks", stage.clock.now_s + 10, executor_load=load))
        stage.tick()
    assert stage.status()["executors"]["case"] == "LoadHighCapacityLow"
    stage.see(series("clicks", stage.clock.now_s + 10, executor_load=0.9))
    stage.tick()
    assert stage.cluster.writes == []
    stage.see(series("clicks", stage.clock.now_s + 10, executor_load=0.2))
    stage.tick()
    assert stage.status()["executors"] == {
        "load": "0.20", "capacity": "0.40", "case": "LoadLowCapacityLow",
    }  # fmt: skip


def test_records_that_the_sink_lacks_are_told_once(stage: Stage) -> None:
    stage.running()
    for missing in (0, 5, 5):
        stage.see(series("clicks", stage.clock.now_s + 10, missing_records=float(missing)))
        stage.tick()
    assert stage.status()["ledger"] == {"missing": 5}
    (told,) = [words for reason, words in stage.cluster.events if reason == "RecordsMissing"]
    assert told.startswith("5 records of committed batches are not in the sink")


def test_a_mismatch_of_the_ledger_is_told_once(stage: Stage) -> None:
    stage.running()
    for mismatches in (0, 3, 3):
        stage.see(series("clicks", stage.clock.now_s + 10, ledger_mismatch_total=float(mismatches)))
        stage.tick()
    assert stage.status()["ledger"] == {"mismatches": 3}
    told = [words for reason, words in stage.cluster.events if reason == "LedgerMismatch"]
    assert len(told) == 1
    assert "3 more records" in told[0]
