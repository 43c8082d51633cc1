"""Measures the settings on the local cluster: pin, load, settle, watch.

While a window is open only the count of its batches is polled; Prometheus keeps the samples, and
one query at the end reads them.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from bench.simreal.seen import SCRAPED, Batch, Measured, from_prometheus
from bench.simreal.settings import CAMPAIGN, CORES, PARTITIONS, WAIT_MS, Setting
from dev.demo import deploy, load
from dev.demo.kube import Json, Kube
from dev.localcluster import console
from dev.localcluster.paths import from_environment

NAMESPACE = "simreal"
TICK_S = 3.0
LONG_S = 3600.0
"""Seconds of a load that is ended explicitly."""

WARM_UP = (Setting("warm-up", 5, 5, 6000, 300, False), 60.0)
"""Seconds for the JVMs of driver and executors to compile before anything is measured."""

SETTLE_S, SETTLE_BATCHES = 30.0, 3
WINDOW_S, WINDOW_BATCHES = 60.0, 5
POLL_S = 5.0
BURST_S = 10.0
BACKLOG_BATCHES = 3
"""The backlog with which a saturated setting begins, in batches."""


def measure(out: Path, commit: str) -> None:
    """Measure what the file does not have yet; it is written after each setting.

    The cluster is started if it is down, and left running.

    Raises:
        LocalClusterError: the cluster or the pipeline did not respond in time.
    """
    done = read(out)
    left = [s for s in CAMPAIGN if s not in {m.setting for m in done}]
    if not left:
        return
    site = _open()
    site.run(*WARM_UP)
    for setting in left:
        done.append(site.measure(setting))
        write(out, done, commit)
        console.say(f"{setting.name}: {done[-1].rate:.1f}/s, p95 {done[-1].p95_s:.2f} s")


def read(path: Path) -> list[Measured]:
    """The measurements in a file; none if there is no file."""
    if not path.exists():
        return []
    return [Measured.read(row) for row in json.loads(path.read_text())["measured"]]


def write(path: Path, measured: Sequence[Measured], commit: str) -> None:
    """Write one line per setting."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(json.dumps(m.document()) for m in measured)
    path.write_text(f'{{"commit": "{commit}", "measured": [\n{rows}\n]}}\n')


def _open() -> Site:
    """Set up the cluster with operator, Kafka and topic, and no pipeline yet."""
    kube, tags = deploy.local_cluster(from_environment(), NAMESPACE)
    deploy.install(kube, tags, TICK_S)
    kube.call("delete", "namespace", NAMESPACE, "--ignore-not-found", limit_s=180)
    kube.call("create", "namespace", NAMESPACE)
    site = Site(kube, tags["pipeline"])
    site.pin(WARM_UP[0])
    deploy.wait_ready(kube)
    return site


