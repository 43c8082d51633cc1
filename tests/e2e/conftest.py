"""The real thing: our own cluster, the operator by Helm, a Kafka, Spark drivers and executors.

Each file has a namespace and a Kafka of its own, so that files can run side by side (`-n 2 --dist
loadfile`). They share the cluster, which whoever comes first boots, its operator and its
Prometheus.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest
import yaml
from dev.demo import deploy, load
from dev.demo.kube import Kube, condition
from dev.gates.phases import REPORTS
from dev.localcluster.controlplane import AUDIT_LOG
from dev.localcluster.lock import exclusive
from dev.localcluster.paths import REPO, from_environment
from tests.e2e import calls
from tests.long import WHOLE
from tests.machine import held, sort

Json = dict[str, Any]
TICK_S = 3.0
NODES = 3
BOOT_S = 900.0
QUICK = {"kafka": "quick-kafka", "pipeline": "quick-pipeline"}
ANOTHER_USER = [
    f"podSecurityContext.{field}=20001" for field in ("runAsUser", "runAsGroup", "fsGroup")
]
"""In long runs, pods run as another user than the one that the images are made for."""
INDEX_SECRET = "package-index"
"""Pipelines with requirements find their index in this Secret of their namespace."""
PATIENCE = 2.0
"""Factor on the limits of waits that a quiet machine keeps, and that no test is about."""

ORDER = ("zones", "faults", "changes", "state", "policies", "calls", "bad_input", "memory")
"""Files by the time they take, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    sort(items, ORDER)


@pytest.fixture(scope="session")
def cluster() -> Iterator[tuple[Kube, dict[str, str]]]:
    """The cluster with the operator in it; left running, `make cluster-down` ends it.

    At the end, what the operator and the drivers have asked of the API server is in
    build/gates/calls.json.
    """
    paths = from_environment()
    with exclusive(paths.cache / "e2e.lock", "another process boots the cluster", BOOT_S):
        kube, tags = deploy.local_cluster(paths, "default", NODES, QUICK)
        # the processes of one run find what the first of them has installed
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
        installed = paths.state / f"installed-by-{run}"
        if not run or not installed.exists():
            values = [f"python.secretName={INDEX_SECRET}", "kafkaSecurity.enabled=true"]
            values += ANOTHER_USER if WHOLE else ()
            deploy.install(kube, tags, TICK_S, values)
            installed.touch()
    yield kube, tags
    log = paths.logs / AUDIT_LOG
    assert calls.refused(log) == [], "the operator lacks rights"
    used = {"operator": calls.verbs(log), "drivers": calls.verbs(log, calls.DRIVERS)}
    REPORTS.mkdir(parents=True, exist_ok=True)
    (REPORTS / "calls.json").write_text(json.dumps(used, indent=2) + "\n")


@pytest.fixture(scope="session")
def machine(cluster: tuple[Kube, dict[str, str]]) -> Iterator[IO[str]]:
    """The lock on what the files share: the cores, and the Prometheus."""
    with (from_environment().state / "machine.lock").open("w") as lock:
        yield lock


