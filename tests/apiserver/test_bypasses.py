"""The first door: the API server refuses what the table of docs/security.md says, and no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.bypasses import ALLOWED, ALLOWED_ENV, BYPASSES, Bypass, Door

pytestmark = pytest.mark.apiserver


def refusals(kubectl: Any, pipeline: dict[str, Any], tried: list[Bypass]) -> dict[int, str]:
    """What the API server says of each attempt that it refuses, all sent at once."""

    def manifests() -> Iterator[dict[str, Any]]:
        for number, bypass in enumerate(tried):
            meta = {"name": f"try-{number}"}
            yield pipeline | {"metadata": meta, "spec": pipeline["spec"] | bypass.spec}

    many = {"apiVersion": "v1", "kind": "List", "items": list(manifests())}
    done = kubectl("create", "--dry-run=server", "-f", "-", manifest=many, check=False)
    taken = re.findall(r"/try-(\d+) created", done.stdout)
    said = re.split(r'StreamPipeline\S* "try-(\d+)" is invalid', done.stderr)
    refused = dict(zip(map(int, said[1::2]), said[2::2], strict=True))
    assert sorted([*map(int, taken), *refused]) == list(range(len(tried))), done.stderr
    return refused


def test_a_bypass_is_refused(kubectl: Any, pipeline: dict[str, Any]) -> None:
    found = refusals(kubectl, pipeline, list(BYPASSES))
    accepted = {b.row for n, b in enumerate(BYPASSES) if n not in found}
    assert accepted == {b.row for b in BYPASSES if Door.CRD not in b.doors}
    for number, text in found.items():
        part = "spec.sparkConf" if BYPASSES[number].conf else "spec.env"
        assert part in text


def test_what_somebody_needs_is_taken(kubectl: Any, pipeline: dict[str, Any]) -> None:
    env = tuple((name, "x") for name in ALLOWED_ENV)
    wanted = [Bypass("", conf=conf, env=env) for conf in ALLOWED]
    assert refusals(kubectl, pipeline, wanted) == {}


def test_the_most_settings_and_variables_are_judged_in_time(
    kubectl: Any, pipeline: dict[str, Any]
) -> None:
    """The API server ends a check that costs too much, whatever its outcome."""
    long = Bypass(
        "",
        conf={f"spark.hadoop.fs.{'x' * 200}.{n}": "v" * 2048 for n in range(64)},
        env=tuple((f"{'N' * 125}_{n:02}", "v" * 4096) for n in range(64)),
    )
    assert refusals(kubectl, pipeline, [long]) == {}
