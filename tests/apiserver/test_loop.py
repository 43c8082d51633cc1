"""The operator's loop against a real API server; driver and metrics are played by the test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.apiserver.conftest import example
from tests.bounds import IDENTITY
from tests.unit.workloads.test_network import NARROWED
from tests.unit.workloads.test_pods import AFFINITY, TEMPLATE

from trimtab.adapters.kubernetes import KubernetesCluster
from trimtab.adapters.memory import ManualClock, MemoryMetrics, MemoryTelemetry
from trimtab.api.network import NetworkSettings
from trimtab.cli import main
from trimtab.ports import Sample
from trimtab.reconcile.loop import ControlLoop
from trimtab.reconcile.observe.queries import queries
from trimtab.settings import OperatorSettings

POLICIES = ("clicks-driver", "clicks-executor", "events-kafka")
pytestmark = pytest.mark.apiserver
SCRAPE_S = 5.0
ENOUGH = 6
"""Executors of two slots that read the 12 partitions of the overload in one wave of tasks."""


class Stage:
    """One namespace with the quickstart in it, and the loop that watches it."""

    def __init__(self, kubectl: Any, kubeconfig: Path, namespace: str) -> None:
        self.kubectl, self.kubeconfig, self.namespace = kubectl, kubeconfig, namespace
        self.clock, self.metrics = ManualClock(1_800_000_000.0), MemoryMetrics()
        self.telemetry = MemoryTelemetry()
        # no controller makes it here, and the brokers' pods run under it
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        self.apply(account)
        for name in ("kafka", "transform"):
            self.apply(example(name))
        pipeline = example("pipeline")
        pipeline["spec"]["limits"]["executors"] = {"min": 1, "max": 8}
        self.apply(pipeline)
        self.start_operator()

    def start_operator(
        self, network: NetworkSettings | None = NARROWED, kafka_image: str = "kafka:1"
    ) -> None:
        """A new operator process, as far as the loop can tell."""
        config = OperatorSettings(
            "pipeline:1", kafka_image, "http://prometheus", namespaces=(self.namespace,),
            network=network,
        )  # fmt: skip
        cluster = KubernetesCluster((self.namespace,), self.clock, str(self.kubeconfig))
        self.loop = ControlLoop(cluster, self.metrics, self.telemetry, self.clock, config)

    def apply(self, manifest: dict[str, Any]) -> None:
        self.kubectl("apply", "-n", self.namespace, "-f", "-", manifest=manifest)

    def tick(self, count: int = 1) -> None:
        for _ in range(count):
            self.clock.now_s += 10
            self.loop.resync()
            self.loop.tick()

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """An object; `clicks-job` stands for the job document in force, whose name has a hash."""
        if name == "clicks-job":
            pod = self.get("statefulset", "clicks-driver")["spec"]["template"]["spec"]
            name = next(v["configMap"]["name"] for v in pod["volumes"] if v["name"] == "job")
        text = self.kubectl("get", kind, name, "-n", self.namespace, "-o", "json").stdout
        found: dict[str, Any] = json.loads(text)
        return found

    def condition(self, type_: str) -> dict[str, Any]:
        conditions = self.get("spl", "clicks")["status"]["conditions"]
        return next(c for c in conditions if c["type"] == type_)

    def settings(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(
            self.get("configmap", "clicks-tuning")["data"]["settings.json"]
        )
        return document

    def brokers_seen(self) -> str:
        """Play the StatefulSet controller that takes notice of the template; returns a revision."""
        made = self.get("statefulset", "events-kafka")["metadata"]["generation"]
        status = {"replicas": 1, "observedGeneration": made, "updateRevision": f"r{made}"}
        self.kubectl(
            "patch", "statefulset", "events-kafka", "-n", self.namespace, "--subresource=status",
            "--type=merge", "-p", json.dumps({"status": status}),
        )  # fmt: skip
        return f"r{made}"

    def kafka_runs(self) -> None:
        """Play the controllers that make brokers ready and jobs succeed."""
        self.pod_runs("events-kafka-0", self.brokers_seen())
        self.tick()
        jobs = self.kubectl("get", "jobs", "-n", self.namespace, "-o", "name").stdout.split()
        done = {"type": "SuccessCriteriaMet", "status": "True", "reason": "x", "message": "x",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
        status = {"succeeded": 1, "conditions": [done, done | {"type": "Complete"}],
                  "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:01Z",
                  "uncountedTerminatedPods": {}}  # fmt: skip
        self.kubectl(
            "patch", jobs[0], "-n", self.namespace, "--subresource=status", "--type=merge",
            "-p", json.dumps({"status": status}),
        )  # fmt: skip
        self.tick()

    def driver_runs(self) -> None:
        """The driver's pod is there, and ready."""
        self.kafka_runs()
        self.pod_runs("clicks-driver-0")

    def pod_runs(self, name: str, revision: str = "r1") -> None:
        """Make the pod that the StatefulSet controller would make, and call it ready."""
        made_by = self.get("statefulset", name.rpartition("-")[0])
        template = made_by["spec"]["template"]
        controller = {"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True}
        controller |= {k: made_by["metadata"][k] for k in ("name", "uid")}
        labels = template["metadata"]["labels"] | {"controller-revision-hash": revision}
        known = {"name": name, "ownerReferences": [controller], "labels": labels}
        claims = [
            {"name": volume, "persistentVolumeClaim": {"claimName": f"{volume}-{name}"}}
            for each in made_by["spec"].get("volumeClaimTemplates", ())
            for volume in (each["metadata"]["name"],)
        ]
        pod = {
            "apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"] | known,
            "spec": template["spec"] | {"volumes": [*template["spec"]["volumes"], *claims]},
        }  # fmt: skip
        self.apply(pod)
        ready = [{"type": "Ready", "status": "True"}]
        self.kubectl(
            "patch", "pod", name, "-n", self.namespace, "--subresource=status",
            "-p", json.dumps({"status": {"phase": "Running", "conditions": ready}}),
        )  # fmt: skip

    def see(self, **values: float) -> None:
        """Metrics as Prometheus would give them."""
        labels = {"namespace": self.namespace, "pipeline": "clicks", "pod": "clicks-driver-0"}
        known = {
            "heartbeat_timestamp_seconds": self.clock.now_s + 9, "run_number": 1,
            "batch_committed_timestamp_seconds": self.clock.now_s, "batches_total": 9,
            "batch_replayed": 0, "batch_running_seconds": 0,
        } | {k: v for k, v in values.items() if k.startswith(("batch", "settings"))}  # fmt: skip
        gauges = [Sample({**labels, "__name__": f"trimtab_{k}"}, v) for k, v in known.items()]
        for phase, seconds in (("total", values["duration"]), ("wal", 0.1)):
            name = {"__name__": "trimtab_batch_duration_seconds", "phase": phase}
            gauges.append(Sample({**labels, **name}, seconds))
        name = {"__name__": "trimtab_batch_record_latency_seconds", "quantile": "0.95"}
        gauges.append(Sample({**labels, **name}, values["p95"]))
        for state in ("running", "requested"):
            name = {"__name__": "trimtab_executors", "state": state}
            gauges.append(Sample({**labels, **name}, values["executors"]))
        rest = {
            "input_rate": values["rate"], "input_rate_long": values["rate"],
            "partitions": values.get("partitions", 12),
            "lag_records": values["lag"], "lag_s": 1.0, "gauges": 0,
        }  # fmt: skip
        asked = queries(SCRAPE_S)
        self.metrics.answers = {asked[k]: [Sample(labels, v)] for k, v in rest.items()} | {
            asked["gauges"]: gauges
        }


