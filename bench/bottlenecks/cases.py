"""One pipeline for each bottleneck that this machine can produce, and the expected decisions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

from trimtab.job.executors.locality import preferred

Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A pipeline whose bottleneck is known."""

    kind: str
    function: str
    """Of `work.py`."""
    rate: float
    """Records/s of the load, after half a minute at a tenth of it."""
    params: dict[str, str] = field(default_factory=dict)
    partitions: int = 12
    hot: float = 0.0
    executors: tuple[int, int] = (1, 2)
    limits: Json = field(default_factory=dict)
    initial: Json = field(default_factory=dict)
    pinned: Json = field(default_factory=dict)
    target: str = "12s"
    """The goal for the 95th percentile."""
    quota: int | None = None
    """Bytes/s that Kafka accepts from the sink."""
    full: bool = False
    """Whether a ResourceQuota has no room for one more pod, besides the load's."""
    delay_ms: float = 0.0
    """Of each packet from and to the broker."""
    delays_driver: bool = False
    """Only of the driver's."""
    size: int = 100
    """Bytes of a record of the load."""
    topics: int = 1
    """Topics of the source; more than one prefer the same of two executors."""
    stores: int = 0
    """Partitions of the state; 0 if the query keeps none."""
    expects: tuple[str, ...] = ()
    """Reasons, one of which a decision should have; empty if nothing should help."""
    reverts: str = ""
    """The reason why those decisions should be put back; empty if they should not."""
    by_hand: Json | None = None
    """What is pinned once its user has followed the message of the bottleneck; None: it has no
    cure by hand."""
    seconds: float = 180.0
    """At most, from when the tuner is free until it has settled."""
    variant: str = ""
    """What distinguishes it from the other cases of its kind."""
    cpu: str = "100m"
    """CPU that each executor reserves."""
    note: str = ""
    """What a reader of the table should know of it."""

    @property
    def title(self) -> str:
        """Its title in the table."""
        return f"{self.kind}, {self.variant}" if self.variant else self.kind

    @property
    def name(self) -> str:
        """The name of the pipeline and its topics."""
        return self.title.lower().replace(",", "").replace(" ", "-")

    @property
    def sources(self) -> list[str]:
        """The topics that it reads."""
        if self.topics == 1:
            return [self.name]
        names = (f"{self.name}-{number}" for number in itertools.count())
        near = (name for name in names if preferred(name, 0, 2) == 0)
        return list(itertools.islice(near, self.topics))


START = {"executors": 1, "trigger": "5s", "maxOffsetsPerTrigger": 20_000}
STAY = {"trigger": "5s", "maxOffsetsPerTrigger": 20_000}
SMALL = STAY | {"maxOffsetsPerTrigger": 3000}
WAIT = {"wait_ms": "8"}

# few tasks, because starting one takes time without computing; and CPU is requested, because tasks
# that wait for a CPU on a busy node compute for less of their time
CPU = Case(
    "Cpu", "compute", 65, {"rounds": "56000"}, partitions=2, initial=START, pinned=STAY,
    cpu="500m", expects=("ExecutorsRaised",),
)  # fmt: skip

