"""Argo CD and Flux apply the same manifests with force, again and again; nothing tuned changes.

And trimtab writes nothing that they would find different.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.apiserver.conftest import ROOT, Kubectl, example
from tests.apiserver.test_loop import Stage, overload

pytestmark = pytest.mark.apiserver
Json = dict[str, Any]


def git(namespace: str) -> list[Json]:
    """What the repository holds."""
    pipeline = example("pipeline")
    pipeline["spec"]["limits"]["executors"] = {"min": 1, "max": 8}
    made = [example("kafka"), example("transform"), pipeline]
    return [each | {"metadata": each["metadata"] | {"namespace": namespace}} for each in made]


def test_applied_with_force_every_tick_nothing_tuned_changes_and_nothing_differs(
    kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    stage = Stage(kubectl, kubeconfig, namespace)
    force = ("--server-side", "--force-conflicts", "--field-manager=argocd-controller")

    def synced() -> None:
        for manifest in git(namespace):
            kubectl("apply", *force, "-f", "-", manifest=manifest)

    synced()
    stage.tick(2)
    stage.driver_runs()
    tuned = []
    for batch in range(5, 11):
        overload(stage, batch)
        stage.tick()
        synced()
        tuned.append(stage.settings()["settings"]["executors"])
    assert tuned[-1] > 1
    assert tuned == sorted(tuned), "never taken back"
    for manifest in git(namespace):
        found = kubectl("diff", *force, "-f", "-", manifest=manifest, check=False)
        assert (found.returncode, found.stdout) == (0, ""), manifest["kind"]
    live = kubectl("get", "spl", "clicks", "-n", namespace, "-o", "json", "--show-managed-fields")
    fields = {
        each["manager"]: each for each in json.loads(live.stdout)["metadata"]["managedFields"]
    }
    assert fields["trimtab"].get("subresource") == "status"
    assert set(fields["trimtab"]["fieldsV1"]) == {"f:status"}


FLUX = yaml.safe_load((ROOT / "examples/gitops/flux-kustomization.yaml").read_text())
WHICH = ("inProgress", "failed", "current")


def true_ones(kubectl: Kubectl, kind: str, name: str, namespace: str) -> set[str]:
    """Which of Flux's expressions hold, as the API server's own CEL has it: they are warnings."""
    done = kubectl(
        "annotate", "--overwrite", "--dry-run=server", kind, name, "-n", namespace, "asked=now"
    )
    return {each for each in WHICH if f"flux says {each}" in done.stderr}


@pytest.fixture(scope="module")
def flux(kubectl: Kubectl) -> Iterator[None]:
    """A policy for each expression, which only warns; the object's fields are variables in Flux."""
    made: list[str] = []
    for each in FLUX["spec"]["healthCheckExprs"]:
        resource = f"{each['kind'].lower()}s".replace("policys", "policies")
        for which in WHICH:
            name = f"flux-{each['kind']}-{which}".lower()
            expression = re.sub(r"\b(status|metadata|spec)\.", r"object.\1.", each[which])
            rules = [{"apiGroups": ["trimtab.dev"], "apiVersions": ["*"],
                      "operations": ["UPDATE"], "resources": [resource]}]  # fmt: skip
            spec = {
                "failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules},
                "validations": [
                    {"expression": f"!({expression})", "message": f"flux says {which}"}
                ],
            }  # fmt: skip
            policy = {"kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}}
            group = {"apiVersion": "admissionregistration.k8s.io/v1"}
            bound = {"policyName": name, "validationActions": ["Warn"]}
            kubectl("apply", "-f", "-", manifest=group | policy | {"spec": spec})
            policy = {"kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}}
            kubectl("apply", "-f", "-", manifest=group | policy | {"spec": bound})
            made.append(name)
    yield
    for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
        kubectl("delete", kind, *made)


@pytest.mark.usefixtures("flux")
def test_the_expressions_of_flux_tell_the_states_apart(kubectl: Kubectl, namespace: str) -> None:
    pipeline = example("pipeline")
    kubectl("apply", "-n", namespace, "-f", "-", manifest=pipeline)

    def says(expected: set[str], **conditions: str) -> None:
        made = [
            {"type": type_, "status": status, "reason": "Tried", "observedGeneration": 1,
             "lastTransitionTime": "2026-01-01T00:00:00Z"}
            for type_, status in conditions.items()
        ]  # fmt: skip
        if conditions:
            body = json.dumps({"status": {"observedGeneration": 1, "conditions": made}})
            kubectl("patch", "spl", "clicks", "-n", namespace, "--subresource=status",
                    "--type=merge", "-p", body)  # fmt: skip
        deadline = time.monotonic() + 60
        seen: set[str] = set()
        while seen != expected and time.monotonic() < deadline:
            seen = true_ones(kubectl, "spl", "clicks", namespace)
        assert seen == expected, conditions

    says({"inProgress"})
    says({"current"}, Ready="True", Stalled="False", Suspended="False")
    says({"failed"}, Ready="False", Stalled="True", Suspended="False")
    says({"current"}, Ready="False", Stalled="False", Suspended="True")
    says(set(), Ready="False", Stalled="False", Suspended="False")
