"""`trimtab replay`: the recorded load of a live pipeline under policies, beside what was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from trimtab.api.common import timestamp
from trimtab.api.quantities import format_duration
from trimtab.cli.manifests import read
from trimtab.cli.rows import columns
from trimtab.errors import BadInputError
from trimtab.ports import Manifest
from trimtab.simulation.expectations import selecting
from trimtab.simulation.recorded import Ask, Recording, record, scenario
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import Scenario, as_shipped
from trimtab.simulation.summary import Summary, summary
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.governance.rules import rules


@dataclass(frozen=True, slots=True)
class Asked:
    """What a replay is about."""

    start_s: float
    end_s: float
    policies: Path | None
    """Folder with the policies; None: only the spec counts."""
    save: Path | None
    """Where the scenario is written, for `trimtab simulate` and `trimtab policy test`."""


def replay(manifest: Manifest, ask: Ask, asked: Asked) -> str:
    """What was, beside what the law would have done with the same load.

    Raises:
        BadInputError: nothing was recorded, nothing is learned, or the policies are wrong.
    """
    spec, status = read(manifest)
    meta, memory = manifest["metadata"], ControllerState.read(status.controller)
    name, namespace = meta["name"], meta.get("namespace", "default")
    if memory is None or not status.partitions:
        raise BadInputError(f"{name}: no operator has learned anything of it yet")
    recording = record(namespace, name, asked.start_s, asked.end_s, ask)
    built = scenario(name, spec, memory, status.partitions, recording)
    if asked.save:
        asked.save.write_text(yaml.safe_dump(_plain(built), sort_keys=False))
    layers = selecting(asked.policies, namespace, meta.get("labels") or {})
    run = simulate(as_shipped(built), 1, rules=rules(layers), began_s=asked.start_s)
    return "\n".join([*_head(recording, len(layers)), *_table(recording, run, summary(run))])


def _plain(built: Scenario) -> dict[str, object]:
    return built.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


def _head(recording: Recording, policies: int) -> Sequence[str]:
    span = format_duration(round(recording.end_s - recording.start_s))
    return (
        f"{span} from {timestamp(recording.start_s)}, of which {recording.known:.0%} is recorded;"
        f" {policies} policies",
        "",
    )


def _table(recording: Recording, run: Run, seen: Summary) -> Sequence[str]:
    executors = sum(tick.after.in_force.executors for tick in run.ticks)
    hours = executors * (run.scenario.duration / max(1, len(run.ticks))) / 3600
    return tuple(columns([
        ("", "AS IT RAN", "REPLAYED"),
        ("goal held", _share(recording.held), _share(seen.held)),
        ("executor-hours", f"{recording.executor_hours:.1f}", f"{hours:.1f}"),
        ("changes", "-", str(len(run.changes))),
        ("static peak", "-", f"{seen.static_executors} executors"),
    ]))  # fmt: skip


def _share(value: float | None) -> str:
    return "unknown" if value is None or math.isnan(value) else f"{value:.1%}"
