"""One table of kinds: the CRDs and the rights that the chart asks for are the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from trimtab.api.crd import all_crds
from trimtab.api.kinds import KINDS, OURS, WATCHED, watched_in
from trimtab.reconcile.apply.drift import CLOSED
from trimtab.reconcile.decide.leftovers import LEFT

HELPERS = Path("charts/trimtab/templates/_helpers.tpl")
STATUS = ("patch",)
"""Verbs on the status of our own kinds."""


def chart_rights(rules: str) -> set[tuple[str, str, str]]:
    """Group, resource and verb of every right that the chart gives the operator."""
    text = HELPERS.read_text()
    found = re.search(rf'define "trimtab.{rules}" -\}}\}}\n(.*?)\{{\{{- end', text, re.S)
    assert found
    return {
        (group, resource, verb)
        for rule in yaml.safe_load(found.group(1))
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize(("rules", "of_cluster"), [("rules", False), ("clusterRules", True)])
def test_the_chart_asks_for_the_rights_of_the_table_and_no_others(
    rules: str, of_cluster: bool
) -> None:
    kinds = [kind for kind in KINDS.values() if kind.of_cluster is of_cluster]
    needed = {(kind.group, kind.plural, verb) for kind in kinds for verb in kind.verbs}
    ours = [kind for kind in kinds if kind in OURS]
    needed |= {(kind.group, f"{kind.plural}/status", verb) for kind in ours for verb in STATUS}
    assert chart_rights(rules) == needed


def test_an_operator_of_some_namespaces_does_not_watch_what_belongs_to_none() -> None:
    assert {kind.name for kind in WATCHED if kind not in watched_in(("team-a",))} == {
        "ClusterTuningPolicy"
    }
    assert watched_in(()) == WATCHED


def test_what_is_watched_may_be_listed() -> None:
    assert {"list", "watch"} <= set.intersection(*(set(kind.verbs) for kind in WATCHED))


def test_only_kinds_that_are_replaced_may_be_updated_and_only_deleted_ones_deleted() -> None:
    allowed = {
        verb: {name for name, kind in KINDS.items() if verb in kind.verbs}
        for verb in ("update", "delete")
    }
    assert allowed["update"] == set(CLOSED) - {"Role", "RoleBinding"}
    assert allowed["delete"] == {"Job", "Pod", *LEFT}, "jobs and pods are replaced by deleting them"


def test_every_kind_of_ours_has_a_crd_by_its_names() -> None:
    crds = all_crds()
    assert set(crds) == {f"{kind.plural}.yaml" for kind in OURS}
    for kind in OURS:
        names = crds[f"{kind.plural}.yaml"]["spec"]["names"]
        assert (names["kind"], names["shortNames"]) == (kind.name, [kind.short])