@pytest.fixture
def stage(kubectl: Any, kubeconfig: Path, namespace: str) -> Stage:
    return Stage(kubectl, kubeconfig, namespace)


def overload(stage: Stage, batch: int) -> None:
    stage.see(
        batch_id=batch, batch_records=2500, duration=20.0, batch_executors_min=1, executors=1,
        batch_settings_generation=1, settings_generation=1, settings_rejected_generation=0,
        p95=25.0, rate=280, lag=4000,
    )  # fmt: skip


def test_the_driver_is_not_made_before_its_kafka_is_ready(stage: Stage) -> None:
    stage.tick(2)
    sets = stage.kubectl("get", "statefulsets", "-n", stage.namespace, "-o", "name").stdout.split()
    assert sets == ["statefulset.apps/events-kafka"]
    assert stage.condition("Ready")["reason"] == "KafkaClusterNotReady"
    assert stage.condition("Stalled")["status"] == "False"


def test_children_are_made_and_a_quiet_tick_writes_nothing(stage: Stage) -> None:
    stage.tick(2)
    stage.kafka_runs()
    for kind, name in (
        ("statefulset", "events-kafka"), ("service", "events-kafka"),
        ("configmap", "clicks-job"),
        ("configmap", "clicks-tuning"), ("statefulset", "clicks-driver"),
        ("pvc", "clicks-checkpoint"),
        ("role", "trimtab-driver-clicks"), ("rolebinding", "trimtab-driver-clicks"),
        ("sa", "trimtab-driver-clicks"), ("sa", "trimtab-executor-clicks"),
        *(("netpol", name) for name in POLICIES),
    ):  # fmt: skip
        owners = stage.get(kind, name)["metadata"].get("ownerReferences", [])
        assert bool(owners) == (name != "clicks-checkpoint"), (kind, name)
    assert stage.settings()["settings"] == {
        "executors": 1, "trigger": "10s", "maxOffsetsPerTrigger": 2500,
    }  # fmt: skip
    stage.tick(2)
    assert stage.telemetry.ticks[-1]["writes"] == 0


