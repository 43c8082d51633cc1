"""`trimtab simulate`: a scenario in virtual time, as text, figures or a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from trimtab.api.reasons import Action
from trimtab.errors import BadInputError
from trimtab.simulation.figures import figures
from trimtab.simulation.page import page
from trimtab.simulation.run import Run, simulate
from trimtab.simulation.scenario import as_shipped, load_scenario
from trimtab.simulation.summary import summary


def simulated(scenario: Path, seeds: str, html: Path | None, *, as_json: bool) -> str:
    """What the command prints; raises BadInputError."""
    try:
        numbers = [int(seed) for seed in seeds.split(",")]
    except ValueError as error:
        raise BadInputError(f"--seeds: expected numbers like 1,2,3 ({error})") from error
    loaded = as_shipped(load_scenario(scenario))
    runs = [simulate(loaded, seed) for seed in numbers]
    if html:
        _write(html, runs)
    if as_json:
        return json.dumps([figures(run) for run in runs], indent=1)
    return "\n".join(line for run in runs for line in _lines(run))


def _write(html: Path, runs: list[Run]) -> None:
    if len(runs) > 1:
        raise BadInputError("--html shows one run: give one seed")
    try:
        html.write_text(page(runs[0]))
    except OSError as error:
        raise BadInputError(f"cannot write {html}: {error.strerror}") from error


def _lines(run: Run) -> Iterator[str]:
    yield f"seed {run.seed}:"
    for tick in run.ticks:
        for told in tick.decision.told:
            if told.action is not Action.HOLD:
                yield f"  {tick.at_s:7.0f} s  {told.action} {told.reason}: {told.message}"
    yield f"  {summary(run).words}"
