"""Generated specs on a real API server, under a real operator process.

Many custom resources, each of which is good at first; then each gets another spec, which the API
server refuses, or the operator calls `Stalled` in words, or carries out. At last each gets the good
one again, and all are as before.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from kubernetes.client.exceptions import ApiException
from tests.apiserver.conftest import example
from tests.faults.generated import specs
from tests.faults.life import Life, started
from tests.faults.record import Row, record
from tests.long import WHOLE

Json = dict[str, Any]
Named = tuple[str, str]

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(3600 if WHOLE else 600)]

ROUNDS = 6 if WHOLE else 1
EACH = {"StreamPipeline": 40 if WHOLE else 20, "KafkaCluster": 15 if WHOLE else 8}
FILES = {"StreamPipeline": "pipeline", "KafkaCluster": "kafka"}
WAITS = {"DriverMissing", "BrokersStarting", "KafkaClusterNotReady"}
"""For pods that an admission refuses here, such as for a PriorityClass that is not there."""
REST_S = 900.0 if WHOLE else 300.0
"""For as many objects as there are in a round, on a busy machine."""
UNREADABLE = re.compile(r"Traceback|pydantic|input_value|<class|object at 0x")


def drawn(kind: str, good: Json, number: int) -> list[Json]:
    """So many specs of a kind."""
    found: list[Json] = []

    @settings(
        max_examples=number, phases=[Phase.generate], database=None, deadline=None,
        suppress_health_check=list(HealthCheck), derandomize=not WHOLE,
    )  # fmt: skip
    @given(specs(kind, good))
    def take(spec: Json) -> None:
        found.append(copy.deepcopy(spec))

    take()
    return found


@pytest.fixture(scope="module")
def life(kubeconfig: Path, token: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    with started(kubeconfig, token, tmp_path_factory.mktemp("made"), "generated") as made:
        made.make()
        made.settle("the quickstart")
        yield made


def test_every_spec_is_refused_stalled_or_carried_out(life: Life) -> None:
    counted: Counter[str] = Counter()
    for turn in range(ROUNDS):
        counted += tried(life, turn)
    assert life.operator.tracebacks() == []
    assert life.operator.said("not reconciled") == ""
    assert counted["refused"]
    assert counted["carried out"]
    said = ", ".join(f"{outcome} {number}" for outcome, number in counted.most_common())
    record(Row("generated-live", counted.total(), said=said))


def tried(life: Life, turn: int) -> Counter[str]:
    """One round: everything good, then generated, then good again, then gone."""
    wanted: dict[Named, Json] = {}
    for kind, number in EACH.items():
        good = example(FILES[kind])
        for place, spec in enumerate(drawn(kind, good["spec"], number)):
            name = f"{kind[0].lower()}{turn}-{place}"
            wanted[kind, name] = spec
            life.world.apply(good | {"metadata": {"name": name}})
    life.settle("all good", REST_S)
    shapes = {named: verdict(life, named) for named in wanted}
    assert set(shapes.values()) == {"carried out"}
    outcomes = {named: edited(life, named, spec) for named, spec in wanted.items()}
    life.settle("all edited", REST_S)
    taken = [named for named, outcome in outcomes.items() if outcome == "taken"]
    outcomes |= {named: verdict(life, named) for named in taken}
    for named in taken:
        restored(life, named)
    life.settle("all good again", REST_S)
    for named, spec in wanted.items():
        assert verdict(life, named) == "carried out", spec
    for kind, name in wanted:
        life.world.delete(kind, name)
    life.settle("all gone", REST_S)
    return Counter(outcomes.values())


def edited(life: Life, named: Named, spec: Json) -> str:
    """Replace the spec as `kubectl replace` does; whether the API server takes it."""
    kind, name = named
    live = life.world.get(kind, name)
    assert live
    try:
        life.world.replace(live | {"spec": spec})
    except ApiException as error:
        if error.status not in {400, 422} or UNREADABLE.search(str(error.body)):
            raise
        return "refused"
    return "taken"


def restored(life: Life, named: Named) -> None:
    """The good spec again, with what the API reference says can only be raised."""
    kind, name = named
    good, live = example(FILES[kind])["spec"], life.world.get(kind, name)
    assert live
    now = live["spec"].get("checkpoint") or {}
    if now.get("generation", 1) > 1 or now.get("uri"):
        good["checkpoint"] = {"generation": min(now.get("generation", 1) + 1, 10**9)}
    if kind == "KafkaCluster":
        good = only_grown(good, live["spec"])
    life.world.replace(live | {"spec": good})


def only_grown(good: Json, now: Json) -> Json:
    """The good spec of a KafkaCluster, whose topics keep what Kafka cannot take back."""
    topics = {topic["name"]: topic for topic in now.get("topics") or []}
    kept = []
    for topic in good["topics"]:
        before = topics.get(topic["name"], {})
        limits = {k: before[k] for k in ("retentionMs", "retentionBytes") if k in before}
        most = max(topic["partitions"], before.get("partitions", 1))
        kept.append(topic | limits | {"partitions": most})
    return good | {"topics": kept}


def verdict(life: Life, named: Named) -> str:
    """What the status says; asserts that a person can read it."""
    kind, name = named
    live = life.world.get(kind, name)
    assert live
    told = {c["type"]: c for c in live["status"]["conditions"]}
    said = told["Stalled"].get("message", "")
    assert not UNREADABLE.search(said), said
    if told["Stalled"]["status"] == "True":
        assert len(said) > 10
        return str(told["Stalled"]["reason"])
    if told["Ready"]["status"] == "True" or told["Ready"]["reason"] == "Suspended":
        return "carried out"
    assert told["Reconciling"]["status"] == "True", told
    assert told["Ready"]["reason"] in WAITS, told
    return f"waits: {told['Ready']['reason']}"