CASES = (
    Case("AdmissionLimit", "plain", 200, initial=START | {"maxOffsetsPerTrigger": 300},
         expects=("BatchLimitRaised", "TriggerShortened")),
    Case("BatchOverhead", "plain", 60, partitions=24, initial=START | {"trigger": "500ms"},
         expects=("TriggerLengthened", "ExecutorsRaised"),
         note="its goal is met before, but a batch of 24 tasks takes longer than the trigger: the"
              " driver never rests. A longer trigger costs latency. Batches of about one size do"
              " not tell which part does not grow with the records; then Concurrency is named, and"
              " the trigger still goes first, because it needs no executors."),
    Case("Concurrency", "remote", 280, WAIT, executors=(1, 1), initial=START | {"maxInFlight": 1},
         pinned=STAY, expects=("CallsRaised",)),
    # slightly more than the service can answer, so that batches that fall behind still end
    Case("RemoteRate", "remote", 160, WAIT | {"per_s": "110"}, executors=(1, 1), pinned=STAY,
         initial=START | {"maxInFlight": 1}, seconds=200,
         note="the service answers 110 of the 160 records/s. More calls are tried once; then no"
              " setting is left that helps, and the message says that it is the service."),
    # six calls at once achieve 750/s, 32 achieve 141/s
    Case("RemoteRate", "remote", 200, WAIT | {"knee": "6"}, executors=(1, 1), pinned=STAY,
         initial=START | {"maxInFlight": 32}, expects=("CallsLowered",), seconds=200,
         variant="crowded"),
    Case("Concurrency", "wait", 160, WAIT, executors=(1, 1), limits={"executorCores": 2},
         initial=START, pinned=STAY, expects=("CoresRaised",), seconds=260, variant="cores"),
    CPU,
    # the node has room for one such executor; a missing one is waited for, for 180 s
    replace(CPU, cpu="800m", reverts="PodsPending", variant="no node", seconds=260),
    replace(CPU, full=True, reverts="ExecutorsRefused", variant="no quota"),
    Case("Memory", "hoard", 3, {"strings": "500000"}, initial=START, pinned=STAY,
         expects=("ExecutorsRaised",)),
    Case("Skew", "wait", 160, WAIT, partitions=8, hot=0.6, executors=(1, 4),
         limits={"tasks": 32}, initial=START | {"executors": 3}, pinned=STAY,
         expects=("PartitionsSplit",)),
    Case("SourcePartitions", "wait", 220, WAIT, partitions=2, executors=(1, 4),
         limits={"tasks": 16}, initial=START | {"executors": 2}, pinned=STAY,
         expects=("PartitionsSplit",)),
    Case("SourcePartitions", "wait", 220, WAIT, partitions=2, executors=(1, 4),
         limits={"topicPartitions": 8}, initial=START | {"executors": 2}, pinned=STAY,
         expects=("PartitionsRaised",), seconds=260, variant="topic"),
    # 100 records/s of 1 kB, which compress well; a larger batch does not help, fewer bytes do
    Case("Sink", "swell", 100, {"bytes": "1000"}, executors=(1, 2), initial=START, pinned=STAY,
         quota=80_000, expects=("ProducerChanged",), seconds=300),
    # 480 kB/s of uncompressed records, of which one request of 16 KiB for each of two partitions
    # carries 400 kB/s in a round trip of 80 ms
    Case("Sink", "swell", 120, {"bytes": "4000"}, partitions=2, executors=(1, 2), delay_ms=40,
         initial=START | {"producer": {"maxInFlight": 1}}, pinned=STAY,
         expects=("ProducerChanged",), seconds=300, variant="slow link"),
    # eight records in each fetch of 80 ms: 100 records/s of both partitions, one after the other;
    # the limit keeps the batch short that has to end before the cure is in force
    Case("Fetch", "plain", 120, size=1000, partitions=2, delay_ms=40, executors=(1, 1),
         initial=START, pinned=SMALL | {"fetch": {"maxPartitionBytes": 8192}}, by_hand=SMALL,
         seconds=40),
    # the driver asks Kafka for offsets, which takes several round trips of 200 ms in each batch
    Case("DriverPlanning", "plain", 60, delay_ms=100, delays_driver=True, executors=(1, 1),
         initial=START | {"trigger": "1s"}, expects=("TriggerLengthened",)),
    # six tasks, of which all prefer the same of two executors
    Case("Locality", "wait", 160, WAIT, partitions=1, topics=6, executors=(2, 2), pinned=STAY,
         initial=START | {"executors": 2, "locality": {"scope": "Process"}},
         expects=("ScopeWidened",)),
    # nothing that is allowed helps: executors are tried, and put back
    Case("Skew", "wait", 160, WAIT, partitions=8, hot=0.6, executors=(1, 4),
         initial=START | {"executors": 3}, pinned=STAY, expects=("ExecutorsRaised",),
         reverts="TrialNoGain", variant="no split",
         note="where limits.tasks does not allow a split, no setting helps."),
    Case("StateCommit", "count", 60, executors=(1, 2), initial=START, target="40s", stores=40,
         expects=("TriggerLengthened",),
         note="its goal is met before, but the commits take most of each batch: the driver never"
              " rests. A longer trigger commits less often, and costs latency."),
)  # fmt: skip

SLOW_COMMIT = {
    # every commit writes all files of all the many small stores
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
    "spark.sql.streaming.stateStore.rocksdb.compactOnCommit": "true",
}
SHARED = {"volumeClaim": {"shared": True, "storageClassName": "shared"}}
"""The local cluster's storage class for volumes on every node."""


def kafka() -> Json:
    """One broker with all cases' topics."""
    topics = [
        {"name": name, "partitions": case.partitions}
        for case in CASES
        for name in [*case.sources, f"{case.name}-out"]
    ]
    spec = {
        "storage": {"size": "1Gi"},
        "resources": {"cpuRequest": "100m", "memory": "1Gi"},
        "topics": topics,
    }
    return {
        "apiVersion": "trimtab.dev/v1alpha1", "kind": "KafkaCluster",
        "metadata": {"name": "events"}, "spec": spec,
    }  # fmt: skip


def pipeline(case: Case, *, sick: bool) -> Json:
    """The StreamPipeline of a case; while it is to be sick, nothing is tuned."""
    least, most = case.executors
    tuning: Json = {"dwell": {"up": 2, "down": 6}, "initial": case.initial}
    tuning["mode"] = "Observe" if sick else "Auto"
    if "locality" in case.initial:
        tuning["locality"] = {"enabled": True}
    if case.pinned:
        tuning["pinned"] = case.pinned
    spec: Json = {
        "goal": {"latency": {"percentile": 95, "target": case.target, "catchUp": "90s"}},
        "source": {"kafka": {"cluster": "events", "topics": case.sources,
                             "startingOffsets": "earliest"}},
        "transform": {"python": {"module": f"work:{case.function}", "configMap": "work",
                                 "params": case.params}},
        "sink": {"kafka": {"cluster": "events", "topic": f"{case.name}-out"}},
        "resources": {"driver": {"cpuRequest": "200m", "memory": "1536Mi"},
                      "executor": {"cores": 1, "cpuRequest": case.cpu, "memory": "900Mi"}},
        "limits": {"executors": {"min": least, "max": most}} | case.limits,
        "drainTimeout": "10s",  # nothing of a deleted pipeline is used any more
        "tuning": tuning,
    }  # fmt: skip
    if case.stores:
        spec["transform"]["shufflePartitions"] = case.stores
        spec["sink"]["outputMode"] = "update"
        spec |= {"checkpoint": SHARED, "sparkConf": SLOW_COMMIT}
    return {
        "apiVersion": "trimtab.dev/v1alpha1", "kind": "StreamPipeline",
        "metadata": {"name": case.name}, "spec": spec,
    }  # fmt: skip
