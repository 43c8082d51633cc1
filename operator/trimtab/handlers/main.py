"""The operator process: kopf watches, our own loop decides."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import kopf

from trimtab import http
from trimtab.adapters.certificates import OwnCertificates
from trimtab.adapters.clock import WallClock
from trimtab.adapters.drivers import DriverEndpoints
from trimtab.adapters.election import Election
from trimtab.adapters.kubernetes import KubernetesCluster
from trimtab.adapters.prometheus import Prometheus
from trimtab.adapters.telemetry import PrometheusTelemetry
from trimtab.api.kinds import WATCHED, Kind, watched_in
from trimtab.errors import TrimtabError
from trimtab.reconcile.loop import ControlLoop
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.settings import OperatorSettings
from trimtab.workloads.common import MANAGED_SELECTOR

log = logging.getLogger(__name__)

_TOKEN_LIFE = datetime.timedelta(minutes=10)
_STANDBY_S = 0.5
"""How often an operator that stands by looks whether it is its turn."""
_EXIT_S = 1.0
_END_S = 8.0
"""Seconds for kopf to end. A watch that failed can keep it from ending, without watching on."""
_STUCK_TICKS = 6
"""Liveness fails if no tick has ended for this many tick periods, but at least a minute."""


def run(config: OperatorSettings, kubeconfig: str | None) -> int:
    """Run until stopped; returns the exit code: 0, or 1 if the control task died."""
    clock = WallClock()
    telemetry = PrometheusTelemetry(clock)
    election = _election(config, kubeconfig)

    def leads() -> bool:
        return election is None or election.leads

    cluster = KubernetesCluster(config.namespaces, clock, kubeconfig, leads)
    metrics = Prometheus(
        config.prometheus_url, config.query_timeout_s, clock, telemetry.skipped,
        config.prometheus_login,
    )  # fmt: skip
    drivers = None if config.direct_tick_s is None else DriverEndpoints()
    loop = ControlLoop(
        cluster, metrics, telemetry, clock, config, drivers=drivers,
        certificates=OwnCertificates(),
    )  # fmt: skip
    stop, died = threading.Event(), threading.Event()
    _wire_settings(kubeconfig)
    _wire_watches(loop.cache, config.namespaces)
    _wire_control(loop, config, stop, died, leads)
    if election is not None:
        election.start(partial(_lost, stop, died))
    limit_s = max(60.0, _STUCK_TICKS * config.tick_s)
    probes = {
        "/healthz": lambda: _age(telemetry.tick_age_s(), limit_s),
        "/readyz": lambda: _synced(loop.synced, leads()),
    }
    http.serve(config.metrics_port, telemetry.registry, probes)
    kopf.configure(log_format=kopf.LogFormat.JSON, verbose=False)
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)  # else it logs each event
    try:
        kopf.run(
            standalone=True,
            identity=cast("Any", "trimtab"),  # else kopf looks up the user, who has no name here
            clusterwide=not config.namespaces,
            namespaces=config.namespaces,
            stop_flag=stop,
        )
    except Exception as error:  # kopf has logged where it comes from
        log.error("watching failed: exiting, to begin anew: %s", error)
        return 1
    return 1 if died.is_set() else 0


def _age(age_s: float | None, limit_s: float) -> tuple[bool, str]:
    if age_s is None:
        return True, "no tick yet"
    return age_s <= limit_s, f"last tick {age_s:.0f} s ago, healthy up to {limit_s:.0f} s"


def _synced(synced: bool, leads: bool) -> tuple[bool, str]:
    if not leads:
        return True, "standing by: another operator holds the Lease"
    return synced, "synced" if synced else "the first lists are still being read"


def _election(config: OperatorSettings, kubeconfig: str | None) -> Election | None:
    if config.lease is None:
        return None
    return Election(*config.lease, config.identity, kubeconfig)


def _lost(stop: threading.Event, died: threading.Event) -> None:
    log.error("the Lease is lost: exiting, so that only its new holder writes")
    died.set()
    stop.set()
    # kopf takes its time to stop; by then another operator acts
    _exit_in(_EXIT_S)


def _exit_in(seconds: float, why: str = "") -> None:
    """End the process then, whatever it is doing."""

    def leave() -> None:
        if why:
            log.error(why)
        os._exit(1)

    timer = threading.Timer(seconds, leave)
    timer.daemon = True
    timer.start()


def _wire_settings(kubeconfig: str | None) -> None:
    """What kopf does by itself; of others' kinds it watches our own objects only."""

    @kopf.on.startup()
    def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        settings.posting.enabled = False
        settings.watching.server_timeout = 600
        settings.networking.request_timeout = 30
        settings.networking.connect_timeout = 10
        settings.networking.error_backoffs = Backoffs()
        settings.scanning.disabled = True  # kinds are known; CRDs are installed by the chart
        for kind in WATCHED:
            if not kind.ours:
                # the server filters: a handler's labels alone would bring every pod here first
                selectors = settings.watching.label_selectors
                selectors[(*_group_version(kind), kind.plural)] = MANAGED_SELECTOR

    @kopf.on.login()
    def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
        if kubeconfig:
            os.environ["KUBECONFIG"] = kubeconfig  # kopf takes it from nowhere else
            info = kopf.login_with_kubeconfig(**kwargs)
        else:
            info = kopf.login_with_service_account(**kwargs)
        expires = datetime.datetime.now(datetime.UTC) + _TOKEN_LIFE
        return dataclasses.replace(info, expiration=expires) if info else None


