"""What a driver's account may do with pods: the chart's admission policy on a real API server."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.apiserver.test_chart import Json, rendered
from tests.bounds import VOLUMES
from tests.unit.job.samples import job as sample
from tests.unit.workloads.manifests import example, kafka_children, pipeline_children
from tests.unit.workloads.test_pods import TEMPLATE

from trimtab.api.contract import Executors, Job
from trimtab.api.listening import FIXED_PORTS
from trimtab.api.packages import PackageIndex, Packages
from trimtab.api.v1alpha1.kafka_client import SecretKey
from trimtab.api.v1alpha1.volumes import Volume
from trimtab.job.executors.pod_template import pod_template
from trimtab.workloads import identity

pytestmark = pytest.mark.apiserver

IMAGES = "{registry.example/trimtab/}"
IMAGE = "registry.example/trimtab/pipeline:1"
LABELS = {
    "trimtab.dev/pipeline": "clicks",
    "trimtab.dev/component": "executor",
    "spark-role": "executor",
    **FIXED_PORTS,
}
SPARK = "spark-kubernetes-executor"


NAMED = [SecretKey(f"kafka-{number}", "password") for number in range(16)]
"""Secrets that the pipeline's spec names."""
MOUNTED = [("secrets", "store"), ("configmaps", "lookup"), ("persistentvolumeclaims", "models")]
"""What its volumes name."""


PLAIN = Executors(image=IMAGE, memory_bytes=10**9)


def executor(
    name: str = "clicks-1f-exec-1", secrets: list[SecretKey] | None = None, shape: Executors = PLAIN
) -> Json:
    """An executor's pod as Spark makes it from our template."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "clicks-driver-0", "uid": "u"}
    made = pod_template(shape, secrets or [])
    made["metadata"] = {
        "name": name, "labels": dict(LABELS), "ownerReferences": [owner | {"controller": True}],
    }  # fmt: skip
    spec = made["spec"]
    spec["serviceAccountName"] = "trimtab-executor-clicks"
    spec["containers"][0] |= {"name": SPARK, "image": IMAGE}
    return made


@pytest.fixture(scope="module")
def tenant(kubectl: Any) -> Callable[..., Any]:
    """kubectl as the driver of `clicks`, with a driver's rights, in a namespace with the policy."""
    kubectl("create", "namespace", "tenant")
    for manifest in rendered(f"policy.allowedImages={IMAGES}", "watchNamespaces={tenant}"):
        if manifest["kind"].startswith("ValidatingAdmissionPolicy"):
            kubectl("apply", "-f", "-", manifest=manifest)
    user = "system:serviceaccount:tenant:trimtab-driver-clicks"
    kubectl("create", "role", "driver", "-n", "tenant", "--verb=*", "--resource=pods")
    kubectl("create", "rolebinding", "d", "-n", "tenant", "--role=driver", f"--user={user}")
    parent = {
        "kind": "StreamPipeline",
        "metadata": {"name": "clicks", "namespace": "tenant", "uid": "u"},
    }
    for manifest in identity.accounts(parent, [*MOUNTED, *(("secrets", s.secret) for s in NAMED)]):
        if manifest["kind"] in {"Role", "RoleBinding"}:
            kubectl("apply", "-f", "-", manifest=manifest)

    def run(*arguments: str, manifest: Json | None = None, check: bool = False) -> Any:
        return kubectl("-n", "tenant", f"--as={user}", *arguments, manifest=manifest, check=check)

    refused = executor("probe") | {"spec": executor()["spec"] | {"hostNetwork": True}}
    deadline = time.monotonic() + 60
    while run("create", "--dry-run=server", "-f", "-", manifest=refused).returncode == 0:
        assert time.monotonic() < deadline, "the policy is not in force"
        time.sleep(0.2)
    return run


def changed(path: str, value: Any) -> Json:
    """An executor with one field set; a number is a place in a list, `+` adds to one."""
    made = copy.deepcopy(executor())
    *folders, last = path.replace("trimtab.dev", "trimtab-dev").split(".")
    node: Any = made
    for part in folders:
        node = node[int(part)] if part.isdigit() else node.setdefault(part, {})
    if last == "+":
        node.append(value)
    else:
        node[last.replace("trimtab-dev", "trimtab.dev")] = value
    return made