class Stage:
    """One namespace with a Kafka, and what tests do in it."""

    def __init__(self, kube: Kube, image: str) -> None:
        self.kube, self.image = kube, image

    @classmethod
    def anew(cls, cluster: tuple[Kube, dict[str, str]], namespace: str) -> Stage:
        """In a namespace that holds nothing yet."""
        kube, tags = cluster
        own = Kube(kube.kubectl, kube.helm, kube.kubeconfig, namespace)
        own.call("delete", "namespace", namespace, "--ignore-not-found", limit_s=120)
        own.call("create", "namespace", namespace)
        deploy.restrict(own, namespace)
        return cls(own, tags["pipeline"])

    def wait_kafka(self, limit_s: float = 240) -> None:
        self.wait_long("Kafka ready", limit_s, lambda: self.kafka_ready("events"))

    def kafka_ready(self, name: str) -> bool:
        """Whether a KafkaCluster of the namespace is."""
        return condition(self.kube.get("tkc", name), "Ready") == "True"

    def apply(self, *manifests: Json) -> None:
        self.kube.apply(*manifests)

    def status(self) -> Json:
        status: Json = (self.kube.get("spl", "clicks") or {}).get("status") or {}
        return status

    def condition(self, type_: str) -> Json:
        conditions = self.status().get("conditions") or []
        found: Json = next((c for c in conditions if c["type"] == type_), {})
        return found

    def wait(self, what: str, limit_s: float, probe: Callable[[], bool]) -> None:
        self.kube.wait(what, limit_s, probe)

    def wait_long(self, what: str, limit_s: float, probe: Callable[[], bool]) -> None:
        """Wait for what no limit of time belongs to: on a busy machine it takes longer."""
        self.wait(what, PATIENCE * limit_s, probe)

    def wait_ready(self, limit_s: float = 180) -> None:
        self.wait_long("pipeline ready", limit_s,
                  lambda: condition(self.kube.get("spl", "clicks"), "Ready") == "True")  # fmt: skip

    def wait_stalled(self, reason: str, limit_s: float = 150) -> str:
        self.wait_long(f"stalled: {reason}", limit_s,
                  lambda: (self.condition("Stalled").get("status") == "True"
                           and self.condition("Stalled").get("reason") == reason))  # fmt: skip
        return str(self.condition("Stalled")["message"])

    def wait_missing(self, reason: str, limit_s: float = 150) -> str:
        """Wait until executors are missing for this reason; what is said of it."""

        def missing() -> bool:
            said = self.condition("ExecutorsMissing")
            return (said.get("status"), said.get("reason")) == ("True", reason)

        self.wait_long(f"executors missing: {reason}", limit_s, missing)
        return str(self.condition("ExecutorsMissing")["message"])

    def wait_effective(self, limit_s: float = 120, **values: Any) -> None:
        def in_force() -> bool:
            effective = self.status().get("effective") or {}
            return all(effective.get(k) == v for k, v in values.items())

        self.wait_long(f"effective {values}", limit_s, in_force)

    def metric(self, promql: str) -> float | None:
        found = self.kube.query("trimtab-prometheus", promql)
        return float(found[0]["value"][1]) if found else None

    def forget(self) -> None:
        """Delete the checkpoint of the tests before, while no pipeline runs."""
        self.kube.call("delete", "pvc", "clicks-checkpoint", "--ignore-not-found")

    def uid(self, pod: str) -> str | None:
        found = self.kube.get("pod", pod)
        return found["metadata"]["uid"] if found else None

    def executors(self) -> list[Json]:
        """The pods of the running executors that the driver has made."""
        selector = ("-l", "trimtab.dev/component=executor", "-o", "json")
        return [
            pod
            for pod in json.loads(self.kube.call("get", "pods", *selector))["items"]
            if pod["metadata"].get("ownerReferences")
            and "deletionTimestamp" not in pod["metadata"]
            and pod["status"].get("phase") == "Running"
        ]

    def wait_replaced(self, pod: str, uid: str | None, limit_s: float = 120) -> None:
        self.wait_long(f"{pod} replaced", limit_s, lambda: self.uid(pod) not in {None, uid})

    def start_load(self, schedule: list[tuple[float, float]]) -> None:
        self.kube.call("delete", "job", "load", "--ignore-not-found")
        load.start(self.kube, self.image, schedule)

    @contextmanager
    def without(self, deployment: str) -> Iterator[None]:
        """While no pod of a Deployment of trimtab's own runs."""
        scale = ("scale", f"deployment/{deployment}", "-n", "trimtab")
        self.kube.call(*scale, "--replicas=0")
        try:
            yield
        finally:
            self.kube.call(*scale, "--replicas=1")

    def next_step(self) -> None:
        """Let the load go on to its next step, or end."""
        load.skip(self.kube)

    def delivered(self, limit_s: float = 240, *, ledger: bool = True) -> Json:
        """Wait for the load to end and the lag to go, then compare what went in and came out.

        The driver's own `ledger` is asked too; a query with state keeps none.
        """
        self.wait("load ends", limit_s, lambda: load.finished(self.kube, "load"))
        summary = load.result(self.kube, "load")
        lag = f'sum(trimtab_lag_records{{namespace="{self.kube.namespace}",pipeline="clicks"}})'
        self.wait("caught up", limit_s, lambda: self.metric(lag) == 0)
        if ledger:
            self.check_ledger()
        return load.verify(self.kube, self.image, summary, PATIENCE * limit_s)

    def known(self, promql: str) -> float:
        """A figure; a query that finds no answer just then is asked again."""
        answers: list[float] = []

        def answered() -> bool:
            value = self.metric(promql)
            answers.extend([] if value is None else [value])
            return bool(answers)

        self.wait("Prometheus answers", 60, answered)
        return answers[0]

    def check_ledger(self) -> None:
        """The driver's own book: the same records on both sides of the query, by XOR and sum."""
        own = f'namespace="{self.kube.namespace}",pipeline="clicks"'
        assert self.known(f"sum(trimtab_ledger_mismatch_total{{{own}}})") == 0
        for measure in ("xor", "sum", "records_total"):
            source, sink = (
                f'trimtab_ledger_{measure}{{{own},side="{s}"}}' for s in ("source", "sink")
            )
            differs = f"sum(abs({source} - ignoring(side) {sink}))"
            assert self.known(differs) == 0, f"the ledger's {measure} differs"


def manifests(name: str) -> list[Json]:
    text = (REPO / "examples/10-quickstart" / f"{name}.yaml").read_text()
    return [m for m in yaml.safe_load_all(text) if m]


def pipeline(**spec: Any) -> Json:
    """The quickstart's pipeline with parts of its spec replaced; None removes one."""
    manifest = copy.deepcopy(manifests("pipeline")[0])
    for key, value in spec.items():
        if value is None:
            manifest["spec"].pop(key, None)
        else:
            manifest["spec"][key] = value
    return manifest


PLAIN = {"sql": "SELECT * FROM source"}
"""Keeps the columns by which the ledger tells records apart."""


@pytest.fixture(scope="module")
def home(cluster: tuple[Kube, dict[str, str]], request: pytest.FixtureRequest) -> Iterator[Stage]:
    """The file's namespace, with a Kafka that is ready."""
    made = Stage.anew(cluster, f"e2e-{request.path.stem.removeprefix('test_').replace('_', '-')}")
    made.apply(*manifests("kafka"), *manifests("transform"))
    made.wait_kafka()
    yield made
    made.kube.call("delete", "namespace", made.kube.namespace, "--wait=false", "--ignore-not-found")


@pytest.fixture
def stage(home: Stage, machine: IO[str], request: pytest.FixtureRequest) -> Iterator[Stage]:
    """The namespace without a pipeline; a checkpoint of the test before goes on.

    A file whose pipelines differ in what a checkpoint belongs to sets NEW_CHECKPOINTS.
    """
    with held(machine, request.node):
        yield home
    if getattr(request.node, "failed", False):
        home.kube.dump()
    home.kube.call("delete", "spl", "clicks", "--ignore-not-found")
    home.kube.call("delete", "jobs", "load", "verify", "--ignore-not-found")
    home.wait("driver gone", 180, lambda: home.uid("clicks-driver-0") is None)
    if getattr(request.module, "NEW_CHECKPOINTS", False):
        home.forget()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    if outcome.get_result().failed:
        item.failed = True  # type: ignore[attr-defined]
