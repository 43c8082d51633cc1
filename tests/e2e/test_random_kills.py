"""Everything is killed at random under load, on three nodes: no record may be lost.

`make test-kills` runs it for an hour, and with SECONDS=300 for a try of five minutes. What is
killed without notice may make an at-least-once sink get records twice; planned changes may not.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from dev.demo.kube import Kube, condition
from dev.localcluster import power
from dev.localcluster.paths import from_environment
from tests.e2e.conftest import Stage, manifests, pipeline
from tests.faults.record import Row, record
from tests.faults.victims import Tries, order
from tests.long import WHOLE
from tests.zones.conftest import kafka

SECONDS = float(os.environ.get("TRIMTAB_KILL_SECONDS", "3600"))
SEED = int(os.environ.get("TRIMTAB_KILL_SEED", str(time.time_ns() % 10**6)))
"""Of the order of the kills; the first line of a run tells it."""
RATE = 60.0
END_S = 3600.0
"""Beyond the run: its load goes on until the test ends it."""
WELL_LIMIT_S = 900.0
DARK_S = 60.0
"""How long a node has no power: longer than the 40 s after which it counts as not ready."""
BROKERS = 3
PINNED = {"executors": 2, "trigger": "2s"}

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(2 * SECONDS + 7200),
    pytest.mark.skipif(not WHOLE, reason="make test-kills"),
]

Json = dict[str, Any]


@pytest.fixture(scope="module")
def home(cluster: tuple[Kube, dict[str, str]]) -> Iterator[Stage]:
    """The file's namespace, with a Kafka of three brokers that is ready."""
    made = Stage.anew(cluster, "e2e-random-kills")
    made.apply(kafka(), *manifests("transform"))
    made.wait_kafka()
    yield made
    made.kube.call("delete", "namespace", made.kube.namespace, "--wait=false", "--ignore-not-found")


def test_planned_changes_lose_and_duplicate_nothing(stage: Stage) -> None:
    """Every sort of planned change, one after the other, for a quarter of the time."""
    over_s, longest_s, count = SECONDS / 4, 0.0, 0
    stage.apply(pipeline(tuning={"pinned": PINNED}))
    stage.wait_ready()
    stage.start_load([(over_s + END_S, RATE)])
    began_s = time.monotonic()
    for count in itertools.count(1):
        driver, changed_s = stage.uid("clicks-driver-0"), time.monotonic()
        change(stage, count, driver)
        longest_s = max(longest_s, time.monotonic() - changed_s)
        if changed_s - began_s > over_s:
            break
    stage.next_step()
    result = stage.delivered(limit_s=600, ledger=False)
    record(
        Row(
            "live-planned", count, over_s=over_s, lost=result["lost"],
            duplicated_planned=result["duplicated"], unwell_s=longest_s,
            said="the decisions and conditions of the pipeline",
        )
    )  # fmt: skip
    assert (result["lost"], result["duplicated"]) == (0, 0)


def change(stage: Stage, count: int, driver: str | None) -> None:
    """The next planned change, until it is in force."""
    pinned = PINNED | {"executors": 1 + count % 3, "trigger": f"{1 + count % 2}s"}
    if count % 4 == 0:
        env = [{"name": "ROUND", "value": str(count)}]
        stage.apply(pipeline(tuning={"pinned": pinned}, env=env))
        stage.wait_replaced("clicks-driver-0", driver)
        stage.wait_ready()
    else:
        rounds = [{"name": "ROUND", "value": str(count - count % 4)}] if count > 4 else []
        pinned |= {"maxOffsetsPerTrigger": 1000 * (1 + count % 5)}
        stage.apply(pipeline(tuning={"pinned": pinned}, env=rounds))
    stage.wait_effective(**pinned)