def test_the_whole_way_from_overload_to_settings(stage: Stage) -> None:
    stage.tick(2)
    stage.driver_runs()
    stage.tick()
    assert stage.condition("Ready")["status"] == "True"
    for batch in (5, 6, 7):
        overload(stage, batch)
        stage.tick()
    document = stage.settings()
    assert document["generation"] == 2
    assert document["settings"]["executors"] == ENOUGH
    status = stage.get("spl", "clicks")["status"]
    assert status["decisions"][-1]["reason"] == "ExecutorsRaised"
    assert status["goal"] == {"target": "p95 15s", "observed": "25s"}
    assert stage.condition("GoalMet")["status"] == "False"
    events = stage.kubectl("get", "events", "-n", stage.namespace, "-o", "name").stdout
    assert events


def test_a_topic_is_raised_by_its_cluster_and_both_specs_stay(
    stage: Stage, pipeline: dict[str, Any], kafka: dict[str, Any]
) -> None:
    for topic in kafka["spec"]["topics"]:
        topic["partitions"] = 2
    stage.kubectl("delete", "tkc", "events", "-n", stage.namespace)  # or they cannot be fewer
    stage.apply(kafka)
    pipeline["spec"]["limits"] = {"executors": {"min": 1, "max": 8}, "topicPartitions": 32}
    pipeline["spec"]["tuning"]["initial"] = {"executors": 2, "trigger": "5s"}
    stage.apply(pipeline)
    stage.tick(2)
    stage.driver_runs()
    stage.tick()
    objects = (("spl", "clicks"), ("tkc", "events"))
    before = [stage.get(kind, name)["spec"] for kind, name in objects]
    for batch in range(5, 11):
        stage.see(
            batch_id=batch, batch_records=1400, duration=12.0, batch_executors_min=2, executors=2,
            batch_settings_generation=1, settings_generation=1, settings_rejected_generation=0,
            p95=25.0, rate=280, lag=2800, partitions=2,
        )  # fmt: skip
        stage.tick()
    wish = stage.get("spl", "clicks")["status"]["controller"]["settings"]["topic_partitions"]
    assert wish >= 8
    assert "topicPartitions" not in stage.settings()["settings"]
    stage.kafka_runs()
    raised = stage.get("tkc", "events")["status"]["raised"]
    assert raised == [{"name": "clicks", "partitions": wish}]
    assert stage.get("spl", "clicks")["status"]["partitionsAdvice"]["partitions"] == wish
    assert [stage.get(kind, name)["spec"] for kind, name in objects] == before


def test_a_killed_operator_goes_on_from_the_status(stage: Stage) -> None:
    stage.tick(2)
    stage.driver_runs()
    stage.tick()
    overload(stage, 5)
    stage.tick()
    stage.start_operator()
    overload(stage, 6)
    stage.tick()
    stage.start_operator()
    stage.tick()
    assert stage.settings()["settings"]["executors"] == ENOUGH
    assert len(stage.get("spl", "clicks")["status"]["decisions"]) == 1


def test_a_crash_between_status_and_document_loses_nothing(stage: Stage) -> None:
    stage.tick(2)
    stage.driver_runs()
    for batch in (5, 6, 7):
        overload(stage, batch)
        stage.tick()
    stage.kubectl("delete", "configmap", "clicks-tuning", "-n", stage.namespace)
    stage.start_operator()
    stage.tick()
    assert stage.settings()["settings"]["executors"] == ENOUGH


