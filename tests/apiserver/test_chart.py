"""The chart as Helm renders it: rights in the watched namespaces only."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
import yaml
from dev.localcluster.binaries import binary
from dev.localcluster.paths import from_environment
from tests.apiserver.conftest import ROOT

pytestmark = pytest.mark.apiserver

Json = dict[str, Any]


def rendered(*values: str) -> list[Json]:
    options = [f"--set={value}" for value in ("prometheus.install=true", *values)]
    done = subprocess.run(
        [binary(from_environment(), "helm"), "template", "t", ROOT / "charts/trimtab",
         "--namespace", "home", *options],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [m for m in yaml.safe_load_all(done.stdout) if m]


def of(manifests: list[Json], kind: str, name: str) -> list[Json]:
    return [m for m in manifests if m["kind"] == kind and m["metadata"]["name"] == name]


def scrapes(manifests: list[Json]) -> dict[str, Json]:
    (config,) = of(manifests, "ConfigMap", "t-prometheus")
    jobs = yaml.safe_load(config["data"]["prometheus.yml"])["scrape_configs"]
    return {job["job_name"]: job["kubernetes_sd_configs"][0] for job in jobs}


@pytest.mark.parametrize(
    ("watched", "found"),
    [("{a,b}", ["a", "b"]), ("{a,home}", ["a", "home"])],
)
def test_nothing_has_rights_beyond_the_watched_namespaces(watched: str, found: list[str]) -> None:
    manifests = rendered(f"watchNamespaces={watched}")
    assert [m for m in manifests if m["kind"].startswith("Cluster")] == []
    for kind in ("Role", "RoleBinding"):
        places = [m["metadata"]["namespace"] for m in of(manifests, kind, "t-prometheus")]
        assert sorted(places) == sorted({*found, "home"})
    for binding in of(manifests, "RoleBinding", "t-prometheus"):
        (subject,) = binding["subjects"]
        assert (subject["name"], subject["namespace"]) == ("t-prometheus", "home")
        assert binding["roleRef"]["kind"] == "Role"
    for role in of(manifests, "Role", "t-prometheus"):
        assert role["rules"] == [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
        ]
    jobs = scrapes(manifests)
    assert jobs["trimtab-drivers"]["namespaces"] == {"names": found}
    assert jobs["trimtab-operator"]["namespaces"] == {"names": ["home"]}
    assert "trimtab-kubelets" not in jobs, "nodes are nobody's namespace"


def test_all_namespaces_need_rights_in_the_whole_cluster() -> None:
    manifests = rendered()
    assert of(manifests, "ClusterRole", "t-prometheus")
    assert of(manifests, "ClusterRoleBinding", "t-prometheus")
    assert of(manifests, "Role", "t-prometheus") == []
    assert "namespaces" not in scrapes(manifests)["trimtab-drivers"]
    assert scrapes(manifests)["trimtab-kubelets"] == {"role": "node"}


def test_prometheus_restarts_when_its_configuration_changes() -> None:
    def stamp(*values: str) -> str:
        (deployment,) = of(rendered(*values), "Deployment", "t-prometheus")
        text: str = deployment["spec"]["template"]["metadata"]["annotations"]["trimtab.dev/config"]
        return text

    slow, here = stamp("prometheus.scrapeSeconds=9"), stamp("watchNamespaces={a}")
    assert len({stamp(), slow, here}) == 3
    assert stamp() == stamp("prometheus.retention=1h")