class Backoffs:
    """Seconds between tries of a watch, without end.

    After its last try, kopf ends the whole process. Without watches it would still do its work,
    from the full lists; and while the API server is down, a new process cannot do better.
    """

    def __iter__(self) -> Iterator[float]:
        yield from (1, 2, 3, 5, 8, 13)
        yield from itertools.repeat(20)


def _wire_watches(cache: ObjectCache, namespaces: tuple[str, ...]) -> None:
    for kind in watched_in(namespaces):
        kopf.on.event(*_group_version(kind), kind.plural)(_observer(cache, kind.name))


def _group_version(kind: Kind) -> tuple[str, str]:
    group, _, version = kind.api_version.rpartition("/")
    return group, version


def _observer(cache: ObjectCache, kind: str) -> Any:
    def observe(event: kopf.RawEvent, **_: Any) -> None:
        manifest = dict(event["object"])
        cache.observe(manifest | {"kind": kind}, deleted=event["type"] == "DELETED")

    observe.__name__ = f"observe_{kind.lower()}"
    return observe


def _wire_control(
    loop: ControlLoop, config: OperatorSettings, stop: threading.Event, died: threading.Event,
    leads: Callable[[], bool],
) -> None:  # fmt: skip
    tasks: set[asyncio.Task[None]] = set()

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception():
            log.error("the control task died: exiting", exc_info=task.exception())
            died.set()
        stop.set()

    @kopf.on.startup()
    async def start(**_: Any) -> None:
        task = asyncio.create_task(_control(loop, config.pause_s, leads), name="control")
        task.add_done_callback(ended)
        tasks.add(task)

    @kopf.on.cleanup()
    async def finish(**_: Any) -> None:
        for task in tasks:
            task.cancel()
        _exit_in(_END_S, "the watches do not end: exiting")


async def _control(loop: ControlLoop, pause_s: float, leads: Callable[[], bool]) -> None:
    """Tick forever; log errors that may heal by themselves, end the process on all others."""
    while True:
        if not leads():
            await asyncio.sleep(_STANDBY_S)
            continue
        try:
            await asyncio.to_thread(loop.tick)
        except TrimtabError as error:
            log.warning("tick failed, settings are unchanged: %s", error)
        await asyncio.sleep(pause_s)
