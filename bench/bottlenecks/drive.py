"""Plays one case: sick for a while with nothing tuned, then cured as far as the tuner can."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from bench.bottlenecks.cases import Case, Json, pipeline
from bench.bottlenecks.quota import any_pods, no_more_pods, throttle
from bench.link import slow
from dev.demo import load
from dev.demo.kube import DemoError, Kube, condition
from dev.localcluster.network import POD_RANGE

from bench import commit
from trimtab.api.quantities import parse_duration
from trimtab.api.reasons import BottleneckKind

POLL_S = 2.5
QUIET_S = 20.0
SICK_S = 75.0
"""Under the full load with nothing tuned, so that the minute's mean of the input is that of the
full load. Its figures are those of the last half."""

SETTLED_S = 30.0
"""Without a decision that changes anything, without a trial, and without a latency that falls,
from which it has settled."""

BY_HAND_S = 240.0
"""For a cure by hand: the batch under way ends first, and the backlog is worked off."""

FALLING = 0.95
"""Of the latency before, below which it still falls: the backlog is worked off."""


@dataclass
class Outcome:
    """What one run of a case showed."""

    kind: str
    title: str
    target: str = "12s"
    repeat: int = 1
    named: dict[str, int] = field(default_factory=dict)
    """How often each bottleneck was in the status while the tuner was free."""
    decisions: list[Json] = field(default_factory=list)
    before_s: float | None = None
    """The 95th percentile in the sick steady state; None if it was never known."""
    after_s: float | None = None
    """The same once it had settled."""
    settled: bool = False
    failure: str = ""
    commit: str = ""

    @property
    def right(self) -> bool:
        """Whether the true bottleneck was named at all."""
        return self.kind in self.named

    @property
    def met(self) -> bool:
        """Whether it met its goal in the end."""
        return self.after_s is not None and self.after_s <= parse_duration(self.target)


@dataclass
class Watch:
    """Looks at the status of a case every few seconds."""

    kube: Kube
    case: Case
    outcome: Outcome
    named: Counter[str] = field(default_factory=Counter)
    p95_s: list[tuple[float, float]] = field(default_factory=list)
    """When each was seen, in seconds of the monotonic clock, and the value."""

    def look(self) -> None:
        """Once; then wait until it is time for the next."""
        status = (self.kube.get("spl", self.case.name) or {}).get("status") or {}
        observed = (status.get("goal") or {}).get("observed")
        if observed:
            self.p95_s.append((time.monotonic(), parse_duration(observed)))
        note(self.outcome, self.named, status)
        time.sleep(POLL_S)

    def median_s(self, over_s: float, but_s: float = 0.0) -> float | None:
        """The median of the last seconds, but for the newest; None if nothing was seen in them."""
        now_s = time.monotonic()
        seen = [value for at_s, value in self.p95_s if but_s <= now_s - at_s <= over_s]
        return statistics.median(seen) if seen else None

    def falls(self, over_s: float) -> bool:
        """Whether it was clearly lower in the last half of these seconds than in the first."""
        first, last = self.median_s(over_s, over_s / 2), self.median_s(over_s / 2)
        return first is not None and last is not None and last < FALLING * first


def note(outcome: Outcome, named: Counter[str], status: Json) -> None:
    """Take over what is new in a status."""
    kind = (status.get("bottleneck") or {}).get("kind")
    if kind and kind != "None":
        named[kind] += 1
    known = {(d["time"], d["reason"]) for d in outcome.decisions}
    for each in status.get("decisions") or []:
        if (each["time"], each["reason"]) not in known:
            # a change may have removed it before the status is sampled again
            named.update(kind for kind in BottleneckKind if each["message"].startswith(f"{kind} ("))
            outcome.decisions.append({k: each[k] for k in ("time", "action", "reason", "message")})


def play(kube: Kube, image: str, case: Case, repeat: int) -> Outcome:
    """Deploy, load, watch, and remove everything."""
    outcome = Outcome(case.kind, case.title, case.target, repeat, commit=commit.head())
    kube.apply(pipeline(case, sick=True))
    try:
        kube.wait(
            f"{case.name} ready", 240,
            lambda: condition(kube.get("spl", case.name), "Ready") == "True",
        )  # fmt: skip
        with _trouble(kube, case):
            _watched(kube, image, case, outcome)
    except DemoError as error:
        outcome.failure = str(error)
    finally:
        kube.call("delete", "job", "load", "--ignore-not-found")
        kube.call("delete", "spl", case.name, "--ignore-not-found", limit_s=120)
        kube.wait("driver gone", 120, lambda: kube.get("pod", f"{case.name}-driver-0") is None)
        kube.call("delete", "pvc", f"{case.name}-checkpoint", "--ignore-not-found")
    return outcome


def _watched(kube: Kube, image: str, case: Case, outcome: Outcome) -> None:
    under_load_s = SICK_S + 2 * case.seconds + BY_HAND_S
    schedule = [(QUIET_S, case.rate / 10), (under_load_s, case.rate)]
    load.start(kube, image, schedule, ",".join(case.sources), hot=case.hot, size=case.size)
    begin = time.monotonic()
    sick = Watch(kube, case, outcome)
    while time.monotonic() - begin < QUIET_S + SICK_S:
        sick.look()
    outcome.before_s = sick.median_s(SICK_S / 2)
    outcome.decisions.clear()
    kube.apply(pipeline(case, sick=False))
    begin, free = time.monotonic(), Watch(kube, case, outcome)
    changed_s, many = begin, 0
    while time.monotonic() - begin < case.seconds and not outcome.settled:
        free.look()
        acted = [d["action"] for d in outcome.decisions if d["action"] != "Hold"]
        if len(acted) != many:
            changed_s, many = time.monotonic(), len(acted)
        quiet = time.monotonic() - changed_s >= SETTLED_S and not free.falls(SETTLED_S)
        outcome.after_s = free.median_s(SETTLED_S)
        outcome.settled = quiet and outcome.met and acted[-1:] not in ([], ["Change"])
    outcome.named = dict(free.named.most_common())
    if case.by_hand is not None:
        _cure_by_hand(kube, case, case.by_hand, free)
        outcome.after_s = free.median_s(SETTLED_S)


def _cure_by_hand(kube: Kube, case: Case, pinned: Json, watch: Watch) -> None:
    """Pin what the bottleneck's message says, and look while that comes into force."""
    kube.apply(pipeline(replace(case, pinned=pinned), sick=False))
    begin = time.monotonic()
    while time.monotonic() - begin < BY_HAND_S:
        watch.look()


@contextlib.contextmanager
def _trouble(kube: Kube, case: Case) -> Iterator[None]:
    """What is outside the pipeline: a quota, or a slow link to the broker."""
    with contextlib.ExitStack() as stack:
        if case.full:
            no_more_pods(kube, room=1)  # the load's
            stack.callback(any_pods, kube)
        if case.quota is not None:
            throttle(kube, case.quota)
            stack.callback(throttle, kube, None)
        if case.delay_ms:
            broker = _address(kube, "events-kafka-0")
            far = _address(kube, f"{case.name}-driver-0") if case.delays_driver else POD_RANGE
            pairs = [(broker, far), (far, broker)]
            stack.enter_context(slow(pairs, case.delay_ms))
        yield


def _address(kube: Kube, pod: str) -> str:
    return str((kube.get("pod", pod) or {})["status"]["podIP"])
