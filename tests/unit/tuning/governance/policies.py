"""Policies for tests."""

from __future__ import annotations

from typing import Any

from trimtab.api.v1alpha1.policies import ClusterTuningPolicySpec, TuningPolicySpec
from trimtab.tuning.governance.layers import Layer


def namespaced(name: str = "team", namespace: str = "team-a", **spec: Any) -> Layer:
    """A TuningPolicy."""
    return Layer("TuningPolicy", namespace, name, TuningPolicySpec.model_validate(spec))


def of_cluster(name: str = "fleet", **spec: Any) -> Layer:
    """A ClusterTuningPolicy."""
    made = ClusterTuningPolicySpec.model_validate(spec)
    return Layer("ClusterTuningPolicy", "", name, made)
