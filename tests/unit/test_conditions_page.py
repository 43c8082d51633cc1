"""docs/conditions.md: an entry for every reason that the code can put into a condition."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from trimtab.api import kinds
from trimtab.api.reasons import Reason as Decided
from trimtab.job.termination import Reason as Ended
from trimtab.reconcile.observe import containers

ROOT = Path(__file__).parents[2]
WORD = re.compile(r"([A-Z][a-z0-9]+)+")
OF_KUBERNETES = {
    *kinds.KINDS, *containers.IMAGE_REASONS, *containers.CONFIG_REASONS,
    *containers.NEVER_STARTED, "Failed", "False", "Job",
    "PersistentVolumeClaim", "PodScheduled", "Ready", "True",
}  # fmt: skip
CONDITIONS = {"Reconciling", "Stalled", "UpdateAvailable"}
"""Conditions that are no reason too."""
EVENTS = {
    "BrokerReplaced", "DriftRepaired", "JvmAdvice", "KeysRenewed", "LateRecords", "LedgerMismatch",
    "PartitionsAdvice", "RecordsMissing", "RunDeadlineExceeded", "RunDrained", "RunStarted",
    "SinkChanged", "TopicsKept",
}  # fmt: skip


def said() -> set[str]:
    """Every word in the code of the loop that has the form of a reason, and is no other name."""
    files = (ROOT / "operator/trimtab/reconcile").rglob("*.py")
    words = {
        node.value
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if WORD.fullmatch(node.value)
    }
    others = OF_KUBERNETES | CONDITIONS | EVENTS
    assert sorted(others - words - OF_KUBERNETES) == []
    return words - others


def rows() -> list[list[str]]:
    text = (ROOT / "docs/conditions.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_reason_has_one_entry_and_nothing_else_has() -> None:
    told = [row[0].strip("`") for row in rows()]
    reasons = said() | {str(reason) for reason in (*Decided, *Ended)}
    assert {"QuotaExceeded", "WaitsForConsent", "Accepted", "PositionBeyondEnd"} < reasons
    assert sorted(told) == sorted(reasons)


def test_every_entry_says_what_it_means_and_what_to_do() -> None:
    assert [row for row in rows() if len(row) != 3 or not all(row)] == []
