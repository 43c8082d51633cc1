"""A policy from its manifest."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from trimtab.api.common import faults
from trimtab.api.kinds import CLUSTER_TUNING_POLICY, TUNING_POLICY
from trimtab.api.v1alpha1.policies import ClusterTuningPolicySpec, TuningPolicySpec
from trimtab.ports import Manifest, key_of
from trimtab.tuning.governance.layers import Layer

MODELS: Mapping[str, type[TuningPolicySpec]] = {
    TUNING_POLICY.name: TuningPolicySpec,
    CLUSTER_TUNING_POLICY.name: ClusterTuningPolicySpec,
}
"""The kinds of policies."""

_LONGEST = 800


def read(manifest: Manifest) -> tuple[Layer, str]:
    """A policy, and what is wrong with it; of a wrong one only what it selects."""
    kind, namespace, name = key_of(manifest)
    spec = manifest.get("spec") or {}
    try:
        return Layer(kind, namespace, name, MODELS[kind].model_validate(spec)), ""
    except ValidationError as error:
        selects = Layer(kind, namespace, name, _selection(kind, spec))
        return selects, faults(error)[:_LONGEST]


def _selection(kind: str, spec: Manifest) -> TuningPolicySpec:
    """What a policy selects whose other parts are wrong; all in its reach, if that is wrong too."""
    only = {part: spec[part] for part in ("selector", "namespaces") if part in spec}
    try:
        return MODELS[kind].model_validate(only)
    except ValidationError:
        return MODELS[kind]()
