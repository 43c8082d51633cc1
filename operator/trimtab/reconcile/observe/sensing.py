"""The metrics of one tick: the answers of Prometheus, and over them what drivers say themselves.

Between two ticks with all queries come quick ones, which only read drivers directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trimtab.ports import DriverSource, MetricSource, Name, Telemetry
from trimtab.reconcile.observe.direct import Said, over, said
from trimtab.reconcile.observe.gather import Gathered, gather
from trimtab.reconcile.observe.targets import Target
from trimtab.settings import OperatorSettings


class Sensing:
    """Reads metrics, and keeps what the next quick tick needs of them."""

    def __init__(
        self, metrics: MetricSource, drivers: DriverSource | None, telemetry: Telemetry,
        config: OperatorSettings,
    ) -> None:  # fmt: skip
        self._metrics, self._drivers = metrics, drivers
        self._telemetry, self._config = telemetry, config
        self._said: dict[Name, Said] = {}
        self._queried = Gathered({})

    def gather(self, targets: Mapping[Name, Target], now_s: float) -> Gathered:
        """Ask Prometheus, and read every driver if drivers are read at all."""
        config = self._config
        self._queried = gather(
            self._metrics, targets, now_s, config.scrape_s, config.prometheus_matchers
        )
        for reason, series in self._queried.skipped.items():
            self._telemetry.skipped(reason, series)
        return self._over(self._read(targets))

    def gather_quickly(self, targets: Mapping[Name, Target]) -> Gathered:
        """Read the drivers again that answered last; the figures of windows stay."""
        answered = {name: target for name, target in targets.items() if name in self._said}
        return replace(self._over(self._read(answered)), queries=0)

    def _read(self, targets: Mapping[Name, Target]) -> Mapping[Name, Said | str]:
        """What each driver says, or why it is not known; those who say nothing are forgotten."""
        if self._drivers is None:
            return {}
        ready = {name: target.address for name, target in targets.items() if target.address}
        answers = self._drivers.read(ready)
        found: dict[Name, Said | str] = {}
        for name, answer in answers.items():
            before = self._said.get(name)
            told = answer if isinstance(answer, str) else said(answer, targets[name], before)
            found[name] = told if isinstance(told, Said) else f"the driver {told}"
        self._said = {name: told for name, told in found.items() if isinstance(told, Said)}
        self._telemetry.driver_reads(len(self._said), len(found) - len(self._said))
        return found

    def _over(self, found: Mapping[Name, Said | str]) -> Gathered:
        """What was queried last, with what the drivers say over it.

        Without Prometheus nothing is known: half of the figures would mislead.
        """
        queried = self._queried
        if queried.failure:
            return queried
        direct = {
            name: over(queried.metrics.get(name), told)
            for name, told in found.items()
            if isinstance(told, Said)
        }
        return replace(
            queried,
            metrics={**queried.metrics, **direct},
            direct=frozenset(direct),
            indirect={name: told for name, told in found.items() if isinstance(told, str)},
        )
