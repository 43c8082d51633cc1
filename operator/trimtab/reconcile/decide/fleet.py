"""What the policies leave each of the pipelines that share a budget, in one tick."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trimtab.ports import Key, Name
from trimtab.reconcile.contained import contained
from trimtab.reconcile.decide.memory import remembered
from trimtab.reconcile.observe.observation import Allowance, Observation
from trimtab.reconcile.observe.signals import Missing
from trimtab.tuning.advice import pods
from trimtab.tuning.governance.budget import Claim, shares
from trimtab.tuning.governance.layers import Layer
from trimtab.tuning.governance.need import Need, need
from trimtab.tuning.snapshot import Snapshot

NO_NEED = Need(0, 0.0)


@dataclass(slots=True)
class Fleet:
    """Budgets over many pipelines; kept from tick to tick, because a quick one sees only some."""

    budgets: Mapping[Name, int] = field(default_factory=dict)
    """Most executors by pipeline."""
    changing: dict[Key, set[Name]] = field(default_factory=lambda: defaultdict(set))
    """Pipelines in the middle of a change, by the policy that counts them."""

    def begin(self, seen: Iterable[Observation], *, whole: bool) -> list[Observation]:
        """Take in what was observed; returns it in the order in which it should be decided.

        Of pipelines that compete for a change, the one that misses its goal most goes first.
        """
        found = [each for each in seen if each.rules.layers]
        others = [each for each in seen if not each.rules.layers]
        if whole:
            self.changing = defaultdict(set)
        for each in found:
            self.observed(each, trial=each.memory is not None and each.memory.trial is not None)
        needs = _needs(found)
        if whole:
            unknown = {each.name for each in found} - needs.keys()
            kept = {name: most for name, most in self.budgets.items() if name in unknown}
            self.budgets = kept | _budgets(found, needs)
        competing = sorted(found, key=lambda each: -needs.get(each.name, NO_NEED).load)
        return [*competing, *others]

    def observed(self, seen: Observation, *, trial: bool) -> None:
        """Whether a pipeline is in the middle of a change."""
        for layer in seen.rules.layers:
            if layer.spec.budget.changes_at_once is not None:
                counted = self.changing[layer.key]
                (counted.add if trial else counted.discard)(seen.name)

    def allowance(self, seen: Observation) -> Allowance:
        """What is left for a pipeline now."""
        return Allowance(self.budgets.get(seen.name), self._others(seen))

    def _others(self, seen: Observation) -> str:
        for layer in seen.rules.layers:
            most = layer.spec.budget.changes_at_once
            others = self.changing[layer.key] - {seen.name} if most is not None else set()
            if most is not None and len(others) >= most:
                return (
                    f"{len(others)} of the pipelines of {layer.title} are in the middle of a"
                    f" change, and {most} may be"
                )
        return ""


def _shares(seen: Observation) -> bool:
    """Whether a policy lets a pipeline share something with others."""
    budgets = (layer.spec.budget for layer in seen.rules.layers)
    return any(b.cores or b.memory or b.changes_at_once for b in budgets)


def _needs(found: Iterable[Observation]) -> dict[Name, Need]:
    """The needs of the pipelines that share something; of one whose need fails, none."""
    needs: dict[Name, Need] = {}
    for each in found:
        if _shares(each):
            with contained(each.parent):
                needs[each.name] = _need(each)
    return needs


def _need(seen: Observation) -> Need:
    memory = remembered(seen)
    signals = None if isinstance(seen.signals, Missing) else seen.signals
    return need(Snapshot(seen.now_s, seen.policy, memory.settings, signals), memory)


def _budgets(seen: Iterable[Observation], needs: Mapping[Name, Need]) -> dict[Name, int]:
    """The least that any of its budgets leaves each pipeline."""
    claims: dict[Key, list[Claim]] = defaultdict(list)
    layers: dict[Key, Layer] = {}
    for each in seen:
        if each.spec.suspend or each.name not in needs:
            continue
        claim = _claim(each, needs[each.name])
        for layer in each.rules.layers:
            if layer.spec.budget.cores or layer.spec.budget.memory:
                layers[layer.key] = layer
                claims[layer.key].append(claim)
    found: dict[Name, int] = {}
    for key, claimed in claims.items():
        budget = layers[key].spec.budget
        for name, most in shares(budget.cores, budget.memory, claimed).items():
            found[name] = min(most, found.get(name, most))
    return found


def _claim(seen: Observation, wanted: Need) -> Claim:
    policy, memory = seen.policy, remembered(seen)
    wide = pods.with_cores(seen.spec, pods.cores_in_force(seen.spec, seen.memory))
    cores = policy.capacity(memory.settings).cores
    least, most = policy.executors_of(cores)
    return Claim(
        name=seen.name,
        least=least,
        most=most,
        now=memory.in_force.executors,
        need=max(least, wanted.executors),
        cores=cores,
        memory=wide.resources.executor.memory,
    )
