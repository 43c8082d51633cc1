"""What older documents and operators have left of a pipeline, and nothing needs any more. Pure."""

from __future__ import annotations

from trimtab.ports import Manifest, key_of
from trimtab.reconcile.decide.plan import Plan
from trimtab.reconcile.observe.observation import Observation
from trimtab.workloads.names import tuning_name

GIVEN_UP = ("NetworkPolicy", "PodDisruptionBudget")
"""The kinds that settings or a spec may give up again."""
LEFT = ("ConfigMap", "ServiceAccount", "Role", "RoleBinding", *GIVEN_UP)
"""Those, and the kinds whose names have changed, or change with what they hold."""


def leftovers(seen: Observation, planned: Plan) -> tuple[Manifest, ...]:
    """What the pipeline owns of these kinds, and neither the plan nor the running driver uses.

    While no driver is ready, only those that were given up go: it may be down for their sake. The
    rest stays, because a pod may still be created from an older template.
    """
    if not planned.children:
        return ()
    meta = seen.parent["metadata"]
    needed = {key_of(child)[::2] for child in planned.children}
    needed |= {("ConfigMap", tuning_name(meta["name"])), ("ConfigMap", seen.pod.job)}
    needed |= {(kind, seen.pod.account) for kind in LEFT}
    unneeded = [each for each in seen.owned if key_of(each)[::2] not in needed]
    return tuple(each for each in unneeded if seen.pod.ready or each["kind"] in GIVEN_UP)
