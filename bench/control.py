"""Any controller on any scenario: `python -m bench.control --scenario F --controller keda --json`.

`trimtab` is our own core. Every controller gets the same plant, noise, signals and figures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from bench.peers.catalogue import PEERS, Case
from bench.peers.controller import Controller

from trimtab.api.reasons import Action, Reason
from trimtab.api.v1alpha1.goal import Goal
from trimtab.api.v1alpha1.tuning import Dwell, Profile, TuningBounds
from trimtab.errors import BadInputError, TrimtabError, UnavailableError
from trimtab.simulation.figures import figures
from trimtab.simulation.plant_model import SHIPPED_DIRECT_S, Plant
from trimtab.simulation.run import Decide, Run, simulate
from trimtab.simulation.scenario import Scenario, load_scenario
from trimtab.simulation.verifiers import check, verify
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.decision import Decision
from trimtab.tuning.knobs import clamp
from trimtab.tuning.snapshot import Snapshot

OURS = "trimtab"
NAMES = (OURS, *PEERS)
BOUNDS, DWELLS = ("higher", "lower"), ("up", "down")
DIRECT = "direct_s"
"""Seconds between direct reads of the driver's figures; without, they come from Prometheus."""
DIRECT_S = SHIPPED_DIRECT_S


def as_decide(controller: Controller) -> Decide:
    """An opponent in the form that the loop calls: enforces limits, applies only changes."""

    def decide(snapshot: Snapshot, memory: ControllerState) -> tuple[Decision, ControllerState]:
        before = memory.settings
        wanted = controller.decide(snapshot.now_s, snapshot.signals, before)
        settings = clamp(snapshot.policy, wanted)
        changes = before.differences(settings)
        if not changes:
            full = before.executors == snapshot.policy.max_executors
            reason = Reason.SATURATED if full else Reason.WITHIN_BOUNDS
            return Decision(Action.HOLD, reason, "", before), memory
        raised = settings.executors >= before.executors
        reason = Reason.EXECUTORS_RAISED if raised else Reason.EXECUTORS_RELEASED
        decision = Decision(Action.CHANGE, reason, ", ".join(changes), settings, changes)
        return decision, ControllerState(generation=memory.generation + 1, settings=settings)

    return decide


def retuned(scenario: Scenario, given: Mapping[str, str]) -> Scenario:
    """The scenario with other parameters of our own core: the bounds `higher` and `lower`, the
    dwells `up` and `down`, the `profile`, the goal's `catch_up`, and `direct_s`, both in seconds.

    Raises:
        BadInputError: a name is unknown or a value is invalid.
    """
    names = {*BOUNDS, *DWELLS, "profile", "catch_up", DIRECT}
    if unknown := [name for name in given if name not in names]:
        raise BadInputError(f"no parameter {unknown[0]!r}; there are {', '.join(sorted(names))}")
    tuning = scenario.tuning
    bounds = {**tuning.bounds.model_dump(), **{n: given[n] for n in given if n in BOUNDS}}
    dwell = {**tuning.dwell.model_dump(), **{n: given[n] for n in given if n in DWELLS}}
    try:
        changed = {
            "bounds": TuningBounds.model_validate(bounds),
            "dwell": Dwell.model_validate(dwell),
            "profile": Profile(given["profile"]) if "profile" in given else tuning.profile,
        }
        goal = _goal(scenario.goal, given.get("catch_up"))
        plant = read_directly(scenario.plant, float(given[DIRECT]) if DIRECT in given else None)
    except ValueError as error:
        raise BadInputError(f"parameters: {error}") from error
    tuned = {"tuning": tuning.model_copy(update=changed), "goal": goal, "plant": plant}
    return scenario.model_copy(update=tuned)


def read_directly(plant: Plant, direct_s: float | None) -> Plant:
    """The plant whose driver is read each `direct_s` seconds; None leaves it as it is."""
    if direct_s is None:
        return plant
    metrics = plant.metrics.model_copy(update={DIRECT: direct_s})
    return plant.model_copy(update={"metrics": metrics})


def _goal(goal: Goal, catch_up: str | None) -> Goal:
    if catch_up is None:
        return goal
    kinds = {"latency": goal.latency, "throughput": goal.throughput}
    changed = {"catch_up": float(catch_up)}
    return goal.model_copy(
        update={name: kind.model_copy(update=changed) for name, kind in kinds.items() if kind}
    )


