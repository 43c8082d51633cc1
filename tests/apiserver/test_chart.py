"""The chart as Helm renders it: rights in the watched namespaces only."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
import yaml
from dev.localcluster.binaries import binary
from dev.localcluster.paths import from_environment
from tests.apiserver.conftest import ROOT

from trimtab.reconcile.observe.queries import MAX_SERIES
from trimtab.settings import OperatorSettings

pytestmark = pytest.mark.apiserver

Json = dict[str, Any]
FROM_POD = {"TRIMTAB_POD_NAMESPACE": "home", "TRIMTAB_POD_NAME": "t-operator-0"}


def helm(*values: str) -> subprocess.CompletedProcess[str]:
    options = [f"--set={value}" for value in values]
    return subprocess.run(
        [binary(from_environment(), "helm"), "template", "t", ROOT / "charts/trimtab",
         "--namespace", "home", *options],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def rendered(*values: str, install: str = "prometheus.install=true") -> list[Json]:
    done = helm(install, *values)
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


OWN = "prometheus.url=https://p.example:9090/prom"


def environment(*values: str) -> dict[str, Json]:
    (deployment,) = of(rendered(*values, install=OWN), "Deployment", "t-operator")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {variable["name"]: variable for variable in container["env"]}


def test_matchers_reach_the_operator_as_it_reads_them() -> None:
    values = ("prometheus.matchers.cluster=eu-1", 'prometheus.matchers.job=a\\,b"c')
    given = {name: v["value"] for name, v in environment(*values).items() if "value" in v}
    settings = OperatorSettings.from_environment(given | FROM_POD)
    assert settings.prometheus_matchers == {"cluster": "eu-1", "job": 'a,b"c'}
    assert settings.prometheus_url == "https://p.example:9090/prom"
    assert "TRIMTAB_PROMETHEUS_MATCHERS" not in environment()


def test_a_login_comes_from_a_secret_only() -> None:
    known = environment("prometheus.basicAuth.secretName=prom")
    for name, key in (("USERNAME", "username"), ("PASSWORD", "password")):
        variable = known[f"TRIMTAB_PROMETHEUS_{name}"]
        assert variable["valueFrom"] == {"secretKeyRef": {"name": "prom", "key": key}}
    assert "TRIMTAB_PROMETHEUS_PASSWORD" not in environment()
    done = helm("prometheus.url=http://me:s3cret@p:9090")
    assert done.returncode != 0
    assert "prometheus.basicAuth.secretName" in done.stderr
    assert "s3cret" not in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("prometheus.matchers.the-cluster=a", "'the-cluster' does not match pattern"),
        ("prometheus.matchers.a=1", "got number, want string"),
    ],
)
def test_matchers_that_cannot_be_used_are_refused(value: str, words: str) -> None:
    assert words in helm(OWN, value).stderr


def test_the_small_prometheus_takes_no_matchers() -> None:
    done = helm("prometheus.install=true", "prometheus.matchers.cluster=a")
    assert "for a Prometheus of your own" in done.stderr


def test_the_small_prometheus_tells_pods_apart_and_bounds_them() -> None:
    (config,) = of(rendered(), "ConfigMap", "t-prometheus")
    jobs = yaml.safe_load(config["data"]["prometheus.yml"])["scrape_configs"]
    (drivers,) = (job for job in jobs if job["job_name"] == "trimtab-drivers")
    told = {rule["target_label"] for rule in drivers["relabel_configs"] if "target_label" in rule}
    assert told == {"namespace", "pipeline", "pod"}
    assert drivers["sample_limit"] > 2 * MAX_SERIES


def test_pull_secrets_and_policy_reach_the_operator_for_all_pods() -> None:
    values = ("images.pullSecrets[0].name=a", "images.pullSecrets[1].name=b")
    known = environment(*values, "images.pullPolicy=Always")
    assert known["TRIMTAB_IMAGE_PULL_SECRETS"]["value"] == "a,b"
    assert known["TRIMTAB_IMAGE_PULL_POLICY"]["value"] == "Always"
    assert "TRIMTAB_IMAGE_PULL_SECRETS" not in environment()
