"""The life of one KafkaCluster and one StreamPipeline under a real operator process."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.apiserver.conftest import example
from tests.faults.operators import Operator, login
from tests.faults.proxy import Proxy, proxied
from tests.faults.world import World, differences, shape

Json = dict[str, Any]
Shape = dict[str, Any]
TICK_S = 0.3
QUIET_TICKS = 3
"""Ticks without a write after which nothing more is to come."""
LIMIT_S = 300.0
"""A machine that is busy with other things may take that long."""
POLL_S = 0.05
PROBE_S = 2.0


@dataclass
class Chapter:
    """What a part of the life has left."""

    title: str
    state: dict[str, Any]
    seconds: float
    """From what a person did to the last write."""


@dataclass
class Life:
    """From creation over an edit to deletion; the operator is started again when it dies."""

    world: World
    proxy: Proxy
    operator: Operator
    chapters: list[Chapter] = field(default_factory=list)
    deaths: int = 0
    down_s: list[float] = field(default_factory=list)
    """For each death, the seconds until an operator had read everything again."""
    events: list[tuple[str, str]] = field(default_factory=list)
    """Reason and message of all Events, at the end."""
    unhealthy: int = 0
    """How often the liveness probe has failed."""
    _died_s: float | None = None
    _probed_s: float = 0.0

    def live(self) -> None:
        """The whole life."""
        for title, action in self.script():
            action()
            began_s = time.monotonic()
            ended_s = self.settle(title)
            self.chapters.append(Chapter(title, self.world.state(), ended_s - began_s))
        self.events = self.world.events()

    def script(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """What people do, with a title."""
        yield "made", self.make
        yield "edited", self.edit
        yield "deleted", self.delete

    def make(self) -> None:
        """Somebody applies the quickstart."""
        for manifest in manifests():
            self.world.apply(manifest)

    def edit(self) -> None:
        """An edit of each sort: brokers, topics, driver, source options and limits."""
        for manifest in edited():
            self.world.apply(manifest)

    def delete(self) -> None:
        """Somebody deletes both."""
        self.world.delete("StreamPipeline", "clicks")
        self.world.delete("KafkaCluster", "events")

    def settle(self, what: str, limit_s: float = LIMIT_S) -> float:
        """Play the controllers until nobody writes any more; returns when the last one did."""
        began_s = last_s = time.monotonic()
        writes, since = -1, self.operator.ticks()
        while not self._caught_up() or self.operator.ticks() < since + QUIET_TICKS:
            now_s = time.monotonic()
            left = "" if now_s - began_s < limit_s else ", ".join(self.world.everything())
            assert not left, f"{what}: not at rest after {limit_s} s; there are {left}"
            self.supervise()
            if self.world.play() or len(self.proxy.writes) != writes:
                last_s, writes = time.monotonic(), len(self.proxy.writes)
                since = self.operator.ticks()
            elif not self.operator.ticks():
                since = 0  # another process counts from the beginning
            time.sleep(POLL_S)
        return last_s

    def until(self, what: str, probe: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
        """Play the controllers until the probe says yes."""
        began_s = time.monotonic()
        while not probe():
            assert time.monotonic() - began_s < limit_s, f"not within {limit_s} s: {what}"
            self.supervise()
            self.world.play()
            time.sleep(POLL_S)

    def go_on(self, seconds: float) -> None:
        """Play the controllers and the kubelet for so long."""
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            self.supervise()
            self.world.play()
            time.sleep(POLL_S)

    def supervise(self) -> None:
        """Start the operator when it does not run, as the kubelet would, and note how long.

        If its liveness probe fails, it is killed first.
        """
        now_s = time.monotonic()
        if now_s - self._probed_s > PROBE_S:
            self._probed_s = now_s
            if self.operator.alive and not self.operator.healthy():
                self.unhealthy += 1
                self.operator.end()
        if not self.operator.alive:
            if self.operator.starts:
                self.deaths += 1
                self._died_s = now_s
            self.operator.start()
        elif self._died_s is not None and self.operator.ready() == "synced":
            self.down_s.append(now_s - self._died_s)
            self._died_s = None

    def _caught_up(self) -> bool:
        """Whether the operator has read everything at least once, and the newest specs."""
        if self.operator.ready() != "synced":
            return False
        for kind in ("StreamPipeline", "KafkaCluster"):
            for each in self.world.all(kind):
                seen = (each.get("status") or {}).get("observedGeneration")
                if seen != each["metadata"]["generation"]:
                    return False
        return True


class Turns:
    """A life that goes back and forth between two specs."""

    def __init__(self, life: Life) -> None:
        self.life, self.now = life, 0
        self.shapes: list[Shape] = []
        for turn in (self.life.make, self.life.edit):
            turn()
            life.settle("without a fault")
            self.shapes.append(shape(life.world.state()))
        self.now = 1

    def turn(self) -> float:
        """Edit to the other spec; returns when."""
        self.now = 1 - self.now
        (self.life.make, self.life.edit)[self.now]()
        return time.monotonic()

    def arrived(self, limit_s: float) -> float:
        """Wait until all is as the spec says; returns when it was."""
        began_s = time.monotonic()
        while True:
            self.life.supervise()
            self.life.world.play()
            found = shape(self.life.world.state())
            if found == self.shapes[self.now]:
                return time.monotonic()
            if time.monotonic() - began_s > limit_s:
                raise AssertionError("\n".join(differences(self.shapes[self.now], found)))
            time.sleep(0.1)


@contextmanager
def started(
    kubeconfig: Path, token: str, folder: Path, name: str, resync_s: float | None = None,
    **settings: str,
) -> Iterator[Life]:  # fmt: skip
    """A life in a namespace of that name, before anything has happened in it.

    `settings` become TRIMTAB_* variables of the operator.
    """
    with proxied(kubeconfig) as proxy:
        config = login(kubeconfig, token, folder / "kubeconfig", proxy.url)
        world = World(kubeconfig, name)
        told = {"NAMESPACES": name, "NETWORK_POLICIES": "{}", "TICK_SECONDS": f"{TICK_S:g}"}
        told |= settings
        life = Life(world, proxy, Operator(name, config, folder, resync_s, **told))
        try:
            yield life
        finally:
            life.operator.end()


def manifests() -> list[Json]:
    """The quickstart, and the account that no controller makes here."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    return [account, *(example(name) for name in ("kafka", "transform", "pipeline"))]


def edited() -> list[Json]:
    """The quickstart after an edit of what restarts brokers and driver, and of what does not."""
    _, kafka, _, pipeline = copy.deepcopy(manifests())
    kafka["spec"]["resources"] = {"memory": "1100Mi"}
    kafka["spec"]["topics"] = [*kafka["spec"]["topics"], {"name": "late", "partitions": 2}]
    pipeline["spec"]["drainTimeout"] = "30s"
    pipeline["spec"]["source"]["kafka"]["failOnDataLoss"] = False
    pipeline["spec"]["limits"]["executors"] = {"min": 1, "max": 3}
    return [kafka, pipeline]


def compared(one: Life, other: Life) -> list[str]:
    """Where two lives differ, at the end of each chapter."""
    found = []
    for before, after in zip(one.chapters, other.chapters, strict=True):
        found += [f"{before.title}/{each}" for each in differences(before.state, after.state)]
    return found