def test_without_metrics_nothing_moves(stage: Stage) -> None:
    stage.tick(2)
    stage.driver_runs()
    stage.tick()
    overload(stage, 5)
    stage.tick()
    before = stage.settings()
    stage.metrics.failure = "Prometheus at http://prometheus did not answer: timed out"
    stage.tick(5)
    assert stage.settings() == before
    condition = stage.condition("MetricsAvailable")
    assert condition["status"] == "False"
    assert "did not answer" in condition["message"]


def test_a_missing_kafka_cluster_stalls_and_heals(stage: Stage, kafka: dict[str, Any]) -> None:
    stage.kubectl("delete", "tkc", "events", "-n", stage.namespace)
    stage.tick()
    assert stage.condition("Stalled")["reason"] == "KafkaClusterNotFound"
    stage.apply(kafka)
    stage.tick()
    assert stage.condition("Stalled")["status"] == "False"


def test_goal_and_limits_restart_nothing_but_sql_does(
    stage: Stage, pipeline: dict[str, Any]
) -> None:
    stage.tick(2)
    stage.driver_runs()
    stage.tick()
    uid = stage.get("pod", "clicks-driver-0")["metadata"]["uid"]
    pipeline["spec"]["goal"]["latency"]["target"] = "20s"
    pipeline["spec"]["limits"]["executors"]["max"] = 3
    stage.apply(pipeline)
    stage.tick(2)
    assert stage.get("pod", "clicks-driver-0")["metadata"]["uid"] == uid
    assert stage.condition("Ready")["status"] == "True"
    pipeline["spec"]["transform"] = {"sql": "SELECT key, value FROM source"}
    stage.apply(pipeline)
    stage.tick(2)
    gone = stage.kubectl(
        "get", "pod", "clicks-driver-0", "-n", stage.namespace, "-o", "json", check=False
    )
    assert gone.returncode or "deletionTimestamp" in json.loads(gone.stdout)["metadata"]
    assert stage.condition("Reconciling")["status"] == "True"


def test_source_options_reach_the_running_driver_by_a_new_generation(
    stage: Stage, pipeline: dict[str, Any]
) -> None:
    stage.tick(2)
    stage.driver_runs()
    stage.tick()
    before, pod = stage.get("statefulset", "clicks-driver"), stage.get("pod", "clicks-driver-0")
    assert stage.settings()["source"] == {"startingOffsets": "earliest", "failOnDataLoss": True}
    pipeline["spec"]["source"]["kafka"] |= {"startingOffsets": "latest", "failOnDataLoss": False}
    stage.apply(pipeline)
    stage.tick()
    stage.start_operator()
    stage.tick(2)
    assert stage.settings()["source"] == {"startingOffsets": "latest", "failOnDataLoss": False}
    assert stage.settings()["generation"] == 2
    assert stage.get("spl", "clicks")["status"]["controller"]["generation"] == 2
    assert stage.get("spl", "clicks")["status"].get("decisions", []) == []
    assert stage.get("statefulset", "clicks-driver")["spec"] == before["spec"]
    assert stage.get("pod", "clicks-driver-0")["metadata"]["uid"] == pod["metadata"]["uid"]


def test_other_topics_need_a_new_checkpoint(stage: Stage, pipeline: dict[str, Any]) -> None:
    stage.tick(2)
    stage.kafka_runs()
    pipeline["spec"]["source"]["kafka"]["topics"] = ["other"]
    stage.apply(pipeline)
    stage.tick()
    assert stage.condition("Stalled")["reason"] == "CheckpointIncompatible"
    pipeline["spec"]["checkpoint"] = {"generation": 2}
    stage.apply(pipeline)
    stage.tick()
    assert stage.condition("Stalled")["status"] == "False"
    job = json.loads(stage.get("configmap", "clicks-job")["data"]["job.json"])
    assert "/g2/" in job["checkpointUri"]


def test_a_pin_moves_the_knob_and_holds_it(stage: Stage, pipeline: dict[str, Any]) -> None:
    stage.tick(2)
    stage.driver_runs()
    stage.tick()
    pipeline["spec"]["tuning"]["pinned"] = {"executors": 2}
    stage.apply(pipeline)
    stage.tick(2)
    assert stage.settings()["settings"]["executors"] == 2
    assert stage.get("spl", "clicks")["status"]["decisions"][-1]["reason"] == "Clamped"