def play(
    scenario: Scenario, name: str, seed: int, given: Mapping[str, str] | None = None
) -> tuple[Run, dict[str, Any]]:
    """Run one controller on one scenario and seed; also returns its parameters.

    Raises:
        BadInputError: no such controller, or no such parameter.
        UnavailableError: this machine lacks what the controller needs.
    """
    given = given or {}
    if name == OURS:
        return simulate(retuned(scenario, given), seed), dict(given)
    if name not in PEERS:
        raise BadInputError(f"no controller {name!r}; there are {', '.join(NAMES)}")
    entry, case = PEERS[name], Case(scenario, seed)
    parameters = entry.parameters(given)
    try:
        decide = as_decide(entry.make(case, parameters))
    except UnavailableError as error:
        raise UnavailableError(f"{name}: {error}") from error
    run = simulate(entry.prepare(case, parameters), seed, controller=decide)
    return run, asdict(parameters)


def measure(
    scenario: Scenario, name: str, seed: int, given: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The figures and parameters of one run; only our own core can be restarted each tick."""
    run, parameters = play(scenario, name, seed, given)
    verdicts = verify if name == OURS else check
    return {"controller": name, "parameters": parameters, **figures(run, verdicts)}


def runnable() -> list[str]:
    """All controllers that this machine can run; reports the others on standard error."""
    found = [OURS]
    for name, entry in PEERS.items():
        try:
            entry.needs()
        except UnavailableError as error:
            click.echo(f"skipped: {name} ({error})", err=True)
        else:
            found.append(name)
    return found


COLUMNS = {
    "final": 8,
    "exact": 6,
    "steps": 6,
    "slo_violation_s": 10,
    "lag_area": 11,
    "core_hours": 10,
    "oracle_core_hours": 10,
    "reversals": 7,
}
HEADINGS = ("final", "exact", "steps", "violating", "lag area", "core-h", "least", "turns")


def table(results: Sequence[Mapping[str, Any]]) -> str:
    """One line per run, for people; the violation in seconds, the lag area in record·s."""
    heads = "".join(f"{h:>{w}}" for h, w in zip(HEADINGS, COLUMNS.values(), strict=True))
    lines = [f"{'controller':12}{'seed':>5}{heads}"]
    for result in results:
        cells = {**result, "final": int(result["final"]["executors"])}
        row = "".join(f"{_cell(cells[c]):>{w}}" for c, w in COLUMNS.items())
        lines.append(f"{result['controller']:12}{result['seed']:>5}{row}")
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if wrong := [text for text, (_, sign, _) in zip(texts, pairs, strict=True) if not sign]:
        raise BadInputError(f"--set: expected name=value, not {wrong[0]}")
    return {name: value for name, _, value in pairs}


@click.command()
@click.option("--scenario", required=True, type=click.Path(path_type=Path), help="Scenario file.")
@click.option("--controller", "names", default=OURS, help="Names separated by commas, or all.")
@click.option("--seeds", default="1", help="Numbers separated by commas.")
@click.option("--set", "given", multiple=True, help="A parameter: name=value.")
@click.option("--max-offsets", type=int, help="Another maxOffsetsPerTrigger at the start.")
@click.option("--json", "as_json", is_flag=True, help="The figures as a JSON list.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write the JSON list to a file.")
def main(
    *,
    scenario: Path,
    names: str,
    seeds: str,
    given: tuple[str, ...],
    max_offsets: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Run controllers on a scenario and print their figures."""
    chosen = runnable() if names == "all" else names.split(",")
    try:
        loaded = load_scenario(scenario)
        if max_offsets:
            start = loaded.start.model_copy(update={"max_offsets_per_trigger": max_offsets})
            loaded = loaded.model_copy(update={"start": start})
        numbers = [int(seed) for seed in seeds.split(",")]
        pairs = _pairs(given)
        results = [measure(loaded, name, seed, pairs) for name in chosen for seed in numbers]
    except TrimtabError as error:
        raise click.ClickException(str(error)) from error
    except ValueError as error:
        raise click.ClickException(f"--seeds: expected numbers like 1,2,3 ({error})") from error
    text = json.dumps(results, indent=1)
    if out:
        out.write_text(text + "\n")
    click.echo(text if as_json else table(results))


if __name__ == "__main__":
    main()
