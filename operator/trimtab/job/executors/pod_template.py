"""What users and the chart add to executor pods: by Spark's keys, or in its pod template."""

from __future__ import annotations

import json

from trimtab.api.v1alpha1.pod_template import PodTemplate

_IMAGE = "spark.kubernetes.container.image"
_POD = "spark.kubernetes.executor"


def keys(template: PodTemplate | None) -> dict[str, str]:
    """Spark's keys for what it sets itself, and would set over a pod template."""
    if template is None:
        return {}
    found = {f"{_POD}.label.{name}": value for name, value in template.labels.items()}
    found |= {f"{_POD}.annotation.{name}": value for name, value in template.annotations.items()}
    if template.image_pull_policy is not None:
        found[f"{_IMAGE}.pullPolicy"] = template.image_pull_policy
    if template.image_pull_secrets:
        found[f"{_IMAGE}.pullSecrets"] = ",".join(s.name for s in template.image_pull_secrets)
    return found


def shaped(pod: str, template: PodTemplate | None) -> str:
    """The pod template with what Spark has no key for."""
    if template is None:
        return pod
    manifest = json.loads(pod)
    manifest["spec"] |= template.scheduling()
    return json.dumps(manifest)
