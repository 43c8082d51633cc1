"""The chart as Helm renders it: rights in the watched namespaces only."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
import yaml
from dev.localcluster.binaries import binary
from dev.localcluster.paths import from_environment
from tests.apiserver.conftest import ROOT, Kubectl
from tests.flows import (
    CHART_FLOWS,
    FLOWS,
    NARROW,
    NARROW_FLOWS,
    SCRAPED,
    SCRAPED_FLOWS,
    Flow,
)
from tests.netpol import pod
from tests.unit.test_settings import GIVEN as IMAGES
from tests.unit.workloads.test_network import World

from trimtab.api.packages import NO_INDEX, PackageIndex
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.reconcile.observe.queries import MAX_SERIES
from trimtab.settings import OperatorSettings

pytestmark = pytest.mark.apiserver

Json = dict[str, Any]
FROM_POD = {"TRIMTAB_POD_NAMESPACE": "home", "TRIMTAB_POD_NAME": "t-operator-0"}
OWN = "prometheus.url=https://p.example:9090/prom"


NAMED = tuple(
    f"images.{name}=registry.example/trimtab-{name}:1"
    for name in ("operator", "pipeline", "kafka", "prometheus")
)


def helm(
    *values: str, images: tuple[str, ...] = NAMED, command: tuple[str, ...] = ("template", "t")
) -> subprocess.CompletedProcess[str]:
    options = [f"--set={value}" for value in (*images, *values)]
    return subprocess.run(
        [binary(from_environment(), "helm"), *command, ROOT / "charts/trimtab",
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


def test_helm_finds_nothing_to_say() -> None:
    done = helm("prometheus.install=true", command=("lint", "--strict"))
    assert done.returncode == 0, done.stdout
    assert "[INFO]" not in done.stdout


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ((), "images.operator, images.pipeline, images.kafka, images.prometheus"),
        (NAMED[:2], "images.kafka, images.prometheus"),
        ((*NAMED[:3], "prometheus.install=false", OWN), None),
    ],
    ids=["none", "two", "own-prometheus"],
)
def test_the_images_that_are_missing_are_named(given: tuple[str, ...], missing: str | None) -> None:
    done = helm("prometheus.install=true", *given, images=())
    if missing is None:
        assert done.returncode == 0, done.stderr
    else:
        assert f"say where your images are: set {missing} (" in done.stderr
    assert "minLength" in helm("images.kafka=").stderr


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


GIVEN = IMAGES | {"TRIMTAB_PROMETHEUS_URL": "https://p.example:9090/prom"}


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


def test_drivers_are_read_directly_unless_that_is_turned_off() -> None:
    assert "TRIMTAB_DIRECT_TICK_SECONDS" not in environment("operator.directReads.enabled=false")
    on = environment("operator.directReads.tickSeconds=3")
    given = {name: variable["value"] for name, variable in on.items() if "value" in variable}
    assert OperatorSettings.from_environment(given | FROM_POD).direct_tick_s == 3


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


def test_an_index_of_packages_reaches_the_operator_as_it_reads_it() -> None:
    values = ("python.indexUrl=https://i.example/simple", "python.secretName=index")
    for said, index in (
        ((), NO_INDEX),
        (values, PackageIndex(index_url="https://i.example/simple", secret_name="index")),
    ):
        given = {name: v["value"] for name, v in environment(*said).items() if "value" in v}
        assert OperatorSettings.from_environment(given | FROM_POD).package_index == index
    for name in ("indexUrl", "proxy"):
        done = helm(OWN, f"python.{name}=https://me:s3cret@i.example/simple")
        assert done.returncode != 0
        assert name in done.stderr


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


def world(*values: str) -> World:
    """Who may reach whom, with the policies of the chart and of the operator that it starts."""
    manifests = rendered(*values)
    (deployment,) = of(manifests, "Deployment", "t-operator")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    given = {v["name"]: v["value"] for v in container["env"] if "value" in v}
    policies = tuple(m for m in manifests if m["kind"] == "NetworkPolicy")
    made = World(OperatorSettings.from_environment(given | FROM_POD).network, policies)
    for who in ("operator", "prometheus"):
        (deployment,) = of(manifests, "Deployment", f"t-{who}")
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        made.ends[who] = pod(made.ends[who].address, "home", labels)
    return made


@pytest.mark.parametrize(
    ("values", "flows"),
    [
        ((), (*FLOWS, *CHART_FLOWS)),
        (tuple(f"{key}={value}" for key, value in NARROW.items()), (*NARROW_FLOWS, *CHART_FLOWS)),
        (tuple(f"{key}={value}" for key, value in SCRAPED.items()), (*SCRAPED_FLOWS, *CHART_FLOWS)),
    ],
    ids=["by-default", "narrowed", "scraped"],
)
def test_a_flow_is_as_the_page_says(values: tuple[str, ...], flows: tuple[Flow, ...]) -> None:
    made = world(*values)
    assert [(flow, wrong) for flow in flows if (wrong := made.wrong(flow))] == []


def test_a_prometheus_of_ones_own_may_be_anywhere_until_it_is_named() -> None:
    named = "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.who=monitoring"
    for values, free in (((), True), ((named,), False)):
        manifests = rendered(*values, install=OWN)
        (policy,) = (m for m in manifests if m["kind"] == "NetworkPolicy")
        (rule,) = policy["spec"]["ingress"]
        assert rule["ports"] == [{"protocol": "TCP", "port": 9100}]
        assert ("from" not in rule) is free
        text = environment(*values, *(f"{k}={v}" for k, v in SCRAPED.items()))[
            "TRIMTAB_NETWORK_POLICIES"
        ]["value"]
        given = GIVEN | {"TRIMTAB_NETWORK_POLICIES": text}
        network = OperatorSettings.from_environment(given).network
        assert network is not None
        assert list(network.metrics_from) == rule.get("from", [])
        text = environment(*values)["TRIMTAB_NETWORK_POLICIES"]["value"]
        read = OperatorSettings.from_environment(GIVEN | {"TRIMTAB_NETWORK_POLICIES": text}).network
        assert read is not None
        assert len(read.metrics_from) == (0 if free else len(network.metrics_from) + 1)
        assert network.egress is None


def test_who_may_open_the_web_ui_reaches_the_operator() -> None:
    def told(*values: str) -> Json:
        text: str = environment(*values)["TRIMTAB_NETWORK_POLICIES"]["value"]
        found: Json = json.loads(text)
        return found

    assert "sparkUIFrom" not in told()
    found = told("networkPolicy.sparkUIFrom[0].podSelector.matchLabels.app=ingress")
    assert found["sparkUIFrom"] == [{"podSelector": {"matchLabels": {"app": "ingress"}}}]


def test_network_policies_can_be_turned_off() -> None:
    off = "networkPolicy.enabled=false"
    assert [m for m in rendered(off) if m["kind"] == "NetworkPolicy"] == []
    assert "TRIMTAB_NETWORK_POLICIES" not in environment(off)


def test_the_api_server_takes_every_policy(kubectl: Kubectl, namespace: str) -> None:
    values = tuple(f"{key}={value}" for key, value in NARROW.items())
    for policy in (*world().policies, *world(*values).policies):
        meta = {"name": policy["metadata"]["name"], "namespace": namespace}
        made = policy | {"metadata": meta}
        kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", manifest=made)


@pytest.mark.parametrize(
    "value", ["networkPolicy.kafkaFrom[0].pods.a=b", "networkPolicy.egress.apiServer[0]=host"]
)
def test_peers_that_are_none_are_refused(value: str) -> None:
    assert "networkPolicy" in helm("prometheus.install=true", value).stderr


def pods(manifests: list[Json]) -> list[Json]:
    found = (m for m in manifests if m["kind"] == "Deployment")
    return [m["spec"]["template"]["spec"] for m in found]


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        ((), {"runAsUser": 10001, "runAsGroup": 10001, "fsGroup": 10001}),
        (("podSecurityContext.runAsUser=1000700000", "podSecurityContext.runAsGroup=0",
          "podSecurityContext.fsGroup=null"), {"runAsUser": 1000700000, "runAsGroup": 0}),
        (("podSecurityContext=null",), {}),
    ],
    ids=["default", "chosen", "by-the-cluster"],
)  # fmt: skip
def test_all_pods_run_as_the_same_user(values: tuple[str, ...], ids: Json) -> None:
    manifests = rendered(*values)
    found = pods(manifests)
    assert len(found) == 2
    for spec in found:
        restricted = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        assert spec["securityContext"] == restricted | ids
    given = {name: v["value"] for name, v in environment(*values).items() if "value" in v}
    user = OperatorSettings.from_environment(given | FROM_POD).pod_user
    assert user.model_dump(by_alias=True, exclude_none=True) == ids


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("podSecurityContext.runAsUser=0", "minimum: got 0, want 1"),
        ("podSecurityContext.seLinuxOptions.type=x", "'seLinuxOptions' not allowed"),
    ],
)
def test_users_that_are_none_are_refused(value: str, words: str) -> None:
    assert words in helm("prometheus.install=true", value).stderr


def test_pull_secrets_and_policy_reach_the_operator_for_all_pods() -> None:
    values = ("images.pullSecrets[0].name=a", "images.pullSecrets[1].name=b")
    known = environment(*values, "images.pullPolicy=Always")
    assert known["TRIMTAB_IMAGE_PULL_SECRETS"]["value"] == "a,b"
    assert known["TRIMTAB_IMAGE_PULL_POLICY"]["value"] == "Always"
    assert "TRIMTAB_IMAGE_PULL_SECRETS" not in environment()


def test_two_operators_have_a_budget_and_keep_to_nodes_of_their_own(kubectl: Kubectl) -> None:
    alone, two = rendered(), rendered("operator.replicas=2")
    assert of(alone, "PodDisruptionBudget", "t-operator") == []
    (budget,) = of(two, "PodDisruptionBudget", "t-operator")
    (deployment,) = of(two, "Deployment", "t-operator")
    assert deployment["spec"]["replicas"] == 2
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    template = deployment["spec"]["template"]["spec"]
    (spread,) = template["topologySpreadConstraints"]
    for selector in (budget["spec"]["selector"], spread["labelSelector"]):
        assert selector["matchLabels"].items() <= labels.items()
    assert budget["spec"]["maxUnavailable"] == 1
    for manifest in (budget, deployment):
        kubectl("apply", "--dry-run=server", "-f", "-", manifest=manifest)


def test_no_pod_writes_to_its_root_or_without_a_limit() -> None:
    for spec in pods(rendered()):
        for volume in spec["volumes"]:
            assert "sizeLimit" in volume.get("emptyDir", {"sizeLimit": ""})
        for container in spec["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert "ephemeral-storage" in container["resources"]["requests"]


def test_the_operator_takes_what_a_platform_asks_of_pods(kubectl: Kubectl) -> None:
    manifests = rendered(
        "operator.priorityClassName=system-cluster-critical", "operator.podAnnotations.a=b",
        "operator.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
        ".topologyKey=kubernetes.io/hostname",
        "operator.extraEnv[0].name=HTTPS_PROXY", "operator.extraEnv[0].value=http://p:3128",
        "operator.serviceAccount.annotations.role=reader",
    )  # fmt: skip
    (deployment,) = of(manifests, "Deployment", "t-operator")
    (account,) = of(manifests, "ServiceAccount", "t-operator")
    template = deployment["spec"]["template"]
    assert account["metadata"]["annotations"] == {"role": "reader"}
    annotations = template["metadata"]["annotations"]
    assert (annotations["a"], annotations["prometheus.io/port"]) == ("b", "9100")
    assert template["spec"]["priorityClassName"] == "system-cluster-critical"
    assert "podAntiAffinity" in template["spec"]["affinity"]
    (container,) = template["spec"]["containers"]
    assert {"name": "HTTPS_PROXY", "value": "http://p:3128"} in container["env"]
    for manifest in (deployment, account):
        kubectl(
            "apply", "--dry-run=server", "--validate=strict", "-n", "default", "-f", "-",
            manifest=manifest,
        )  # fmt: skip


def test_the_chart_s_own_variables_are_nobody_else_s() -> None:
    assert "extraEnv" in helm(OWN, "operator.extraEnv[0].name=TRIMTAB_LEASE").stderr


def test_the_api_server_takes_the_canary(kubectl: Kubectl, namespace: str) -> None:
    assert of(rendered(), "StreamPipeline", "trimtab-canary") == []
    class_ = "canary.spec.checkpoint.volumeClaim.storageClassName=fast"
    for values in ((), (class_,), ("watchNamespaces={a,home}",)):
        (made,) = of(rendered("canary.enabled=true", *values), "StreamPipeline", "trimtab-canary")
        assert made["metadata"]["namespace"] == "home"
        spec = StreamPipelineSpec.model_validate(made["spec"])
        assert (spec.source.kafka, spec.limits.executors.max) == (None, 1)
        assert spec.checkpoint.claim is not None
        assert spec.checkpoint.claim.storage_class_name == ("fast" if class_ in values else None)
        made["metadata"]["namespace"] = namespace
        kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", manifest=made)


def test_a_canary_that_nobody_would_watch_is_refused() -> None:
    words = helm(OWN, "canary.enabled=true", "watchNamespaces={a}").stderr
    assert "the canary runs in the namespace home: add it to watchNamespaces" in words


def test_the_chart_names_the_kinds_that_it_brings() -> None:
    chart = yaml.safe_load((ROOT / "charts/trimtab/Chart.yaml").read_text())
    named = yaml.safe_load(chart["annotations"]["artifacthub.io/crds"])
    crds = [yaml.safe_load(path.read_text()) for path in (ROOT / "crds").glob("*.yaml")]
    assert {(each["kind"], each["name"], each["version"]) for each in named} == {
        (crd["spec"]["names"]["kind"], crd["metadata"]["name"], version["name"])
        for crd in crds
        for version in crd["spec"]["versions"]
    }


def test_objects_of_the_reader_belong_to_the_release(tmp_path: Any) -> None:
    file = tmp_path / "values.yaml"
    text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}-text"}\n'
    policy = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "{{ .Release.Name }}-all"},
        "spec": {"podSelector": {}},
    }
    file.write_text(yaml.safe_dump({"extraObjects": [policy, text]}))
    done = helm("prometheus.install=true", command=("template", "t", "-f", str(file)))
    assert done.returncode == 0, done.stderr
    manifests = [m for m in yaml.safe_load_all(done.stdout) if m]
    (found,) = of(manifests, "NetworkPolicy", "t-all")
    assert found["spec"] == policy["spec"]
    assert of(manifests, "ConfigMap", "t-text")
    refused = helm("prometheus.install=true", "extraObjects[0]=1")
    assert "extraObjects" in refused.stderr
