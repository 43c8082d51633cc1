"""The verdicts of `trimtab doctor` about what was read of a cluster. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import ValidationError

from trimtab.api.common import get_condition
from trimtab.api.crd import all_crds
from trimtab.api.quantities import counted
from trimtab.api.v1alpha1.status import ConditionType as Type
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.cli.room import default_need, refusals
from trimtab.ports import Manifest
from trimtab.survey import Survey, Unread

OLDEST = (1, 30)
"""The oldest Kubernetes that the chart installs on."""
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
ENFORCED = "pod-security.kubernetes.io/enforce"
VERSION_LABEL = "app.kubernetes.io/version"
FIRST_HOUR = "docs/first-hour.md"


class Verdict(StrEnum):
    """How a check ends."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """The end of one check: what is so, and what there is to do."""

    verdict: Verdict
    check: str
    words: str
    todo: str = ""


def checked(survey: Survey, ours: str, classes: Sequence[str] = ()) -> list[Finding]:
    """All checks; `ours` is the version of this program, `classes` are StorageClasses to find."""
    return [
        _kubernetes(survey),
        _crds(survey, ours),
        *_operators(survey, ours),
        _rights(survey),
        _namespace(survey),
        _storage(survey, classes),
        _room(survey),
        _metrics(survey),
    ]


def _unread(check: str, answer: Unread) -> Finding:
    return Finding(Verdict.WARN, check, answer.words, "ask somebody who may read it")


def _kubernetes(survey: Survey) -> Finding:
    check, found = "Kubernetes", re.match(r"v?(\d+)\.(\d+)", survey.version)
    if found and tuple(map(int, found.groups())) >= OLDEST:
        return Finding(Verdict.OK, check, survey.version)
    oldest = ".".join(map(str, OLDEST))
    return Finding(Verdict.FAIL, check, f"{survey.version} is too old", f"upgrade to {oldest}")


def _crds(survey: Survey, ours: str) -> Finding:
    check = "CRDs"
    if isinstance(survey.crds, Unread):
        return _unread(check, survey.crds)
    live = {crd["metadata"]["name"]: crd for crd in survey.crds}
    wanted = {crd["metadata"]["name"]: crd for crd in all_crds().values()}
    missing = [name for name in wanted if name not in live]
    operators = () if isinstance(survey.operators, Unread) else survey.operators
    if missing:
        verdict = Verdict.FAIL if operators else Verdict.WARN
        do = "install the chart, or upgrade it with crds.install"
        return Finding(verdict, check, f"missing: {', '.join(missing)}", do)
    idle = [name for name, crd in live.items() if not _established(crd)]
    if idle:
        do = f"kubectl describe crd {idle[0]}"
        return Finding(Verdict.FAIL, check, f"not established: {', '.join(idle)}", do)
    other = [name for name, crd in wanted.items() if _schemas(crd) != _schemas(live[name])]
    if not other:
        return Finding(Verdict.OK, check, f"{counted(len(wanted), 'CRD')}, those of {ours}")
    same = any(_version(each) == ours for each in operators)
    words = f"of another version than {ours}: {', '.join(other)}"
    do = "upgrade the chart with crds.install, or take the command line of its version"
    return Finding(Verdict.FAIL if same else Verdict.WARN, check, words, do)


def _established(crd: Manifest) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def _schemas(crd: Manifest) -> dict[str, object]:
    return {each["name"]: each["schema"] for each in crd["spec"]["versions"]}


def _version(deployment: Manifest) -> str:
    return str((deployment["metadata"].get("labels") or {}).get(VERSION_LABEL, "unknown"))


def _operators(survey: Survey, ours: str) -> Iterator[Finding]:
    if isinstance(survey.operators, Unread):
        yield _unread("operator", survey.operators)
    elif not survey.operators:
        do = f"helm install trimtab ({FIRST_HOUR})"
        yield Finding(Verdict.WARN, "operator", "none is installed", do)
    else:
        watching = [each for each in survey.operators if _watches(each, survey.namespace)]
        yield from (_operator(each, ours) for each in survey.operators)
        if len(watching) != 1:
            words = f"{counted(len(watching), 'operator')} for namespace {survey.namespace}"
            do = "let watchNamespaces of one chart name it, or of none"
            yield Finding(Verdict.FAIL, "operator", words, do)


def _operator(deployment: Manifest, ours: str) -> Finding:
    meta, status = deployment["metadata"], deployment.get("status") or {}
    wanted, ready = deployment["spec"].get("replicas", 1), status.get("readyReplicas", 0)
    words = f"{meta['namespace']}/{meta['name']} {_version(deployment)}, {ready} of {wanted} ready"
    if not ready:
        do = f"kubectl -n {meta['namespace']} describe pods, and the operator's log"
        return Finding(Verdict.FAIL, "operator", words, do)
    if ready < wanted:
        return Finding(Verdict.WARN, "operator", words, "look at the pods that are not")
    if _version(deployment) != ours:
        do = f"this command line is {ours}: install that of the operator"
        return Finding(Verdict.WARN, "operator", words, do)
    return Finding(Verdict.OK, "operator", words)


def _watches(deployment: Manifest, namespace: str) -> bool:
    (container, *_) = deployment["spec"]["template"]["spec"]["containers"]
    said = {each["name"]: each.get("value", "") for each in container.get("env") or ()}
    names = [name for name in said.get("TRIMTAB_NAMESPACES", "").split(",") if name]
    return not names or namespace in names


def _rights(survey: Survey) -> Finding:
    where = f"in namespace {survey.namespace}"
    if not survey.denied:
        words = f"you may make pipelines and read their histories {where}"
        return Finding(Verdict.OK, "rights", words)
    lacking = ", ".join(
        f"{each.verb} {each.resource}{'.' if each.group else ''}{each.group}"
        for each in survey.denied
    )
    do = "ask for a Role that allows it"
    return Finding(Verdict.FAIL, "rights", f"you may not {lacking} {where}", do)


def _namespace(survey: Survey) -> Finding:
    check, name = "namespace", survey.namespace
    if isinstance(survey.home, Unread):
        return _unread(check, survey.home)
    if survey.home is None:
        do = f"kubectl create namespace {name}"
        return Finding(Verdict.FAIL, check, f"there is no namespace {name}", do)
    if survey.home["metadata"].get("deletionTimestamp"):
        return Finding(Verdict.FAIL, check, f"{name} is being deleted", "choose another with -n")
    level = (survey.home["metadata"].get("labels") or {}).get(ENFORCED)
    words = f"Pod Security enforces {level}" if level else "Pod Security enforces no level"
    return Finding(Verdict.OK, check, f"{name}: {words}, and trimtab's pods pass restricted")


def _storage(survey: Survey, named: Sequence[str]) -> Finding:
    check = "storage"
    if isinstance(survey.classes, Unread):
        return _unread(check, survey.classes)
    there = [each["metadata"]["name"] for each in survey.classes]
    if named:
        missing = [name for name in named if name not in there]
        if not missing:
            return Finding(Verdict.OK, check, f"StorageClass {', '.join(named)}")
        do = f"name one of: {', '.join(there) or 'none'}"
        return Finding(Verdict.FAIL, check, f"no StorageClass {', '.join(missing)}", do)
    default = [each["metadata"]["name"] for each in survey.classes if _is_default(each)]
    if default:
        return Finding(Verdict.OK, check, f"StorageClass {default[0]} is the default")
    do = "mark one as the default, or name one in checkpoint.volumeClaim.storageClassName"
    if not there:
        return Finding(Verdict.FAIL, check, "there is no StorageClass", do)
    return Finding(Verdict.WARN, check, f"no StorageClass is the default: {', '.join(there)}", do)


def _is_default(storage_class: Manifest) -> bool:
    return (storage_class["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"


def _room(survey: Survey) -> Finding:
    check = "quota"
    for answer in (survey.quotas, survey.ranges):
        if isinstance(answer, Unread):
            return _unread(check, answer)
    assert not isinstance(survey.quotas, Unread)
    assert not isinstance(survey.ranges, Unread)
    found = list(refusals(survey.quotas, survey.ranges, default_need()))
    if not found:
        return Finding(Verdict.OK, check, "a driver and an executor of the default sizes fit in")
    verdict = Verdict.FAIL if any(always for always, _ in found) else Verdict.WARN
    do = "change it, or spec.resources of the pipelines"
    return Finding(verdict, check, "; ".join(words for _, words in found), do)


def _metrics(survey: Survey) -> Finding:
    check = "metrics"
    if isinstance(survey.pipelines, Unread):
        return _unread(check, survey.pipelines)
    said = [one for each in survey.pipelines if (one := _metrics_of(each))]
    if not said:
        words = "no pipeline is Ready, so the operator cannot tell whether drivers are scraped"
        return Finding(Verdict.WARN, check, words, "ask again once one is")
    late = [each for each in said if each.reason == "FreshFromPrometheus"]
    if bad := [each for each in said if each.status == "False"] or late:
        verdict = Verdict.WARN if bad is late else Verdict.FAIL
        words = f"of {len(bad)} of {counted(len(said), 'pipeline')}: {bad[0].pipeline}"
        words = f"{words} {bad[0].reason}: {bad[0].message}"
        return Finding(verdict, check, words, "docs/conditions.md, under MetricsAvailable")
    return Finding(Verdict.OK, check, f"fresh from {counted(len(said), 'pipeline')}")


@dataclass(frozen=True, slots=True)
class _Said:
    """What the operator says of a pipeline's metrics."""

    pipeline: str
    status: str
    reason: str
    message: str


def _metrics_of(pipeline: Manifest) -> _Said | None:
    """None: there is no driver that runs, or the operator does not know yet."""
    try:
        conditions = StreamPipelineStatus.model_validate(pipeline.get("status") or {}).conditions
    except ValidationError:
        return None
    ready = get_condition(conditions, Type.READY)
    metrics = get_condition(conditions, Type.METRICS_AVAILABLE)
    if not (ready and ready.status == "True" and metrics and metrics.status != "Unknown"):
        return None
    meta = pipeline["metadata"]
    name = f"{meta.get('namespace', '')}/{meta['name']}"
    return _Said(name, metrics.status, metrics.reason, metrics.message)
