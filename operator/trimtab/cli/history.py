"""What was decided about a pipeline, all that is kept of it; and why at some time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time

import yaml

from trimtab.api.common import moment, timestamp
from trimtab.api.history import HISTORY_KEY, Entry, Numbers, unpacked
from trimtab.api.knobs import BY_NAME
from trimtab.api.quantities import format_duration, format_rate, parse_duration
from trimtab.cli.manifests import objects_in
from trimtab.cli.rows import columns, line, row
from trimtab.errors import BadInputError
from trimtab.ports import Manifest
from trimtab.workloads.names import history_name

HEAD = ("TIME", "ACTION", "REASON", "LOAD", "CORES", "CHANGES")


def entries_of(history: Manifest) -> tuple[Entry, ...]:
    """The decisions in the ConfigMap of a history, oldest first.

    Raises:
        BadInputError: there is no history in it.
    """
    try:
        return unpacked(history["binaryData"][HISTORY_KEY])
    except (KeyError, TypeError, ValueError) as error:
        name = (history.get("metadata") or {}).get("name", "the object")
        raise BadInputError(f"{name} holds no history of trimtab") from error


def histories_in(text: str, pipeline: Manifest) -> list[Manifest]:
    """The history of a pipeline, if the YAML or JSON text has it beside the pipeline."""
    meta = pipeline["metadata"]
    key = ("ConfigMap", meta.get("namespace"), history_name(meta["name"]))
    return [
        each
        for each in objects_in(text)
        if (each.get("kind"), *((each.get("metadata") or {}).get(k) for k in ("namespace", "name")))
        == key
    ]


def history_in(text: str) -> Manifest:
    """The ConfigMap in a YAML or JSON text, as kubectl prints it."""
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadInputError(f"not YAML or JSON: {error}") from error
    if not isinstance(found, dict) or found.get("kind") != "ConfigMap":
        raise BadInputError("the file must hold one ConfigMap: kubectl get cm NAME-history -o yaml")
    return found


def table(entries: Sequence[Entry], since_s: float, *, as_json: bool = False) -> str:
    """The decisions since a time, newest last."""
    shown = [entry for entry in entries if moment(entry.time) >= since_s]
    if as_json:
        documents = [e.model_dump(mode="json", by_alias=True, exclude_none=True) for e in shown]
        return json.dumps(documents, indent=1)
    if not shown:
        return "nothing was decided in this time"
    return "\n".join(columns([HEAD, *map(_row, shown)]))


def _row(entry: Entry) -> tuple[str, ...]:
    numbers = entry.numbers
    load = "-" if numbers is None or numbers.load is None else f"{numbers.load:.2f}"
    cores = "-" if entry.cores is None else str(entry.cores)
    words = "; ".join(entry.changes) or line(entry.message)
    return entry.time, entry.action, entry.reason, load, cores, line(words)[:100]


def why(entries: Sequence[Entry], at_s: float) -> str:
    """What was in force at a time, what led to it, and what came next.

    Raises:
        BadInputError: the history begins later, or is empty.
    """
    before = [entry for entry in entries if moment(entry.time) <= at_s]
    if not before:
        begins = f"the history begins at {entries[0].time}" if entries else "the history is empty"
        raise BadInputError(f"nothing is known of {timestamp(at_s)}: {begins}")
    after = [entry for entry in entries if moment(entry.time) > at_s]
    return "\n".join(_why(before, after, at_s))


def _why(before: Sequence[Entry], after: Sequence[Entry], at_s: float) -> Iterator[str]:
    last = before[-1]
    ago = format_duration(round(at_s - moment(last.time)))
    yield f"At {timestamp(at_s)}, {ago} after the last decision"
    set_by = next((entry for entry in reversed(before) if entry.settings), last)
    if set_by.settings:
        yield row("In force", f"{_settings(set_by)} (generation {set_by.generation})")
    if set_by.goal:
        yield row("Goal", f"{set_by.goal}, mode {set_by.mode}")
    changed = next((entry for entry in reversed(before) if entry.changes), last)
    yield row("Because", _told(changed))
    if changed.numbers:
        yield row("Seen then", _seen(changed.numbers))
    if changed is not last:
        yield row("Since then", _told(last))
    yield row("Next", _told(after[0]) if after else "nothing was decided until now")


def _told(entry: Entry) -> str:
    return f"{entry.time} {entry.action} {entry.reason}: {entry.message}"


def _settings(entry: Entry) -> str:
    known = (
        f"{name} {BY_NAME[name].format(value)}"
        for name, value in entry.settings.items()
        if name in BY_NAME
    )
    return ", ".join(known)


def _seen(numbers: Numbers) -> str:
    parts = (
        ("load {:.2f}", numbers.load),
        ("{} records/s", numbers.input_rate and format_rate(numbers.input_rate)),
        ("held against the goal {:.3g}", numbers.observed),
        ("batch {:.1f} s", numbers.batch_s),
        ("lag {:.0f} records", numbers.lag_records),
    )
    words = [text.format(value) for text, value in parts if value is not None]
    if numbers.bottleneck and numbers.bottleneck != "None":
        words.append(f"bottleneck {numbers.bottleneck} ({numbers.evidence})")
    return ", ".join(words)


def time_of(text: str, now_s: float) -> float:
    """Seconds since 1970 of a time, or of a duration ago: 2026-01-31T10:00:00Z, 10:00, 2h.

    Without a zone it is UTC, and without a day the last time that the clock showed it.

    Raises:
        BadInputError: it is neither.
    """
    if re.fullmatch(r"[0-9]{1,4}d", text):
        return now_s - int(text[:-1]) * 86_400
    if text[-1:].isalpha() and text[-1:] not in {"Z", "z"}:
        try:
            return now_s - parse_duration(text)
        except ValueError as error:
            raise BadInputError(f"{text!r} is not a duration such as 90m, 24h or 7d") from error
    now = datetime.fromtimestamp(now_s, UTC)
    try:
        if ":" in text and "-" not in text:
            found = datetime.combine(now.date(), time.fromisoformat(text), UTC)
            return found.timestamp() - (86_400 if found > now else 0)
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInputError(
            f"{text!r} is not a time: write 2026-01-31T10:00:00Z, 10:00 (UTC), or 2h (2 hours ago)"
        ) from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
