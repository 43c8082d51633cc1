"""What policies above a pipeline make of its spec, as its status tells."""

from __future__ import annotations

from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.tuning.governance.governed import Parts, SetBy, restated
from trimtab.tuning.policy import Policy


def in_force(spec: StreamPipelineSpec, status: StreamPipelineStatus) -> Policy:
    """What the control core is asked, as far as the status tells of policies above the spec."""
    told = (SetBy(each.field, each.value, each.policy) for each in status.policies)
    parts = restated(Parts(spec.goal, spec.limits, spec.tuning), told)
    stated = Policy.stated(parts.goal, parts.limits, parts.tuning, spec.resources.executor)
    return stated.of_query(spec)


def told(status: StreamPipelineStatus) -> str:
    """The values that policies set, by policy."""
    said: dict[str, list[str]] = {}
    for each in status.policies:
        said.setdefault(each.policy, []).append(f"{each.field} {each.value}")
    return "; ".join(f"{', '.join(values)} ({policy})" for policy, values in said.items())
