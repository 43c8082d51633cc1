"""The table of all cases, over their repeats."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence, Set
from itertools import groupby

from bench.bottlenecks.cases import CASES, Json
from bench.bottlenecks.drive import POLL_S, SETTLED_S, SICK_S, Outcome

HEAD = f"""# Bottlenecks, made on purpose

`make demo-bottlenecks`: one pipeline after another on the local cluster (2 cores), each with one known
[bottleneck](../glossary.md), all of them several times. Each runs its full load for {SICK_S:g} s with
`tuning.mode: Observe`; that is *before*. Then the tuner is free until it meets its goal, nothing has changed for
{SETTLED_S:g} s and the latency falls no more, or its time is over; that is *after*. Both are the 95th percentile
in `status.goal.observed`, the median over the repeats, with the range. "Named" counts how often each kind was in
the status, sampled every {POLL_S:g} s, and the reason of a decision. "Cured by" counts the runs with a change that
should help; a dash means that no change that trimtab may make should. *By hand*: what the bottleneck's message
asks for is then done in the spec, and *after* is after that. *Put back*: nothing that trimtab may change helps, and the
runs count that end with this verdict. A verdict *TrialUnproven* means that the load changed during the trial.

| true bottleneck | named in | samples | cured by | knobs moved | verdicts | p95 before, s | after, s | goal met | commit |
|---|---|---|---|---|---|---|---|---|---|
"""  # noqa: E501


def table(outcomes: Sequence[Outcome]) -> str:
    """The page in Markdown."""
    rows = [_row(list(repeats)) for _, repeats in groupby(outcomes, lambda each: each.title)]
    return HEAD + "".join(f"{row}\n" for row in rows) + _notes({each.title for each in outcomes})


def _notes(titles: Set[str]) -> str:
    """What is to know of the cases in the table."""
    noted = [case for case in CASES if case.note and case.title in titles]
    return "".join(["\nNotes:\n\n" if noted else "", *(f"- {c.title}: {c.note}\n" for c in noted)])


def _row(repeats: Sequence[Outcome]) -> str:
    many, named = len(repeats), Counter[str]()
    for each in repeats:
        named.update(each.named)
    right = sum(each.right for each in repeats)
    samples = ", ".join(f"{kind} {count}" for kind, count in named.most_common()) or "nothing"
    moved = _said(repeats, "Change")
    verdicts = [_said(repeats, action) for action in ("Keep", "Revert", "Unproven")]
    failures = "; ".join(each.failure for each in repeats if each.failure)
    cells = (
        repeats[0].title, f"{right} of {many}", samples, _cured(repeats), moved or "none",
        "; ".join(filter(None, [*verdicts, failures])) or "-",
        _seconds([each.before_s for each in repeats]), _seconds([each.after_s for each in repeats]),
        f"{sum(each.met for each in repeats)} of {many} ({repeats[0].target})",
        ", ".join(dict.fromkeys(each.commit for each in repeats)),
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _cured(repeats: Sequence[Outcome]) -> str:
    """In how many runs a change was made that should help the case, or was put back as it should
    be, and the reasons of both."""
    case = next((case for case in CASES if case.title == repeats[0].title), None)
    if case is None or not case.expects:
        return "by hand" if case and case.by_hand is not None else "-"
    wanted = (case.reverts,) if case.reverts else case.expects
    came = sum(any(each["reason"] in wanted for each in one.decisions) for one in repeats)
    return f"{came} of {len(repeats)} ({'put back: ' if case.reverts else ''}{' or '.join(wanted)})"


def _said(repeats: Sequence[Outcome], action: str) -> str:
    """What the decisions of one action said, with how often each did over the repeats."""
    made = (each for outcome in repeats for each in outcome.decisions if each["action"] == action)
    said = Counter(_words(each) for each in made)
    return "; ".join(f"{words} ×{n}" if n > 1 else words for words, n in said.items())


def _words(decision: Json) -> str:
    """A change by what moved, a verdict by the first part of its message."""
    reason, message = decision["reason"], decision["message"]
    if decision["action"] != "Change":
        return f"{reason}: {message.split(';')[0]}"
    moved = _change(message)
    return f"{reason} ({moved})" if moved else str(reason)


def _change(message: str) -> str:
    parts = [part for part in message.replace(": ", ", ").split(", ") if "->" in part]
    return ", ".join(parts)


def _seconds(values: Sequence[float | None]) -> str:
    known = sorted(value for value in values if value is not None)
    if not known:
        return "unknown"
    middle = f"{statistics.median(known):.1f}"
    return middle if len(known) == 1 else f"{middle} ({known[0]:.1f}–{known[-1]:.1f})"