SECRET = {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "other-driver-0", "uid": "u"}
ATTEMPTS: dict[str, tuple[str, Any]] = {
    "no label of the pipeline": ("metadata.labels", {"spark-role": "executor"}),
    "another pipeline's label": ("metadata.labels.trimtab.dev/pipeline", "other"),
    "another component": ("metadata.labels.trimtab.dev/component", "driver"),
    "another owner": ("metadata.ownerReferences", [OWNER]),
    "no owner": ("metadata.ownerReferences", []),
    "the driver's account": ("spec.serviceAccountName", "trimtab-driver-clicks"),
    "any other account": ("spec.serviceAccountName", "default"),
    "a token": ("spec.automountServiceAccountToken", True),
    "the node's network": ("spec.hostNetwork", True),
    "the node's processes": ("spec.hostPID", True),
    "the node's IPC": ("spec.hostIPC", True),
    "a directory of the node": ("spec.volumes.+", {"name": "x", "hostPath": {"path": "/"}}),
    "a Secret as a volume": ("spec.volumes.+", {"name": "x", "secret": {"secretName": "s"}}),
    "a Secret in a projected volume": (
        "spec.volumes.+",
        {"name": "x", "projected": {"sources": [{"secret": {"name": "kafka-1"}}]}},
    ),
    "an identity in AWS beside a token": (
        "spec.volumes.+",
        {"name": "x", "projected": {"sources": [
            {"serviceAccountToken": {"path": "a", "audience": "sts.amazonaws.com"}},
            {"serviceAccountToken": {"path": "b"}}]}},
    ),
    "a ConfigMap as a volume": ("spec.volumes.+", {"name": "x", "configMap": {"name": "c"}}),
    "another's claim": (
        "spec.volumes.+",
        {"name": "x", "persistentVolumeClaim": {"claimName": "other-checkpoint"}},
    ),
    "a projected token": (
        "spec.volumes.+",
        {"name": "x", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
    ),
    "a Secret in the environment": ("spec.containers.0.env.+", SECRET),
    "all of a Secret": ("spec.containers.0.envFrom", [{"secretRef": {"name": "s"}}]),
    "a privileged container": ("spec.containers.0.securityContext", {"privileged": True}),
    "more capabilities": (
        "spec.containers.0.securityContext.capabilities", {"drop": ["ALL"], "add": ["NET_ADMIN"]},
    ),
    "no security context": ("spec.containers.0.securityContext", {}),
    "root": ("spec.securityContext.runAsNonRoot", False),
    "root by its number": ("spec.securityContext.runAsUser", 0),
    "root in a container": ("spec.containers.0.securityContext.runAsNonRoot", False),
    "root in a container by its number": ("spec.containers.0.securityContext.runAsUser", 0),
    "no seccomp profile": ("spec.securityContext.seccompProfile", {"type": "Unconfined"}),
    "none in a container": (
        "spec.containers.0.securityContext.seccompProfile", {"type": "Unconfined"}),
    "no AppArmor profile": (
        "spec.containers.0.securityContext.appArmorProfile", {"type": "Unconfined"}),
    "another SELinux type": ("spec.securityContext.seLinuxOptions", {"type": "spc_t"}),
    "another SELinux role": ("spec.containers.0.securityContext.seLinuxOptions", {"role": "r"}),
    "a sysctl": (
        "spec.securityContext.sysctls", [{"name": "net.ipv4.tcp_syncookies", "value": "0"}]),
    "a port of the node": (
        "spec.containers.0.ports", [{"containerPort": 7079, "hostPort": 7079}]),
    "no label for NetworkPolicies": ("metadata.labels.trimtab.dev/ports", "any"),
    "another image": ("spec.containers.0.image", "miner:1"),
    "another image beside": ("spec.containers.+", {"name": "m", "image": "miner:1"}),
    "another image before": ("spec.initContainers", [{"name": "m", "image": "miner:1"}]),
}  # fmt: skip


def test_what_spark_makes_is_let_in(tenant: Callable[..., Any]) -> None:
    assert sample().pipeline == "clicks"
    tenant("create", "--dry-run=server", "-f", "-", manifest=executor(), check=True)
    shared = {"name": "c", "persistentVolumeClaim": {"claimName": "clicks-checkpoint"}}
    openshift = {"level": "s0:c26,c5"}
    for own in (
        changed("spec.volumes.+", shared),
        changed("spec.securityContext.seLinuxOptions", openshift),
        changed("spec.containers.0.ports", [{"containerPort": 7079}]),
    ):
        tenant("create", "--dry-run=server", "-f", "-", manifest=own, check=True)


WORDS = "get the Secrets, ConfigMaps and claims that their pipeline's spec names, and no others"
ASKED = [
    {"name": "store", "mountPath": "/mnt/store", "secret": {"secretName": "store"}},
    {"name": "lookup", "mountPath": "/mnt/lookup", "configMap": {"name": "lookup"}},
    {"name": "cache", "mountPath": "/mnt/cache", "emptyDir": {}},
    {
        "name": "models",
        "mountPath": "/mnt/models",
        "persistentVolumeClaim": {"claimName": "models", "readOnly": True},
    },
]


def test_the_volumes_that_a_spec_asks_for_are_mounted_and_no_others(
    tenant: Callable[..., Any],
) -> None:
    def tried(*volumes: Json) -> str:
        asked = tuple(Volume.model_validate(each) for each in volumes)
        made = executor(shape=PLAIN.model_copy(update={"volumes": asked}))
        return str(tenant("create", "--dry-run=server", "-f", "-", manifest=made).stderr)

    assert tried(*ASKED) == ""
    for field, key in (
        ("secret", "secretName"), ("configMap", "name"), ("persistentVolumeClaim", "claimName"),
    ):  # fmt: skip
        other = {"name": "x", "mountPath": "/mnt/x", field: {key: "other"}}
        assert WORDS in tried(other), field
        assert WORDS in tried(*ASKED, other), field


def test_packages_are_installed_from_what_a_spec_names_and_from_nothing_else(
    tenant: Callable[..., Any],
) -> None:
    def tried(config_map: str, secret: str) -> str:
        index = PackageIndex(index_url="https://i.example/simple", secret_name=secret)
        packages = Packages(config_map=config_map, key="k", sha256="0" * 64, index=index)
        made = executor(shape=PLAIN.model_copy(update={"packages": packages}))
        return str(tenant("create", "--dry-run=server", "-f", "-", manifest=made).stderr)

    assert tried("lookup", "store") == ""
    assert WORDS in tried("other", "store")
    assert WORDS in tried("lookup", "other")


def test_the_secrets_that_a_spec_names_are_mounted_and_no_others(
    tenant: Callable[..., Any], kubectl: Any
) -> None:
    def tried(secrets: list[SecretKey]) -> str:
        made = executor(secrets=secrets)
        return str(tenant("create", "--dry-run=server", "-f", "-", manifest=made).stderr)

    assert tried(NAMED) == ""
    for place in range(len(NAMED)):
        others = [*NAMED[:place], SecretKey("kafka-other", "password"), *NAMED[place + 1 :]]
        assert WORDS in tried(others), place
    assert "at most 16 Secrets" in tried([*NAMED, SecretKey("kafka-16", "password")])
    assert "Forbidden" in tenant("get", "secret", "kafka-1").stderr, "nobody reads one with it"


def test_variables_come_from_secrets_that_a_spec_names_and_from_no_others(
    tenant: Callable[..., Any],
) -> None:
    def tried(place: str, **named: str) -> str:
        source = {f"{kind}KeyRef": {"name": name, "key": "k"} for kind, name in named.items()}
        made = changed(f"spec.containers.{place}", {"name": "A", "valueFrom": source})
        return str(tenant("create", "--dry-run=server", "-f", "-", manifest=made).stderr)

    assert tried("0.env.+", secret="kafka-3") == ""
    assert tried("0.env.+", configMap="anything") == ""
    assert WORDS in tried("0.env.+", secret="other")
    beside = {"name": "b", "image": IMAGE, "env": [{"name": "A", "valueFrom": {
        "secretKeyRef": {"name": "kafka-3", "key": "k"}}}]}  # fmt: skip
    made = changed("spec.containers.+", beside)
    done = tenant("create", "--dry-run=server", "-f", "-", manifest=made)
    assert "their own container alone reads Secrets" in done.stderr


def test_an_identity_in_a_cloud_is_let_in(tenant: Callable[..., Any]) -> None:
    for audience in ("sts.amazonaws.com", "pods.eks.amazonaws.com", "api://AzureADTokenExchange"):
        token = {"serviceAccountToken": {"path": "token", "audience": audience}}
        made = changed("spec.volumes.+", {"name": "cloud", "projected": {"sources": [token]}})
        tenant("create", "--dry-run=server", "-f", "-", manifest=made, check=True)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_any_other_pod_is_not(tenant: Callable[..., Any], attempt: str) -> None:
    made = changed(*ATTEMPTS[attempt])
    done = tenant("create", "--dry-run=server", "-f", "-", manifest=made)
    assert done.returncode != 0, attempt
    assert "ValidatingAdmissionPolicy 'home-t-drivers'" in done.stderr, done.stderr


def test_pods_of_others_are_neither_changed_nor_deleted(
    tenant: Callable[..., Any], kubectl: Any
) -> None:
    foreign = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "tenant"},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    }  # fmt: skip
    own = executor("clicks-1f-exec-2")
    own["metadata"]["namespace"] = "tenant"
    driver = foreign | {"metadata": {"name": "clicks-driver-0", "namespace": "tenant"}}
    for manifest in (foreign, driver):
        kubectl("create", "-f", "-", manifest=manifest)
    assert "'home-t-drivers'" in tenant("delete", "pod", "--all").stderr
    kubectl("create", "-f", "-", manifest=own)
    for arguments in (
        ("delete", "pod", "web"),
        ("annotate", "pod", "web", "a=b"),
        ("label", "pod", "web", "trimtab.dev/pipeline=clicks", "trimtab.dev/component=executor"),
        ("label", "pod", "clicks-1f-exec-2", "--overwrite", "trimtab.dev/pipeline=other"),
        ("label", "pod", "clicks-1f-exec-2", "trimtab.dev/ports-"),
        ("label", "pod", "clicks-driver-0", "app=x"),
        ("set", "image", "pod/clicks-driver-0", "web=miner:1"),
        ("delete", "pod", "clicks-driver-0"),
    ):
        done = tenant(*arguments)
        assert "ValidatingAdmissionPolicy 'home-t-drivers'" in done.stderr, arguments
    tenant("annotate", "pod", "clicks-driver-0", "trimtab.dev/driver-state=x", check=True)
    tenant("annotate", "pod", "clicks-1f-exec-2", "a=b", check=True)
    tenant("delete", "pod", "clicks-1f-exec-2", "--grace-period=0", "--force", check=True)
    kubectl("get", "pod", "web", "-n", "tenant")


