"""What older documents and operators have left of a pipeline, and nothing needs any more. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.ports import Manifest, key_of
from trimtab.reconcile.decide.plan import Plan
from trimtab.reconcile.observe.observation import Observation
from trimtab.settings import OperatorSettings
from trimtab.workloads.names import history_name, tuning_name

GIVEN_UP = ("NetworkPolicy", "PodDisruptionBudget", "Service")
"""The kinds that settings or a spec may give up again."""
LEFT = ("ConfigMap", "ServiceAccount", "Role", "RoleBinding", *GIVEN_UP)
"""Those, and the kinds whose names have changed, or change with what they hold."""


def given_up(
    owned: Iterable[Manifest], config: OperatorSettings, spec: StreamPipelineSpec | None
) -> tuple[Manifest, ...]:
    """What settings and spec no longer ask for, whatever else is wrong; None: it cannot be read."""
    gone = {
        "NetworkPolicy": config.network is None,
        "PodDisruptionBudget": spec is not None and spec.evictable,
        "Service": spec is not None and not spec.shows_ui,
    }
    return tuple(each for each in owned if gone.get(each["kind"]))


def leftovers(seen: Observation, planned: Plan) -> tuple[Manifest, ...]:
    """What the pipeline owns of these kinds, and neither the plan nor the running driver uses.

    While no driver is ready, only those that were given up go: it may be down for their sake. The
    rest stays, because a pod may still be created from an older template.
    """
    if not planned.children:
        return given_up(seen.owned, seen.config, seen.spec)
    meta = seen.parent["metadata"]
    needed = {key_of(child)[::2] for child in planned.children}
    kept = (tuning_name(meta["name"]), history_name(meta["name"]), seen.pod.job)
    needed |= {("ConfigMap", name) for name in kept}
    needed |= {(kind, seen.pod.account) for kind in LEFT}
    unneeded = [each for each in seen.owned if key_of(each)[::2] not in needed]
    return tuple(each for each in unneeded if seen.pod.ready or each["kind"] in GIVEN_UP)
