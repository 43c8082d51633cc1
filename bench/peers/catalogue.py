"""All opponents by name, with their parameters and what their scenarios need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from bench.peers import (
    clairvoyant,
    dhalion,
    ds2,
    flink_engine,
    flink_jvm,
    hpa_cpu,
    keda,
    numaflow,
    spark_allocation,
)
from bench.peers.controller import Controller, Limits

from trimtab.api.v1alpha1.tuning import Tuning
from trimtab.errors import BadInputError
from trimtab.simulation.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Case:
    """What an opponent is created for."""

    scenario: Scenario
    seed: int

    @property
    def limits(self) -> Limits:
        """The executor counts of the scenario."""
        executors = self.scenario.limits.executors
        return Limits(executors.min, executors.max)


def _as_it_is(case: Case, parameters: Any) -> Scenario:
    del parameters
    return case.scenario


def _nothing() -> None:
    """The requirements of most opponents: none."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One opponent: its defaults, how to create it, and the scenario that is fair to it."""

    defaults: Any
    make: Callable[[Case, Any], Controller]
    prepare: Callable[[Case, Any], Scenario] = _as_it_is
    needs: Callable[[], object] = _nothing
    """Raises UnavailableError if this machine cannot run it."""

    def parameters(self, given: Mapping[str, str]) -> Any:
        """The defaults, with some values replaced by given text.

        Raises:
            BadInputError: a name is unknown or a value is invalid.
        """
        known = get_type_hints(type(self.defaults))
        try:
            values = {name: _read(text, known[name]) for name, text in given.items()}
        except KeyError as error:
            raise BadInputError(f"no parameter {error}; there are {', '.join(known)}") from error
        except ValueError as error:
            raise BadInputError(f"parameters: {error}") from error
        return replace(self.defaults, **values)


def _read(text: str, kind: object) -> object:
    if kind is bool:
        if text not in {"true", "false"}:
            raise ValueError(f"expected true or false, not {text}")
        return text == "true"
    return int(text) if kind is int else float(text)


def _start(case: Case, **changes: Any) -> Scenario:
    start = case.scenario.start.model_copy(update=changes)
    return case.scenario.model_copy(update={"start": start, "tuning": _free_limit(case)})


def _free_limit(case: Case) -> Tuning:
    """Unpin the batch limit: a pin binds every controller, and this law moves the limit."""
    tuning = case.scenario.tuning
    if tuning.pinned is None:
        return tuning
    pinned = tuning.pinned.model_copy(update={"max_offsets_per_trigger": None})
    return tuning.model_copy(update={"pinned": pinned})


def _live_limit(case: Case, parameters: Any) -> Scenario:
    """Let the plant apply a new rate to the next batch without a restart, as DStreams do."""
    if not parameters.backpressure:
        return case.scenario
    change = case.scenario.plant.change.model_copy(update={"query_restart_s": 0})
    plant = case.scenario.plant.model_copy(update={"change": change})
    return case.scenario.model_copy(update={"plant": plant, "tuning": _free_limit(case)})


def _unlimited(case: Case, parameters: Any) -> Scenario:
    del parameters
    return _start(case, max_offsets_per_trigger=clairvoyant.NO_LIMIT)


def _from_the_peak(case: Case, parameters: Any) -> Scenario:
    peak = clairvoyant.StaticPeak(case.scenario, case.seed, case.limits, parameters)
    return _start(case, executors=peak.executors, max_offsets_per_trigger=clairvoyant.NO_LIMIT)


SPARK = Entry(
    spark_allocation.Parameters(),
    lambda case, p: spark_allocation.SparkAllocation(case.limits, p),
    _live_limit,
)
PEERS: dict[str, Entry] = {
    "ds2": Entry(ds2.Parameters(), lambda case, p: ds2.Ds2(case.limits, p)),
    "dhalion": Entry(dhalion.Parameters(), lambda case, p: dhalion.Dhalion(case.limits, p)),
    "keda": Entry(keda.Parameters(), lambda case, p: keda.Keda(case.limits, p)),
    "hpa-cpu": Entry(hpa_cpu.Parameters(), lambda case, p: hpa_cpu.HpaCpu(case.limits, p)),
    "numaflow": Entry(numaflow.Parameters(), lambda case, p: numaflow.Numaflow(case.limits, p)),
    "spark": SPARK,
    "spark-pid": replace(SPARK, defaults=spark_allocation.Parameters(backpressure=True)),
    "flink": Entry(
        flink_engine.Parameters(),
        lambda case, p: flink_engine.Flink(case.limits, p, flink_jvm.shared()),
        needs=flink_jvm.shared,
    ),
    "static-peak": Entry(
        clairvoyant.Parameters(),
        lambda case, p: clairvoyant.StaticPeak(case.scenario, case.seed, case.limits, p),
        _from_the_peak,
    ),
    "oracle": Entry(
        clairvoyant.Parameters(),
        lambda case, p: clairvoyant.Oracle(case.scenario, case.seed, case.limits, p),
        _unlimited,
    ),
}
