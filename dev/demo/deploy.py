"""From nothing to a pipeline that is Ready: cluster, images, Helm chart, example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dev.demo.kube import DemoError, Kube, condition
from dev.localcluster import cluster, console
from dev.localcluster.binaries import binary, ensure_tools
from dev.localcluster.images import build_images, push_images
from dev.localcluster.paths import REPO, Paths

NEEDED = ("kafka", "pipeline", "prometheus", "operator")
EXAMPLE = REPO / "examples/10-quickstart"


def local_cluster(
    paths: Paths, namespace: str, nodes: int = 1, instead: Mapping[str, str] | None = None
) -> tuple[Kube, dict[str, str]]:
    """Boot our own cluster if it is not up, build and load the images.

    `instead` names images that take the place of those that are needed.

    Raises:
        DemoError: one is up that has fewer nodes.
    """
    with console.step("tools", 1800):
        ensure_tools(paths)
    if not all(f.healthy for f in cluster.status(paths)):
        cluster.up(paths, nodes)
    elif cluster.size(paths) < nodes:
        raise DemoError(f"a cluster of fewer than {nodes} nodes is up: `make cluster-down` first")
    images = {name: (instead or {}).get(name, name) for name in NEEDED}
    tags = build_images(paths, list(images.values()))
    cluster.load(paths, list(images.values()))
    kube = Kube(binary(paths, "kubectl"), binary(paths, "helm"), paths.kubeconfig, namespace)
    return kube, {name: tags[image] for name, image in images.items()}


def current_cluster(paths: Paths, namespace: str, registry: str) -> tuple[Kube, dict[str, str]]:
    """Use the current context; the images go to the registry that it can pull from."""
    if not registry:
        raise DemoError("CLUSTER=current needs REGISTRY=host/path that the cluster can pull from")
    with console.step("tools", 1800):
        ensure_tools(paths, ("helm",))
    build_images(paths, NEEDED)
    tags = push_images(paths, registry, NEEDED)
    return Kube("kubectl", binary(paths, "helm"), None, namespace), tags


RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"


def restrict(kube: Kube, namespace: str) -> None:
    """Let a namespace admit only pods of the Pod Security level `restricted`."""
    kube.call("label", "namespace", namespace, "--overwrite", RESTRICTED)


ASKED = [
    f"--set=networkPolicy.prometheusFrom[{place}].ipBlock.cidr={cidr}"
    for place, cidr in enumerate(("0.0.0.0/0", "::/0"))
]
"""The demo queries Prometheus through the API server's proxy, which comes from an unknown node."""


def install(kube: Kube, tags: dict[str, str], tick_s: float, values: Sequence[str] = ()) -> None:
    """Install the operator with Helm, with a small Prometheus beside it.

    `values` are more of the chart's, such as `podSecurityContext.runAsUser=20001`.
    """
    with console.step("Helm chart", 300):
        kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "trimtab"}})
        restrict(kube, "trimtab")
        kube.install(
            "upgrade", "--install", "trimtab", str(REPO / "charts/trimtab"),
            "--namespace=trimtab", "--wait", "--timeout=180s",
            "--set=prometheus.install=true", *ASKED, f"--set=operator.tickSeconds={tick_s:g}",
            *(f"--set-string=images.{name}={tag}" for name, tag in tags.items()),
            *(f"--set={value}" for value in values),
        )  # fmt: skip


def example(kube: Kube, folder: Path = EXAMPLE) -> None:
    """Apply an example and wait until its Kafka and its pipeline are Ready."""
    kube.call("apply", "-f", str(folder))
    wait_ready(kube)


def wait_ready(kube: Kube) -> None:
    """Wait until the example's Kafka and pipeline are Ready."""
    kube.wait("Kafka ready", 240, lambda: condition(kube.get("tkc", "events"), "Ready") == "True")
    kube.wait(
        "pipeline ready", 240, lambda: condition(kube.get("spl", "clicks"), "Ready") == "True"
    )
