"""The accounts of a pipeline's pods, with what the spec adds to them."""

from __future__ import annotations

from tests.unit.workloads.manifests import CONFIG, Json, changed, example, inputs, reached

from trimtab.workloads import pipeline
from trimtab.workloads.common import HASH_ANNOTATION

PLAIN = example("pipeline")
ROLE = {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/clicks"}
ASKED = changed(PLAIN, "serviceAccount", {"annotations": ROLE})


def accounts(manifest: Json) -> dict[str, dict[str, str]]:
    """The annotations of both accounts, by name."""
    spec = reached(manifest)
    job = pipeline.job_definition(manifest, spec, CONFIG)
    return {
        child["metadata"]["name"]: child["metadata"]["annotations"]
        for child in pipeline.children(manifest, spec, job, CONFIG)
        if child["kind"] == "ServiceAccount"
    }


def test_both_accounts_have_the_annotations() -> None:
    found = accounts(ASKED)
    assert list(found) == ["trimtab-driver-clicks", "trimtab-executor-clicks"]
    for name, said in found.items():
        assert said.items() >= ROLE.items(), name
        assert said[HASH_ANNOTATION] != accounts(PLAIN)[name][HASH_ANNOTATION], "applied"


def test_without_them_the_accounts_are_as_before() -> None:
    for asked in (None, {}, {"annotations": {}}):
        manifest = changed(PLAIN, "serviceAccount", asked)
        assert accounts(manifest) == accounts(PLAIN)
        assert inputs(manifest) == inputs(PLAIN)
    assert all(list(found) == [HASH_ANNOTATION] for found in accounts(PLAIN).values())


def test_an_edit_restarts_the_driver() -> None:
    """A webhook looks at the account only when a pod is made."""
    other = changed(PLAIN, "serviceAccount", {"annotations": {"eks.amazonaws.com/role-arn": "x"}})
    assert len({inputs(PLAIN), inputs(ASKED), inputs(other)}) == 3
