"""`trimtab-policies -m dev.localcluster.enforcer PKI SERVER`: keeps NetworkPolicies in force.

One process serves all nodes, because they share the host's network. It watches pods, namespaces and
policies, and replaces the rules whenever they should be others.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dev.localcluster import daemons
from dev.localcluster.apiclient import KubeApi, load_identity
from dev.localcluster.paths import REPO, Paths
from dev.localcluster.policies import Pods, script
from dev.localcluster.run import run

Json = dict[str, Any]
NAME = "trimtab-policies"
WATCHED = {
    "pods": "/api/v1/pods",
    "namespaces": "/api/v1/namespaces",
    "policies": "/apis/networking.k8s.io/v1/networkpolicies",
}
WATCH_S = 240
RETRY_S = 0.5
# Pods come and go in groups.
SETTLE_S = 0.05

log = logging.getLogger(__name__)


def start(paths: Paths, server: str) -> daemons.Daemon:
    """Start the enforcer under a name of its own, by which ``down`` knows it."""
    program = paths.state / NAME
    program.symlink_to(Path(sys.executable).resolve())
    return daemons.start(
        NAME,
        [program, "-m", "dev.localcluster.enforcer", str(paths.pki), server],
        logs=paths.logs,
        pids=paths.pids,
        env={"PYTHONPATH": str(REPO), "PYTHONDONTWRITEBYTECODE": "1"},
    )


class Seen:
    """What the watches have told so far."""

    def __init__(self) -> None:
        self.changed = threading.Event()
        self._lock = threading.Lock()
        self._objects: dict[str, dict[tuple[str, str], Json]] = {}

    def put(self, what: str, objects: list[Json]) -> None:
        """Take a full list."""
        with self._lock:
            self._objects[what] = {_key(each): each for each in objects}
        self.changed.set()

    def event(self, what: str, kind: str, thing: Json) -> None:
        """Take one change."""
        with self._lock:
            if kind == "DELETED":
                self._objects[what].pop(_key(thing), None)
            else:
                self._objects[what][_key(thing)] = thing
        self.changed.set()

    def rules(self) -> str | None:
        """Return the nftables script; None before all lists are there."""
        with self._lock:
            if len(self._objects) < len(WATCHED):
                return None
            found = {what: list(objects.values()) for what, objects in self._objects.items()}
        return script(found["policies"], Pods.of(found["pods"], found["namespaces"]))


def _key(thing: Json) -> tuple[str, str]:
    return thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


def follow(api: KubeApi, what: str, seen: Seen) -> None:
    """List one kind and watch it, for ever."""
    path = WATCHED[what]
    while True:
        try:
            listed = api.get(path)
            seen.put(what, listed["items"])
            for event in _watch(api, path, listed["metadata"]["resourceVersion"]):
                if event["type"] == "ERROR":  # such as a version that is too old: list again
                    break
                seen.event(what, event["type"], event["object"])
        except (OSError, ValueError) as error:
            log.warning("%s: %s", path, error)
            time.sleep(RETRY_S)


def _watch(api: KubeApi, path: str, version: str) -> Iterator[Json]:
    query = f"watch=1&timeoutSeconds={WATCH_S}&resourceVersion={version}"
    for line in api.lines(f"{path}?{query}", limit_s=WATCH_S + 10):
        yield json.loads(line)


def main(pki: str, server: str) -> None:
    """Enforce until ended; a watch that dies ends the process, which ``status`` shows."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    api = KubeApi(server, *load_identity(Path(pki), "admin"))
    seen, before = Seen(), None
    for what in WATCHED:
        threading.Thread(target=_follow_or_exit, args=(api, what, seen), daemon=True).start()
    while True:
        seen.changed.wait()
        time.sleep(SETTLE_S)
        seen.changed.clear()
        rules = seen.rules()
        if rules is not None and rules != before:
            run(["nft", "-f", "-"], stdin=rules)
            before = rules


def _follow_or_exit(api: KubeApi, what: str, seen: Seen) -> None:
    try:
        follow(api, what, seen)
    except BaseException:
        log.exception("the watch of %s died", what)
        os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