def test_images_and_python_can_be_forbidden_to_pipelines(
    kubectl: Any, pipeline: Json, kafka: Json
) -> None:
    kubectl("create", "namespace", "sql-only")
    values = (
        "policy.allowedImages={ok/}",
        "policy.allowPython=false",
        "policy.allowedListeners={shop.Seen}",
        "watchNamespaces={sql-only}",
    )
    for manifest in rendered(*values):
        if manifest["kind"].startswith("ValidatingAdmissionPolicy"):
            manifest["metadata"]["name"] += "-2"
            if "policyName" in manifest["spec"]:
                manifest["spec"]["policyName"] += "-2"
            kubectl("apply", "-f", "-", manifest=manifest)

    def tried(manifest: Json) -> str:
        arguments = ("create", "--dry-run=server", "-n", "sql-only", "-f", "-")
        return str(kubectl(*arguments, manifest=manifest, check=False).stderr)

    deadline = time.monotonic() + 60
    while "allows no Python in pipelines" not in tried(pipeline):
        assert time.monotonic() < deadline, "the policy is not in force"
        time.sleep(0.2)
    pipeline["spec"]["transform"] = {"sql": "SELECT value FROM source"}
    assert tried(pipeline) == ""
    kafka_sink = pipeline["spec"]["sink"]
    python = {"module": "jobs:transform", "modulesFrom": {"image": f"mine@sha256:{'0' * 64}"}}
    pipeline["spec"]["transform"] = {"python": python}
    assert "the image mine@sha256:" in tried(pipeline)
    pipeline["spec"]["transform"] = {"sql": "SELECT value FROM source"}
    pipeline["spec"]["sink"] = {"foreachBatch": {"module": "orders:write"}}
    assert "allows no Python in pipelines" in tried(pipeline)
    named = [{"name": "here", **pipeline["spec"].pop("sink")}, {"name": "there", **kafka_sink}]
    pipeline["spec"]["sinks"] = named
    assert "allows no Python in pipelines" in tried(pipeline)
    pipeline["spec"]["sinks"] = named[1:]
    assert tried(pipeline) == ""
    del pipeline["spec"]["sinks"]
    pipeline["spec"]["sink"] = kafka_sink
    pipeline["spec"]["transform"] = {"jvm": {"class": "shop.Clicks"}}
    assert tried(pipeline) == "", "it comes with an allowed image"
    pipeline["spec"]["transform"]["jvm"]["jar"] = "/mnt/jars/shop.jar"
    assert "allows no jars beside those of images" in tried(pipeline)
    pipeline["spec"]["transform"] = {"sql": "SELECT value FROM source"}
    pipeline["spec"]["listeners"] = ["shop.Seen", "shop.Other", "com.example.Third"]
    words = "does not allow the listeners shop.Other, com.example.Third: ask for them in policy."
    assert words in tried(pipeline)
    pipeline["spec"]["listeners"] = ["shop.Seen"]
    assert tried(pipeline) == ""
    for manifest in (pipeline, kafka):
        manifest["spec"]["image"] = "mine:1"
        assert "the image mine:1 is none of those that the cluster allows: ok/" in tried(manifest)
        manifest["spec"]["image"] = "ok/pipeline:1"
        assert tried(manifest) == ""


