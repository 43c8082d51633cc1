"""`trimtab import sparkapplication/NAME`, of either operator, from a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.apiserver.conftest import Kubectl, established

from trimtab.cli import main

pytestmark = pytest.mark.apiserver

Json = dict[str, Any]
KUBEFLOW = {"type": "Python", "mainApplicationFile": "local:///opt/app/clicks.py"}
APACHE = {"pyFiles": "local:///opt/app/clicks.py", "sparkConf": {"spark.executor.instances": "3"}}


def definition(group: str, version: str) -> Json:
    """A CRD that takes any spec."""
    names = {"kind": "SparkApplication", "plural": "sparkapplications"}
    spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    served = {"name": version, "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"sparkapplications.{group}",
            # the API server wants to know it of all groups that end in k8s.io
            "annotations": {"api-approved.kubernetes.io": "unapproved"},
        },
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [served]},
    }


@pytest.fixture
def job(
    kubectl: Kubectl, namespace: str, request: pytest.FixtureRequest
) -> Iterator[tuple[str, Json]]:
    group, version, spec = request.param
    kubectl("apply", "-f", "-", manifest=definition(group, version))
    crd = f"crd/sparkapplications.{group}"
    established(kubectl, crd)
    application = {
        "apiVersion": f"{group}/{version}", "kind": "SparkApplication",
        "metadata": {"name": "clicks"}, "spec": spec,
    }  # fmt: skip
    kubectl("apply", "-n", namespace, "-f", "-", manifest=application)
    yield namespace, spec
    kubectl("delete", crd)


def run(kubeconfig: Path, namespace: str, *jobs: str) -> Result:
    options = ("--kubeconfig", str(kubeconfig), "-n", namespace)
    return CliRunner().invoke(main, ["import", *options, *jobs])


@pytest.mark.parametrize(
    "job",
    [("sparkoperator.k8s.io", "v1beta2", KUBEFLOW), ("spark.apache.org", "v1", APACHE)],
    indirect=True, ids=["kubeflow", "apache"],
)  # fmt: skip
def test_an_application_in_the_cluster_is_imported(job: tuple[str, Json], kubeconfig: Path) -> None:
    done = run(kubeconfig, job[0], "sparkapplication/clicks")
    assert done.exit_code == 0, done.output
    spec = yaml.safe_load(done.stdout)["spec"]
    assert spec["transform"]["python"]["script"] == "/opt/app/clicks.py"
    missing = run(kubeconfig, job[0], "sparkapplication/views")
    assert missing.exit_code == 1
    assert f"there is no SparkApplication 'views' in namespace '{job[0]}'" in missing.output


@pytest.mark.usefixtures("kubectl")
def test_without_either_operator_there_is_none(kubeconfig: Path) -> None:
    done = run(kubeconfig, "default", "sparkapplication/clicks")
    assert (done.exit_code, "there is no SparkApplication" in done.output) == (1, True)


def test_what_is_no_file_may_be_in_a_cluster(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["import", str(tmp_path / "clicks")])
    assert done.exit_code == 2
    assert "in a cluster it is sparkapplication/clicks" in done.output
