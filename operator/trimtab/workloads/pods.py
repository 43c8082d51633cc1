"""What users and the chart add to pods: merged, and put into a pod's template. Pure."""

from __future__ import annotations

from trimtab.api.v1alpha1.pod_template import PodTemplate, PullSecret
from trimtab.ports import Manifest
from trimtab.settings import DEFAULT_PULL_POLICY, OperatorSettings


def pod_template(asked: PodTemplate | None, config: OperatorSettings) -> PodTemplate:
    """What a spec asks for, with the pull secrets and the pull policy of the operator's chart."""
    asked = asked or PodTemplate()
    names = dict.fromkeys(config.image_pull_secrets)
    names |= dict.fromkeys(secret.name for secret in asked.image_pull_secrets)
    return asked.model_copy(
        update={
            "image_pull_secrets": [PullSecret(name=name) for name in names],
            "image_pull_policy": asked.image_pull_policy or config.image_pull_policy,
        }
    )


def told(template: PodTemplate) -> PodTemplate | None:
    """The template for the job document; None if it says nothing that is not so anyway.

    A document that says nothing new is understood by drivers of an older image.
    """
    return None if template == PodTemplate(image_pull_policy=DEFAULT_PULL_POLICY) else template


def shaped(pod: Manifest, template: PodTemplate) -> Manifest:
    """A pod's template with what is added; labels and annotations of trimtab win."""
    meta, spec = dict(pod["metadata"]), pod["spec"] | template.scheduling()
    for field, added in (("labels", template.labels), ("annotations", template.annotations)):
        if added:
            meta[field] = added | meta.get(field, {})
    policy = {"imagePullPolicy": template.image_pull_policy}
    for kind in ("containers", "initContainers"):
        if kind in spec:
            spec[kind] = [container | policy for container in spec[kind]]
    if template.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": s.name} for s in template.image_pull_secrets]
    return {"metadata": meta, "spec": spec}