@dataclass(frozen=True)
class Site:
    """One namespace with the quickstart in it."""

    kube: Kube
    image: str

    def pin(self, setting: Setting) -> None:
        """Apply the quickstart with these settings pinned."""
        values = {
            "executors": setting.executors,
            "trigger": f"{setting.trigger_s:g}s",
            "maxOffsetsPerTrigger": setting.max_offsets,
        }
        manifests: list[Json] = []
        for path in sorted(deploy.EXAMPLE.glob("*.yaml")):
            manifests += [m for m in yaml.safe_load_all(path.read_text()) if m]
        for manifest in manifests:
            spec = manifest.get("spec", {})
            if manifest["kind"] == "KafkaCluster":
                for topic in spec["topics"]:
                    topic["partitions"] = PARTITIONS
            if manifest["kind"] == "StreamPipeline":
                spec["transform"]["python"]["params"]["wait_ms"] = str(WAIT_MS)
                spec["resources"]["executor"]["cores"] = CORES
                spec["limits"]["executors"]["max"] = max(each.executors for each in CAMPAIGN)
                spec["tuning"]["pinned"] = values
        self.kube.apply(*manifests)

    def effective(self, setting: Setting) -> bool:
        """Whether the driver reports that the settings are in force."""
        status = (self.kube.get("spl", "clicks") or {}).get("status") or {}
        told = status.get("effective") or {}
        wanted = (setting.executors, f"{setting.trigger_s:g}s", setting.max_offsets)
        return (told.get("executors"), told.get("trigger"), told.get("maxOffsetsPerTrigger")) == (
            wanted
        )

    def batches(self, seconds: float) -> list[Batch]:
        """The batches that scrapes saw in the last `seconds`."""
        names = "|".join(SCRAPED)
        selector = f'{{__name__=~"{names}",namespace="{NAMESPACE}",pipeline="clicks"}}'
        return from_prometheus(
            self.kube.query("trimtab-prometheus", f"{selector}[{math.ceil(seconds)}s]")
        )

    def lag(self) -> float:
        """Records behind."""
        return self._sum("trimtab_lag_records")

    def paused_s(self) -> float:
        """Seconds that restarts of the query have taken since the driver started."""
        return self._sum("trimtab_pause_seconds_total", 'how="query"')

    def _sum(self, metric: str, *labels: str) -> float:
        selector = ",".join([f'namespace="{NAMESPACE}"', *labels])
        found = self.kube.query("trimtab-prometheus", f"sum({metric}{{{selector}}})")
        return float(found[0]["value"][1]) if found else math.nan

    def run(self, setting: Setting, seconds: float) -> None:
        """Run a setting for some seconds without measuring it."""
        self._start(setting)
        time.sleep(seconds)
        self._stop()

    def measure(self, setting: Setting) -> Measured:
        """Measure one window of a setting under its load."""
        paused_s = self.paused_s()
        self._start(setting)
        self._settle(setting)
        restart_s = round(self.paused_s() - paused_s, 2)
        begin_s, lag = time.time(), self.lag()
        window = self._window(setting, begin_s)
        machine_load = round(os.getloadavg()[0], 2)
        self._stop()
        known_s = restart_s if restart_s > 0 else None
        return Measured(setting, tuple(window), lag, machine_load, known_s)

    def _start(self, setting: Setting) -> None:
        self.pin(setting)
        self.kube.wait(f"{setting.name} in force", 180, lambda: self.effective(setting))
        if not setting.saturated:
            self.kube.wait("no backlog", 240, lambda: self.lag() < setting.max_offsets / 2)
        missing = BACKLOG_BATCHES * setting.max_offsets - self.lag() if setting.saturated else 0.0
        burst = [(BURST_S, setting.load + missing / BURST_S)] if missing > 0 else []
        load.start(self.kube, self.image, [*burst, (LONG_S, setting.load)])
        if burst:
            time.sleep(BURST_S)

    def _stop(self) -> None:
        load.skip(self.kube)
        self.kube.wait("load ends", 60, lambda: load.finished(self.kube, "load"))
        self.kube.call("delete", "job", "load", "--wait")

    def _settle(self, setting: Setting) -> None:
        """Wait for batches that began with these settings, and skip the first ones."""
        begin_s = time.time()

        def settled() -> bool:
            time.sleep(POLL_S - 1)
            spent_s = time.time() - begin_s
            whole = [b for b in self._since(begin_s) if b.executors == setting.executors]
            return spent_s >= SETTLE_S and _span(whole) >= SETTLE_BATCHES

        self.kube.wait(f"{setting.name} settled", 240, settled)

    def _window(self, setting: Setting, begin_s: float) -> list[Batch]:
        def enough() -> bool:
            time.sleep(POLL_S - 1)
            spent_s = time.time() - begin_s
            return spent_s >= WINDOW_S and _span(self._since(begin_s)) >= WINDOW_BATCHES

        self.kube.wait(f"{setting.name} measured", 240, enough)
        return self._since(begin_s)

    def _since(self, begin_s: float) -> list[Batch]:
        spent_s = time.time() - begin_s
        return [b for b in self.batches(spent_s) if b.committed_s > begin_s]


def _span(batches: Sequence[Batch]) -> int:
    """Batches committed, including those that no scrape saw."""
    return batches[-1].id - batches[0].id + 1 if batches else 0
