"""`trimtab top`: all pipelines in one table, those that need somebody first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import IO, Any

from pydantic import ValidationError

from trimtab.api.common import get_condition
from trimtab.api.quantities import counted
from trimtab.api.v1alpha1.status import ConditionType as Type
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.cli.cluster import reader
from trimtab.cli.manifests import pipelines_in
from trimtab.cli.rows import columns, line
from trimtab.ports import Manifest

HEAD = (
    "NAMESPACE", "NAME", "GOAL", "OBSERVED", "MET", "LOAD", "LAG", "EXECUTORS", "CORES", "MODE",
    "LAST DECISION", "REASON",
)  # fmt: skip
LONGEST = 63
"""Characters of a cell."""
AGAIN_S = 5.0
CLEAR = "\x1b[H\x1b[2J"
"""Begins a new page in a terminal."""


def shown(which: dict[str, Any], echo: Callable[[str], None], *, again: bool) -> None:
    """Print the table, again and again if so; raises BadInputError or UnavailableError."""
    while True:
        text = table(_read(**which))
        echo(f"{CLEAR}{text}" if again else text)
        if not again:
            return
        try:
            threading.Event().wait(AGAIN_S)
        except KeyboardInterrupt:
            return


def _read(
    kubeconfig: str | None, namespace: str | None, selector: str, filename: IO[str] | None,
    *, all_namespaces: bool,
) -> list[Manifest]:  # fmt: skip
    if filename:
        return pipelines_in(filename.read(), None, namespace)
    found = reader("kubectl get spl -A -o yaml | trimtab top -f -").list_pipelines(
        namespace, kubeconfig, selector, everywhere=all_namespaces
    )
    return list(found)


def table(manifests: Iterable[Manifest]) -> str:
    """The pipelines as lines of text: Stalled, then goals that are missed, then by load."""
    found = sorted(((_rank(each), _row(each)) for each in manifests), key=lambda one: one[0])
    rows = [HEAD, *(row for _, row in found)]
    cores = sum(int(row[HEAD.index("CORES")] or 0) for row in rows[1:])
    missed = sum(row[HEAD.index("MET")] == "False" for row in rows[1:])
    count = counted(len(rows) - 1, "pipeline")
    return "\n".join([*columns(rows), f"{count}, goals missed: {missed}, cores: {cores}"])


def _status(manifest: Manifest) -> StreamPipelineStatus:
    try:
        return StreamPipelineStatus.model_validate(manifest.get("status") or {})
    except ValidationError:
        return StreamPipelineStatus()


def _is(status: StreamPipelineStatus, type_: Type) -> str:
    condition = get_condition(status.conditions, type_)
    return condition.status if condition else ""


def _rank(manifest: Manifest) -> tuple[bool, bool, float, str, str]:
    """What sorts first: small."""
    status, meta = _status(manifest), manifest["metadata"]
    load = float(status.load) if status.load else 0.0
    return (
        _is(status, Type.STALLED) != "True",
        _is(status, Type.GOAL_MET) != "False",
        -load,
        meta.get("namespace", ""),
        meta["name"],
    )


def _row(manifest: Manifest) -> tuple[str, ...]:
    status, meta = _status(manifest), manifest["metadata"]
    stalled = get_condition(status.conditions, Type.STALLED)
    tuning = get_condition(status.conditions, Type.TUNING)
    why = stalled if stalled and stalled.status == "True" else tuning
    effective = status.effective.executors if status.effective else None
    cells = (
        meta.get("namespace", ""),
        meta["name"],
        status.goal.target if status.goal else "",
        (status.goal.observed or "") if status.goal else "",
        _is(status, Type.GOAL_MET),
        status.load or "",
        (status.lag.time or "") if status.lag else "",
        "" if effective is None else str(effective),
        "" if status.cores is None else str(status.cores),
        status.mode or "",
        status.decisions[-1].time if status.decisions else "",
        why.reason if why else "",
    )
    return tuple(line(cell)[:LONGEST] for cell in cells)