def with_all(manifest: Json) -> Json:
    """A pipeline with all that its pods may have beside it."""
    template = {key: part for key, part in TEMPLATE.items() if key != "priorityClassName"}
    more = {"volumes": VOLUMES, "sparkUI": {"enabled": True}, "podTemplate": template}
    asked = {"requirements": {"configMap": {"name": "packages"}}}
    python = manifest["spec"]["transform"]["python"] | asked
    return manifest | {"spec": manifest["spec"] | more | {"transform": {"python": python}}}


def every_pod() -> dict[str, Json]:
    """A pod of each kind that trimtab makes, by what it is."""

    def template(made: Json) -> Json:
        found: Json = copy.deepcopy(made["spec"]["template"])
        for claim in made["spec"].get("volumeClaimTemplates", ()):
            name = claim["metadata"]["name"]
            volume = {"name": name, "persistentVolumeClaim": {"claimName": "any"}}
            found["spec"].setdefault("volumes", []).append(volume)
        return found

    asked = with_all(example("pipeline"))
    job = Job.from_json(pipeline_children(asked)["ConfigMap"]["data"]["job.json"])
    assert job.executors is not None
    shape = job.executors.model_copy(update={"image": IMAGE})
    templates = {
        f"{made['kind']} {made['metadata']['name']}": template(made)
        for made in (
            *pipeline_children(asked).values(),
            *kafka_children(example("kafka")),
            *rendered(),
        )
        if "template" in made.get("spec", {})
    }
    return {"executor": executor(shape=shape), **templates}


def test_every_pod_is_let_in_where_only_restricted_ones_are(kubectl: Any) -> None:
    found = every_pod()
    assert len(found) == 6, list(found)
    level = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"metadata": {"name": "only-restricted", "labels": level}}
    kubectl("create", "-f", "-", manifest={"apiVersion": "v1", "kind": "Namespace"} | namespace)
    where = ("create", "-n", "only-restricted", "--dry-run=server", "-f", "-")
    for what, template in found.items():
        spec = template["spec"] | {"serviceAccountName": "default"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": spec}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        kubectl("apply", "-n", "only-restricted", "-f", "-", manifest=account)
        assert "created" in kubectl(*where, manifest=pod).stdout, what
    careless = {"containers": [{"name": "web", "image": "web:1"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "two"}, "spec": careless}
    assert "violates PodSecurity" in kubectl(*where, manifest=pod, check=False).stderr
