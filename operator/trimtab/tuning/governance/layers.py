"""One policy as it applies to pipelines, and the order in which several do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from trimtab.api.kinds import CLUSTER_TUNING_POLICY
from trimtab.api.v1alpha1.policies import ClusterTuningPolicySpec, TuningPolicySpec
from trimtab.ports import Key


@dataclass(frozen=True, slots=True)
class Layer:
    """A policy that can be read."""

    kind: str
    namespace: str
    """Empty for one of the cluster."""
    name: str
    spec: TuningPolicySpec

    @property
    def title(self) -> str:
        """How it is named in messages and in a pipeline's status."""
        return f"{self.kind}/{self.name}"

    @property
    def key(self) -> Key:
        """The object that it is."""
        return self.kind, self.namespace, self.name

    @property
    def of_cluster(self) -> bool:
        """Whether it stands above those of namespaces."""
        return self.kind == CLUSTER_TUNING_POLICY.name

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether it applies to a pipeline in this namespace with these labels."""
        spec = self.spec
        if isinstance(spec, ClusterTuningPolicySpec):
            named = any(fnmatchcase(namespace, name) for name in spec.namespaces)
            inside = named or not spec.namespaces
        else:
            inside = namespace == self.namespace
        return inside and spec.selector.matches(labels)

    def equal_rank(self, other: Layer) -> bool:
        """Whether neither stands above the other."""
        return self._rank[:2] == other._rank[:2]

    @property
    def _rank(self) -> tuple[bool, int, str]:
        return not self.of_cluster, -self.spec.priority, self.name


def from_the_top(layers: Iterable[Layer]) -> list[Layer]:
    """The cluster's policies, then those of the namespace; of each kind, the higher priority."""
    return sorted(layers, key=lambda layer: layer._rank)