def test_a_refused_child_is_told_and_heals(stage: Stage, pipeline: dict[str, Any]) -> None:
    stage.tick(2)
    stage.kafka_runs()
    pipeline["spec"]["drainTimeout"] = "30s"
    pipeline["spec"]["checkpoint"] = {"volumeClaim": {"size": "2Gi"}}  # an unbound one cannot grow
    stage.apply(pipeline)
    stage.tick(2)
    stalled = stage.condition("Stalled")
    assert stalled["reason"] == "ChildRefused"
    assert stalled["message"].startswith("PersistentVolumeClaim clicks-checkpoint: the API server")
    assert "immutable" in stalled["message"]
    job = json.loads(stage.get("configmap", "clicks-job")["data"]["job.json"])
    assert job["drainTimeout"] == "30s"
    del pipeline["spec"]["checkpoint"]
    stage.apply(pipeline)
    stage.tick(2)
    assert stage.condition("Stalled")["status"] == "False"


def test_objects_that_have_childrens_names_stay_as_they_are(stage: Stage) -> None:
    account = "trimtab-driver-clicks"
    names = {"ConfigMap": "clicks-tuning", "ServiceAccount": account, "Role": account}
    groups = {"Role": "rbac.authorization.k8s.io/v1"}
    for kind, name in names.items():
        meta = {"metadata": {"name": name}}
        stage.apply({"apiVersion": groups.get(kind, "v1"), "kind": kind} | meta)
    for kind, name in names.items():
        before = stage.get(kind, name)
        stage.tick(2)
        assert stage.get(kind, name) == before
        assert stage.condition("Stalled")["reason"] == "NameTaken"
        assert f"{kind} {name} exists" in stage.condition("Stalled")["message"]
        stage.kubectl("delete", kind, name, "-n", stage.namespace)
    stage.tick(2)
    assert stage.condition("Stalled")["status"] == "False"
    assert stage.get("Role", "trimtab-driver-clicks")["rules"]


def test_accounts_have_the_annotations_of_the_spec_and_lose_them_with_it(
    stage: Stage, pipeline: dict[str, Any]
) -> None:
    def annotations(name: str) -> dict[str, str]:
        found: dict[str, str] = stage.get("serviceaccount", name)["metadata"]["annotations"]
        return {k: v for k, v in found.items() if not k.startswith("trimtab.dev/")}

    names = ("trimtab-driver-clicks", "trimtab-executor-clicks")
    stage.tick(2)
    stage.kafka_runs()
    pipeline["spec"]["serviceAccount"] = IDENTITY
    stage.apply(pipeline)
    stage.tick(2)
    for name in names:
        assert annotations(name) == IDENTITY["annotations"]
        stage.kubectl("annotate", "sa", name, "team=data", "-n", stage.namespace)
    before = stage.get("statefulset", "clicks-driver")["spec"]["template"]["metadata"]
    del pipeline["spec"]["serviceAccount"]
    stage.apply(pipeline)
    stage.tick(2)
    for name in names:
        assert annotations(name) == {"team": "data"}, "those of others stay"
    after = stage.get("statefulset", "clicks-driver")["spec"]["template"]["metadata"]
    assert before["annotations"] != after["annotations"], "the driver starts again"


def test_what_others_change_is_put_back(stage: Stage) -> None:
    stage.tick(2)
    stage.driver_runs()
    stage.tick()
    kinds = (
        ("statefulset", "clicks-driver"), ("role", "trimtab-driver-clicks"),
        *(("netpol", name) for name in POLICIES),
    )  # fmt: skip
    before = [lasting(stage.get(kind, name)) for kind, name in kinds]
    namespace = ("-n", stage.namespace)
    stage.kubectl("scale", "statefulset", "clicks-driver", "--replicas=2", *namespace)
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    for (kind, name), path, value in (
        (kinds[1], "/rules/-", rule),
        (kinds[0], "/spec/template/spec/containers/-", {"name": "miner", "image": "miner:1"}),
        (kinds[0], "/spec/template/spec/hostNetwork", True),
        (kinds[0], "/spec/template/spec/containers/0/env/-", {"name": "OTHER", "value": "1"}),
        (kinds[2], "/spec/ingress/-", {}),
        (kinds[3], "/spec/podSelector/matchLabels/no", "pod"),
        (kinds[4], "/spec/ingress/1/ports/-", {"port": 9999}),
    ):
        patch = json.dumps([{"op": "add", "path": path, "value": value}])
        stage.kubectl("patch", kind, name, *namespace, "--type=json", "-p", patch)
    patch = '[{"op": "remove", "path": "/spec/template/spec/containers/0/readinessProbe"}]'
    stage.kubectl("patch", "statefulset", "clicks-driver", *namespace, "--type=json", "-p", patch)
    assert [lasting(stage.get(kind, name)) for kind, name in kinds] != before
    deleted = (
        ("serviceaccount", "trimtab-executor-clicks"), ("rolebinding", "trimtab-driver-clicks"),
    )  # fmt: skip
    for kind, name in deleted:
        stage.kubectl("delete", kind, name, *namespace)
    stage.tick()
    assert all(stage.get(kind, name) for kind, name in deleted)
    assert [lasting(stage.get(kind, name)) for kind, name in kinds] == before
    stage.tick(2)
    assert stage.telemetry.ticks[-1]["writes"] == 0


