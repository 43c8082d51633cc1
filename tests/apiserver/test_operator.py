"""Two operator processes with the rights that the chart gives them, on a real API server."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from dev.localcluster.controlplane import AUDIT_LOG
from tests.apiserver.conftest import Kubectl, example
from tests.faults.operators import HOME, Operator, account, grant, login
from tests.faults.record import Row

from trimtab.api.kinds import KINDS, WATCHED

pytestmark = pytest.mark.apiserver

WORK = "operated"
TAKEOVER_S = 60.0
"""The Lease ends after 15 s; the rest is for a busy machine."""
WRITES = {"create", "update", "patch", "delete"}
Json = dict[str, Any]


def until(what: str, limit_s: float, probe: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not probe():
        assert time.monotonic() - began < limit_s, f"not within {limit_s} s: {what}"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def operators(
    kubectl: Kubectl, kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Operator, Operator]]:
    grant(kubectl)
    kubectl("create", "namespace", WORK)
    folder = tmp_path_factory.mktemp("operators")

    def made(name: str) -> Operator:
        token = account(kubectl, f"t-operator-{name}")
        config = login(kubeconfig, token, folder / f"{name}.yaml")
        return Operator(name, config, folder, LEASE="t-operator")

    first, second = made("a"), made("b")
    try:
        first.start()
        until("the first acts", 60, lambda: first.ready() == "synced")
        second.start()
        until("the second stands by", 60, lambda: second.ready().startswith("standing by"))
        yield first, second
    finally:
        second.end()
        first.end()


@pytest.fixture(scope="module")
def calls(kubeconfig: Path) -> Callable[[Operator], list[Json]]:
    """What an operator has asked of the API server, as the server's audit log has it."""
    log = kubeconfig.parent / "logs" / AUDIT_LOG

    def made(by: Operator) -> list[Json]:
        user = f"system:serviceaccount:{HOME}:t-operator-{by.name}"
        events = (json.loads(line) for line in log.read_text().splitlines())
        return [each for each in events if each["user"]["username"] == user]

    return made


@pytest.fixture
def pipelines(kubectl: Kubectl) -> Callable[[str], None]:
    def apply(image: str) -> None:
        for name in ("kafka", "transform", "pipeline"):
            manifest = example(name)
            if name == "pipeline":
                manifest["spec"]["image"] = image
            kubectl("apply", "-n", WORK, "-f", "-", manifest=manifest)

    return apply


def writes(events: list[Json]) -> list[Json]:
    """Of the pipelines' objects: the Lease is not one."""
    return [e for e in events if e["verb"] in WRITES and e["objectRef"]["resource"] != "leases"]


def test_one_acts_with_the_rights_of_the_chart_and_another_takes_over(
    operators: tuple[Operator, Operator],
    calls: Callable[[Operator], list[Json]],
    pipelines: Callable[[str], None],
    kubectl: Kubectl,
) -> None:
    first, second = operators
    pipelines("mine:1")

    def stalled() -> str:
        live = json.loads(kubectl("get", "spl", "clicks", "-n", WORK, "-o", "json").stdout)
        told = live.get("status", {})
        return f"{told.get('observedGeneration')}/{live['metadata']['generation']}"

    until("the pipeline is reconciled", 60, lambda: stalled() == "1/1")
    until("the job's ConfigMap is there", 60, lambda: "tuning" in kubectl(
        "get", "configmaps", "-n", WORK, "-o", "name").stdout)  # fmt: skip
    assert writes(calls(first))
    assert writes(calls(second)) == []

    # an operator that hangs, as on a node that is cut off, must not write once it is replaced
    first.signal(signal.SIGSTOP)
    until("the second acts", TAKEOVER_S, lambda: second.ready() == "synced")
    pipelines("mine:2")
    until("the second reconciles", 60, lambda: stalled() == "2/2")
    resumed = datetime.now(UTC).isoformat()
    first.signal(signal.SIGCONT)
    assert first.wait(30) != 0
    # what it was sending when it was stopped, the API server has begun to receive before
    late = [e for e in writes(calls(first)) if e["requestReceivedTimestamp"] > resumed]
    assert late == [], "it wrote after it had been replaced"
    refused = [e for by in operators for e in calls(by) if e["responseStatus"]["code"] == 403]
    assert refused == []


def test_a_killed_operator_is_followed_by_the_next_once_its_lease_has_ended(
    operators: tuple[Operator, Operator], fault: Row
) -> None:
    first, second = operators
    if not first.alive:  # the test before has replaced it
        first.start()
    until("one acts", 60, lambda: {"synced"} <= {first.ready(), second.ready()})
    acts, next_ = (first, second) if first.ready() == "synced" else (second, first)
    until("the next stands by", 60, lambda: next_.ready().startswith("standing by"))
    killed = time.monotonic()
    acts.kill()
    until("the next acts", TAKEOVER_S, lambda: next_.ready() == "synced")
    fault.unwell_s = time.monotonic() - killed
    fault.said = "standing by: another operator holds the Lease"


def test_an_operator_that_cannot_have_the_lease_says_why_once(
    kubectl: Kubectl, kubeconfig: Path, tmp_path: Path
) -> None:
    grant(kubectl)
    token = account(kubectl, "t-operator-c")
    kubectl("delete", "rolebinding", "t-operator-c", "-n", HOME)
    config = login(kubeconfig, token, tmp_path / "c.yaml")
    third = Operator("c", config, tmp_path, LEASE="t-other")
    third.start()
    try:
        until("it says why", 60, lambda: "forbidden" in third.said("the Lease home/t-other"))
        time.sleep(5)
    finally:
        third.end()
    said = [line for line in third.lines() if "the Lease home/t-other" in str(line["message"])]
    assert len(said) == 1


def test_only_own_objects_are_watched_and_listed(
    operators: tuple[Operator, Operator], calls: Callable[[Operator], list[Json]]
) -> None:
    foreign = {kind.plural for kind in WATCHED if not kind.ours}
    seen = set()
    for event in (event for by in operators for event in calls(by)):
        resource = event.get("objectRef", {}).get("resource")
        if event["verb"] in {"list", "watch"} and resource in foreign:
            selector = parse_qs(urlsplit(event["requestURI"]).query).get("labelSelector")
            assert selector == ["app.kubernetes.io/managed-by=trimtab"], event["requestURI"]
            seen.add(resource)
    assert seen == foreign
    assert {kind.plural for kind in KINDS.values() if kind.watched} >= foreign
