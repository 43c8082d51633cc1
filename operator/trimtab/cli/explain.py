"""A StreamPipeline in words: its goal, what is observed, and why its settings are what they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trimtab.api.common import Condition, get_condition, timestamp
from trimtab.api.knobs import KNOBS
from trimtab.api.quantities import format_duration, parse_duration
from trimtab.api.untouched import UNTOUCHED
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.runs import RunPhase, RunStatus
from trimtab.api.v1alpha1.status import ConditionType as Type
from trimtab.api.v1alpha1.status import JvmStatus, StreamPipelineStatus
from trimtab.cli import capacity, governance
from trimtab.cli.cost import cost
from trimtab.cli.manifests import read
from trimtab.cli.reaction import Pace
from trimtab.cli.rows import HEADING, line, row
from trimtab.cli.todo import to_do
from trimtab.ports import Manifest
from trimtab.tuning import reflex, regime
from trimtab.tuning.advice import oversize, pods
from trimtab.tuning.controller_state import ControllerState, Trial
from trimtab.tuning.diagnosis.executors import CASES, UNEVEN
from trimtab.tuning.policy import Policy

UNSEEN = "no operator has processed it yet"


@dataclass(frozen=True, slots=True)
class Explained:
    """A pipeline in words, part by part."""

    title: str
    to_do: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    """Rows; one that goes on has no heading."""
    decisions: tuple[str, ...] = ()

    def text(self, *, everything: bool = False) -> str:
        """For a terminal; what never changes only with `everything`."""
        never = [f"  {name}: {why}" for name, why in UNTOUCHED.items()]
        folded = f"Never moved {len(never)} things are left to you; --all names them"
        return "\n".join([
            self.title, "",
            "For you to do", *(f"  {each}" for each in self.to_do or ("nothing",)),
            *self.facts,
            "Decisions, newest last", *(f"  {each}" for each in self.decisions or ("none yet",)),
            *(["Never moved", *never] if everything else [folded]),
        ])  # fmt: skip

    def document(self) -> dict[str, Any]:
        """For programs: the same words by name."""
        facts: dict[str, str] = {}
        heading = ""
        for each in self.facts:
            heading = each[:HEADING].strip() if each[:1].strip() else heading
            more = each[HEADING:] if each[:1].strip() else each.strip()
            facts[heading] = f"{facts[heading]}; {more}" if heading in facts else more
        return {
            "title": self.title,
            "forYouToDo": list(self.to_do),
            "facts": facts,
            "decisions": list(self.decisions),
        }


def explain(manifest: Manifest, *, everything: bool = False) -> str:
    """The object in words. Pure.

    Raises:
        BadInputError: not a valid StreamPipeline; says what is wrong.
    """
    return explained(manifest).text(everything=everything)


def explained(manifest: Manifest) -> Explained:
    """The object in words, part by part; raises BadInputError like `explain`."""
    spec, status = read(manifest)
    meta = manifest["metadata"]
    title = f"StreamPipeline {meta.get('namespace', '-')}/{meta['name']}"
    policy, suspended = governance.in_force(spec, status), ", suspended" if spec.suspend else ""
    title = f"{title}, mode {policy.mode}{suspended}"
    if status.observed_generation < 0:
        return Explained(title, facts=(row("Goal", policy.goal_text()), UNSEEN))
    memory, unread = _memory(status)
    wide = pods.with_cores(spec, pods.cores_in_force(spec, memory))
    executor = wide.resources.executor
    facts = (
        row("Goal", _goal(policy, status)),
        row("Lag", _lag(status)),
        row("Regime", unread or _regime(memory, status)),
        row("Bottleneck", _bottleneck(status)),
        row("First rule", _first_rule(status)),
        row("Ledger", _ledger(status)),
        row("Bounds", _bounds(memory, policy)),
        row("Executors", _executors_now(status)),
        row("Settings", _settings(memory, status)),
        row("Cost", cost(status)),
        *_sometimes(memory, policy, status),
        *_jvm(wide, status),
        row("Trial", _trial(memory)),
        row("Predictions", _score(memory)),
        row("Forecasts", _forecasts(memory, policy)),
        row("Reaction", _reaction(memory, policy, status)),
        row("Partitions", capacity.partitions(policy, executor.cores, status)),
        *capacity.partitions_advice(status),
        *capacity.capacity(memory, policy, executor.cores, status),
    )
    return Explained(title, tuple(to_do(meta["name"], status)), facts, tuple(_decisions(status)))


def _sometimes(
    memory: ControllerState | None, policy: Policy, status: StreamPipelineStatus
) -> Iterator[str]:
    """What not every pipeline has."""
    if status.execution:
        yield row("Execution", status.execution)
    if status.run:
        yield row("Run", _run(status.run))
    if status.policies:
        yield row("Policies", governance.told(status))
    if policy.reflex:
        yield row("Reflex", _reflex(memory, policy))
    if status.oversize:
        yield row("Batch", oversize.message(status.oversize))


def _memory(status: StreamPipelineStatus) -> tuple[ControllerState | None, str]:
    if not status.controller:
        return None, ""
    try:
        return ControllerState.from_dict(status.controller), ""
    except (KeyError, TypeError, ValueError):
        return None, "status.controller is unreadable; the operator starts it afresh"


def _found(status: StreamPipelineStatus, type_: Type) -> Condition | None:
    return get_condition(status.conditions, type_)


def _goal(policy: Policy, status: StreamPipelineStatus) -> str:
    seen = status.goal.observed if status.goal else None
    met = _found(status, Type.GOAL_MET)
    judged = {"True": "met", "False": "not met"}.get(met.status if met else "", "not known yet")
    why = f" ({met.message})" if met and met.message else ""
    return f"{policy.goal_text()}; observed {seen or 'nothing yet'}: {judged}{why}"


def _lag(status: StreamPipelineStatus) -> str:
    if status.lag is None or status.lag.records is None:
        return "not known yet"
    age = f", the oldest {status.lag.time} old" if status.lag.time else ""
    where = f", most of them in {status.lag.most_in}" if status.lag.most_in else ""
    return f"{status.lag.records} records{age}{where}"


def _regime(memory: ControllerState | None, status: StreamPipelineStatus) -> str:
    if memory is None:
        return "not known yet"
    since = f" since {timestamp(memory.since_s)}" if memory.since_s else ""
    tuning = _found(status, Type.TUNING)
    words = f"; {tuning.reason}: {tuning.message}" if tuning else ""
    return f"{memory.regime}{since}{words}"


def _forecasts(memory: ControllerState | None, policy: Policy) -> str:
    if not policy.forecast:
        return "off (tuning.forecast: false)"
    return memory.forecasts.words if memory else "none yet"


def _score(memory: ControllerState | None) -> str:
    if memory is None or memory.score.trials == 0:
        return "no trial has been judged yet"
    score = memory.score
    return (
        f"{score.kept} of {score.trials} trials kept; the load differed from the prediction by"
        f" {score.error:.0%} on average"
    )


def _bounds(memory: ControllerState | None, policy: Policy) -> str:
    """The bounds of the load, and why they are not those of the profile."""
    even = regime.moved_up(policy, memory) if memory else 0.0
    words = f"{policy.lower + even:.2f} to {policy.higher + even:.2f}"
    if memory is None or not policy.even:
        return words
    if not even:
        return f"{words}; up to {policy.even:.2f} higher where batches are known to be even"
    return (
        f"{words}, {even:.2f} above the profile's: batches are even, nearly all take at most"
        f" {memory.slow_batch:.2f} times as long as predicted"
    )


def _bottleneck(status: StreamPipelineStatus) -> str:
    found = status.bottleneck
    if found is None or found.kind == "None":
        return "none"
    return f"{found.kind}: {found.evidence}"


def _first_rule(status: StreamPipelineStatus) -> str:
    """The first rule: every stage takes what comes, and passes on what it has processed."""
    if status.flow is None:
        return "not known yet"
    return f"{status.flow.state}: {status.flow.evidence}"


def _executors_now(status: StreamPipelineStatus) -> str:
    now = status.executors
    if now is None:
        return "load and capacity are not known yet"
    advice = dict((*CASES.values(), UNEVEN)).get(now.case, "")
    return f"load {now.load}, capacity {now.capacity}: {now.case}; {advice}"


def _settings(memory: ControllerState | None, status: StreamPipelineStatus) -> str:
    if status.effective is None:
        return "the driver has not reported them yet"
    numbers = status.effective.numbers()
    words = ", ".join(f"{name} {KNOBS[name].format(value)}" for name, value in numbers.items())
    if memory is None:
        return words
    coming = memory.settings.with_numbers(numbers).differences(memory.settings)
    asked = f"; requested, not in force yet: {', '.join(coming)}" if coming else ""
    return f"{words} (generation {memory.generation}){asked}"


def _reflex(memory: ControllerState | None, policy: Policy) -> str:
    """How far the driver may go by itself."""
    if memory is None or not memory.points:
        return "on; the driver may raise nothing by itself before something is learned"
    most = reflex.most(policy, memory)
    return (
        f"on; beyond {reflex.URGENT:.0%} of what {memory.settings.executors} executors carry at the"
        f" higher bound, the driver asks for up to {most} at once, without the operator"
    )


def _jvm(spec: StreamPipelineSpec, status: StreamPipelineStatus) -> Iterator[str]:
    """The advice for each role, and when it takes effect; nothing if there is none."""
    given = status.jvm or JvmStatus()
    for role, advice in (("driver", given.driver), ("executor", given.executor)):
        if advice is not None:
            yield row("JVM", f"{role}: {pods.words(advice)}; {pods.when(spec, role, advice)}")


def _run(run: RunStatus) -> str:
    last = f"the last started at {run.started}: {run.end}" if run.end else "none so far"
    if run.phase is RunPhase.RUNNING:
        return f"since {run.since}, until all is committed that was there when the driver started"
    return f"{last}; the next starts at {run.next}" if run.next else f"{last}; no other follows"


def _trial(memory: ControllerState | None) -> str:
    if memory is None or memory.trial is None:
        return "none is open"
    trial: Trial = memory.trial
    return (
        f"{', '.join(trial.before.differences(memory.settings)) or trial.knob}, open since"
        f" {timestamp(trial.opened_at_s)}: load was {trial.load_before:.2f}, predicted"
        f" {trial.predicted_load:.2f}; {trial.settled} batches left out, {trial.judged} judged"
    )


def _reaction(memory: ControllerState | None, policy: Policy, status: StreamPipelineStatus) -> str:
    if memory is None or status.pace is None:
        return "not known yet"
    scrape_s, tick_s = parse_duration(status.pace.scrape), parse_duration(status.pace.tick)
    pace = Pace(scrape_s, tick_s, memory.settings.trigger_s)
    raising, releasing = pace.raising_s(policy.dwell_up), pace.releasing_s(policy.dwell_down)
    return (
        f"to too much load within {format_duration(raising)}, to too little after"
        f" {format_duration(releasing)} at the earliest, if no trial is open (a sample every"
        f" {status.pace.scrape}, a decision every {status.pace.tick}, dwell {policy.dwell_up} up"
        f" and {policy.dwell_down} down, a batch every {format_duration(pace.trigger_s)} or longer)"
    )


def _decisions(status: StreamPipelineStatus) -> list[str]:
    return [line(f"{d.time} {d.action} {d.reason}: {d.message}") for d in status.decisions]


def _ledger(status: StreamPipelineStatus) -> str:
    if status.ledger is None:
        return "not kept: the query does not write one record for each record it reads"
    if status.ledger.missing:
        return f"the sink lacks {status.ledger.missing} records that were written, by its own count"
    if not status.ledger.mismatches:
        return "every record read since the driver started was written"
    return f"{status.ledger.mismatches} records were read but not written, or the reverse"