def test_network_policies_go_when_they_are_turned_off(stage: Stage) -> None:
    stage.tick(2)
    stage.kafka_runs()
    for name in POLICIES:
        assert stage.get("netpol", name)["spec"]["podSelector"]
    stage.start_operator(network=None)
    stage.tick()
    left = stage.kubectl("get", "netpol", "-n", stage.namespace, "-o", "name").stdout
    assert left == ""
    stage.tick(2)
    assert stage.telemetry.ticks[-1]["writes"] == 0


def lasting(manifest: dict[str, Any]) -> dict[str, Any]:
    """The object without what changes with each write."""
    passing = {"resourceVersion", "managedFields", "generation"}
    meta = {k: v for k, v in manifest["metadata"].items() if k not in passing}
    return {k: v for k, v in manifest.items() if k != "status"} | {"metadata": meta}


def test_suspend_stops_the_driver_of_a_pipeline_whose_kafka_is_missing(
    stage: Stage, pipeline: dict[str, Any], kafka: dict[str, Any]
) -> None:
    stage.tick(2)
    stage.driver_runs()
    before = stage.get("statefulset", "clicks-driver")["spec"]
    stage.kubectl("delete", "tkc", "events", "-n", stage.namespace)
    pipeline["spec"]["suspend"] = True
    stage.apply(pipeline)
    stage.tick()
    assert stage.get("statefulset", "clicks-driver")["spec"] == before | {"replicas": 0}
    assert stage.condition("Stalled")["reason"] == "KafkaClusterNotFound"
    assert stage.condition("Suspended")["status"] == "True"
    stage.apply(kafka)
    pipeline["spec"]["suspend"] = False
    stage.apply(pipeline)
    stage.tick(2)
    assert stage.get("statefulset", "clicks-driver")["spec"] == before


def test_what_is_added_to_pods_is_taken_and_stays(
    stage: Stage, pipeline: dict[str, Any], kafka: dict[str, Any]
) -> None:
    meta = {"name": TEMPLATE["priorityClassName"]}
    stage.apply(
        {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta,
            "value": 1000,
        }
    )  # fmt: skip
    pipeline["spec"]["podTemplate"] = kafka["spec"]["podTemplate"] = TEMPLATE
    stage.apply(kafka)
    stage.apply(pipeline)
    stage.tick(2)
    stage.kafka_runs()
    stage.tick(2)
    for name in ("clicks-driver", "events-kafka"):
        template = stage.get("statefulset", name)["spec"]["template"]
        assert template["spec"]["affinity"] == AFFINITY
        assert template["metadata"]["labels"].items() >= TEMPLATE["labels"].items()
    assert stage.condition("Stalled")["status"] == "False"
    assert stage.telemetry.ticks[-1]["writes"] == 0
    job = stage.get("configmap", "clicks-job")["data"]["job.json"]
    assert json.loads(job)["executors"]["podTemplate"]["priorityClassName"] == "high"


def test_explain_reads_through_the_kubeconfig(stage: Stage) -> None:
    stage.tick(2)

    def explain(*arguments: str) -> Result:
        config = ("--kubeconfig", str(stage.kubeconfig))
        return CliRunner().invoke(main, ["explain", *arguments, *config])

    found = explain("clicks", "-n", stage.namespace)
    assert found.exit_code == 0, found.output
    assert f"StreamPipeline {stage.namespace}/clicks" in found.output
    assert "p95 15s" in found.output
    missing = explain("clicks")
    assert missing.exit_code == 1
    assert "there is no StreamPipeline 'clicks' in namespace 'default'" in missing.output
