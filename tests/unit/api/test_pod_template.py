"""The pods' template is closed, and leaves what trimtab and Spark need."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from trimtab.api.crd import structural
from trimtab.api.v1alpha1.pod_template import RESERVED_PREFIXES, PodTemplate


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize("prefix", RESERVED_PREFIXES)
def test_reserved_keys_are_refused_by_the_model_and_by_the_schema(field: str, prefix: str) -> None:
    with pytest.raises(ValidationError, match="are reserved: choose another key"):
        PodTemplate.model_validate({field: {f"{prefix}role": "x"}})
    (rule,) = structural(PodTemplate)["properties"][field]["x-kubernetes-validations"]
    assert f"k.startsWith('{prefix}')" in rule["rule"]
    assert prefix in rule["message"]


@pytest.mark.parametrize(
    "asked",
    [
        {"hostNetwork": True},
        {"containers": []},
        {"securityContext": {"runAsUser": 0}},
        {"imagePullSecrets": [{"name": "a", "key": "b"}]},
        {"imagePullSecrets": [{"name": "Not A Name"}]},
        {"imagePullPolicy": "Sometimes"},
        {"tolerations": [{"operator": "Like"}]},
        {"tolerations": [{"tolerationSeconds": -1}]},
        {"affinity": {"nodeAffinity": {"nodeSelectorTerms": []}}},
        {"affinity": {"podAffinity": {"namespaces": ["other"]}}},
        {"labels": {"team": "not a value"}},
        {"labels": {"team": "x" * 64}},
    ],
)
def test_nothing_else_is_taken(asked: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PodTemplate.model_validate(asked)


def test_only_what_is_asked_for_is_written() -> None:
    assert PodTemplate().scheduling() == {}
    asked = {"tolerations": [{"operator": "Exists"}], "affinity": {"podAffinity": {}}}
    written = PodTemplate.model_validate(asked).scheduling()
    assert written["tolerations"] == [{"operator": "Exists"}]