def test_nothing_is_lost_when_everything_is_killed_at_random(stage: Stage) -> None:
    stage.apply(pipeline(tuning={"pinned": PINNED}))
    stage.wait_ready()
    stage.start_load([(SECONDS + END_S, RATE)])
    mayhem, tries = Mayhem(stage, random.Random(SEED)), Tries(SECONDS)
    mayhem.wait_well(mayhem.batch())
    began_s = time.monotonic()
    for victim, rest_s in order(mayhem.rng):
        if time.monotonic() - began_s > SECONDS:
            break
        time.sleep(rest_s)
        batch, killed_s = mayhem.batch(), time.monotonic()
        mayhem.kill(victim)
        said = mayhem.wait_well(batch)
        tries.note(victim, time.monotonic() - killed_s, said)
    stage.next_step()
    result = stage.delivered(limit_s=600, ledger=False)
    for row in tries.rows(result["lost"], result["duplicated"]):
        record(row)
    assert result["lost"] == 0, f"TRIMTAB_KILL_SEED={SEED}"
    assert result["delivered"] == result["produced"] > RATE * SECONDS / 2


class Mayhem:
    """Kills parts of what runs in a namespace, and sees whether all is well again."""

    def __init__(self, stage: Stage, rng: random.Random) -> None:
        self.stage, self.kube, self.rng = stage, stage.kube, rng
        self.paths = from_environment()

    def kill(self, victim: str) -> None:
        """End one of the victims without notice."""
        ways: dict[str, Callable[[], None]] = {
            "operator": lambda: self.delete(
                "-n", "trimtab", "-l", "app.kubernetes.io/component=operator"
            ),
            "driver": lambda: self.delete("clicks-driver-0"),
            "executor": lambda: self.delete(self.rng.choice(self.pods("executor"))),
            "broker": lambda: self.delete(f"events-kafka-{self.rng.randrange(BROKERS)}"),
            "node": self.cut_power,
        }
        ways[victim]()

    def delete(self, *what: str) -> None:
        self.kube.call("delete", "pod", *what, "--grace-period=0", "--force", "--wait=false")

    def cut_power(self) -> None:
        """A node is dark for a minute; not the one of the load, which cannot begin again."""
        loads = self.kube.get("pods", "-l", "job-name=load") or {"items": []}
        spared = {pod["spec"]["nodeName"] for pod in loads["items"]}
        names = {node["metadata"]["name"] for node in (self.kube.get("nodes") or {})["items"]}
        name = self.rng.choice(sorted(names - spared))
        outage = power.off(self.paths, int(name.removeprefix("node")))
        try:
            time.sleep(DARK_S)
        finally:
            power.on(self.paths, outage)

    def pods(self, component: str) -> list[str]:
        """The names of the running pods of a component."""
        label = f"trimtab.dev/component={component}"
        found = self.kube.get("pods", "-l", label) or {"items": []}
        return sorted(
            pod["metadata"]["name"] for pod in found["items"] if pod["status"]["phase"] == "Running"
        )

    def batch(self) -> float | None:
        """The number of the last batch; None if nobody knows."""
        return self.stage.metric(f'max(trimtab_batch_id{{namespace="{self.kube.namespace}"}})')

    def wait_well(self, batch: float | None) -> str:
        """Wait until all is well and batches go on; returns what the status said meanwhile."""
        said = ""
        end_s = time.monotonic() + WELL_LIMIT_S
        while trouble := self.trouble(batch):
            said = said or (trouble if trouble != NO_BATCH else "")
            assert time.monotonic() < end_s, f"TRIMTAB_KILL_SEED={SEED}: {trouble}"
            time.sleep(2)
        return said

    def trouble(self, batch: float | None) -> str:
        """What is not well, in the words of the status; empty if all is."""
        for kind, name in (("spl", "clicks"), ("tkc", "events")):
            live = self.kube.get(kind, name)
            if condition(live, "Ready") != "True":
                told = ((live or {}).get("status") or {}).get("conditions") or []
                ready: Json = next((c for c in told if c["type"] == "Ready"), {})
                return f"{ready.get('reason', 'NoStatus')}: {ready.get('message', '')}"
        operators = self.kube.get(
            "pods", "-n", "trimtab", "-l", "app.kubernetes.io/component=operator"
        )
        ready_ones = [pod for pod in (operators or {"items": []})["items"] if is_ready(pod)]
        now = self.batch()
        goes_on = now is not None and (batch is None or now > batch)
        return "" if ready_ones and goes_on else NO_BATCH


NO_BATCH = "no operator is ready, or no batch has ended since"


def is_ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
