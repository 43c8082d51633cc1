"""Policies at a real API server: what it refuses, what it stores, and what the operator writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.apiserver.conftest import ROOT, Kubectl
from tests.apiserver.test_loop import Stage

from trimtab.adapters.kubernetes import KubernetesCluster
from trimtab.adapters.memory import ManualClock
from trimtab.api.v1alpha1.policies import ClusterTuningPolicySpec
from trimtab.cli import main

pytestmark = pytest.mark.apiserver
Json = dict[str, Any]
API = "trimtab.dev/v1alpha1"
WINDOW = {"start": "0 2 * * *", "duration": "1h"}


def policy(kind: str = "TuningPolicy", name: str = "team", **spec: Any) -> Json:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def sample() -> Json:
    """The policy with every field, of the documentation."""
    text = (ROOT / "docs/policies.md").read_text()
    found = re.search(r"```yaml\n(.*?)```", text, re.S)
    assert found
    read: Json = yaml.safe_load(found.group(1))
    return read


def test_the_sample_of_the_docs_is_taken_and_comes_back_as_it_is(kubectl: Kubectl) -> None:
    given = sample()
    kubectl("apply", "--validate=strict", "-f", "-", manifest=given)
    shown = kubectl("get", "ctpol", given["metadata"]["name"], "-o", "json").stdout
    stored = json.loads(shown)["spec"]
    read = ClusterTuningPolicySpec.model_validate(stored)
    assert read == ClusterTuningPolicySpec.model_validate(given["spec"])
    kubectl("delete", "ctpol", given["metadata"]["name"])


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"moed": "Auto"}, 'unknown field "spec.moed"'),
        ({"mode": "Automatic"}, "Unsupported value"),
        ({"knobs": {"executors": {"min": 5, "max": 4}}}, "min must not be greater than max"),
        ({"knobs": {"trigger": {"min": "5s", "max": "1s"}}}, "min must not be greater than max"),
        ({"knobs": {"locality": {"scope": {"min": "Any", "max": "Node"}}}},
         "min must not be greater than max"),
        ({"knobs": {"executors": {"max": 4000}}}, "should be less than or equal to 1000"),
        ({"knobs": {"executors": {"maxSteps": 1}}},
         'unknown field "spec.knobs.executors.maxSteps"'),
        ({"knobs": {"speed": {"max": 4}}}, 'unknown field "spec.knobs.speed"'),
        ({"overrides": {"bounds": {"higher": 0.5, "lower": 0.6}}}, "lower must be smaller"),
        ({"windows": [WINDOW | {"start": "every night"}]}, "spec.windows[0].start"),
        ({"windows": [WINDOW | {"duration": "1s"}]}, "write a duration from 60s to 168h"),
        ({"outsideWindows": "All"}, "Unsupported value"),
        ({"budget": {"memory": "much"}}, "write a size in bytes"),
        ({"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
         "In and NotIn take values"),
        ({"namespaces": ["x"]}, 'unknown field "spec.namespaces"'),
    ],
)  # fmt: skip
def test_a_bad_policy_is_refused_with_what_to_write_instead(
    kubectl: Kubectl, spec: Json, words: str
) -> None:
    done = kubectl(
        "apply", "--dry-run=server", "--validate=strict", "-f", "-", manifest=policy(**spec),
        check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert words in done.stderr


def test_a_policy_sets_what_a_pipeline_may_do_and_both_say_so(
    kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    """The API server prunes and defaults; what comes back is not written again."""
    stage = Stage(kubectl, kubeconfig, namespace)
    stage.apply(policy(mode="Recommend", knobs={"executors": {"max": 4}}))
    stage.apply(policy(name="typo", windows=[WINDOW | {"timeZone": "Europe/Berlln"}]))
    stage.tick(2)
    assert stage.get("spl", "clicks")["status"]["policies"] == [
        {"field": "mode", "value": "Recommend", "policy": "TuningPolicy/team"},
        {"field": "executors.max", "value": "4", "policy": "TuningPolicy/team"},
    ]
    told = stage.get("tpol", "team")["status"]
    assert (told["pipelines"], told["observedGeneration"]) == (1, 1)
    assert told["conditions"][0]["reason"] == "Accepted"
    (wrong,) = stage.get("tpol", "typo")["status"]["conditions"]
    assert (wrong["status"], wrong["reason"]) == ("False", "InvalidSpec")
    assert "there is no time zone 'Europe/Berlln'" in wrong["message"]
    events = kubectl("get", "events", "-n", namespace, "-o", "json").stdout
    about = [(e["involvedObject"]["kind"], e["reason"]) for e in json.loads(events)["items"]]
    assert about.count(("TuningPolicy", "InvalidSpec")) == 1
    for options in (["-n", namespace], ["-A"], ["-A", "-l", "team=none"]):
        done = CliRunner().invoke(main, ["top", "--kubeconfig", str(kubeconfig), *options])
        assert done.exit_code == 0, done.output
        listed = [line.split()[:2] for line in done.output.splitlines()]
        assert ([namespace, "clicks"] in listed) is ("team=none" not in options)
    before = [stage.get(kind, name) for kind, name in (("tpol", "team"), ("tpol", "typo"))]
    stage.tick(2)
    after = [stage.get(kind, name) for kind, name in (("tpol", "team"), ("tpol", "typo"))]
    assert before == after


def test_a_policy_of_the_cluster_is_listed_and_written_without_a_namespace(
    kubectl: Kubectl, kubeconfig: Path
) -> None:
    kubectl("apply", "-f", "-", manifest=policy("ClusterTuningPolicy", "listed", mode="Observe"))
    cluster = KubernetesCluster((), ManualClock(), str(kubeconfig))
    (found,) = [
        each
        for each in cluster.list_all("ClusterTuningPolicy")
        if each["metadata"]["name"] == "listed"
    ]
    written = cluster.patch_status("ClusterTuningPolicy", found, {"pipelines": 3})
    assert written["status"]["pipelines"] == 3
    live = cluster.get(("ClusterTuningPolicy", "", "listed"))
    assert live is not None
    assert live["status"]["pipelines"] == 3
    cluster.event(written, warning=False, reason="Tried", message="an Event about it")
    events = kubectl("get", "events", "-n", "default", "-o", "json").stdout
    assert "Tried" in {event["reason"] for event in json.loads(events)["items"]}
    kubectl("delete", "ctpol", "listed")
