"""Rules on the spec of a StreamPipeline as a whole, in CEL; the model has a twin of each."""

from __future__ import annotations

from trimtab.api.v1alpha1.formats import MOST_ASIDE
from trimtab.api.v1alpha1.origin import ONE_OR_SEVERAL_SOURCES
from trimtab.api.v1alpha1.query import DEAD_LOOP, LOOP, NO_DEAD_LETTERS, TOO_MANY_ASIDE
from trimtab.api.v1alpha1.results import ONE_OR_SEVERAL, RESULT, TAKEN
from trimtab.api.v1alpha1.spark_ui import EVENT_LOG_RULE

SHUFFLE_PARTITIONS_KEY = "spark.sql.shuffle.partitions"


_KAFKA = "(has(self.source) && has(self.source.kafka))"
"""CEL: whether one Kafka is the source."""
_KAFKAS = f"(has(self.sources) || {_KAFKA})"
"""CEL: whether all records come from Kafka."""


def _reads(topic: str) -> str:
    """CEL: whether the source reads a topic."""
    source = "self.source.kafka"
    return (
        f"{_KAFKA} && ((has({source}.topics) && {topic} in {source}.topics)"
        f" || (has({source}.topicPattern)"
        f" && {topic}.matches('^(' + {source}.topicPattern + ')$')))"
    )


def _in_one(source: str, sink: str) -> str:
    """CEL: whether both are the same Kafka, by the way in which they name it."""
    return " || ".join(
        f"has({source}.{by}) && has({sink}.kafka.{by}) && {source}.{name} == {sink}.kafka.{name}"
        for by, name in (
            ("cluster", "cluster"),
            ("strimzi", "strimzi.name"),
            ("bootstrapServers", "bootstrapServers"),
        )
    )


def _loops(sink: str) -> str:
    """CEL: whether a sink is a topic that the source reads."""
    same = _in_one("self.source.kafka", sink)
    return f"has({sink}.kafka) && ({same}) && ({_reads(f'{sink}.kafka.topic')})"


def _loops_of_several(sink: str) -> str:
    """CEL: whether a sink is a topic that one of several sources reads."""
    reads = f"{sink}.kafka.topic in o.kafka.topics"
    return f"has({sink}.kafka) && self.sources.exists(o, {reads} && ({_in_one('o.kafka', sink)}))"


TOO_SMALL = (
    "limits.{0} is less than limits.executors.min needs, or than one executor: raise it, or lower"
    " executors.min or resources.executor.{0}"
)
NO_RUNS = (
    "a run takes on what waits in a Kafka, and of this source it is not known what waits: remove"
    " runs"
)
GOAL_WITHOUT_KAFKA = (
    "without source.kafka, write a goal of latency, by the clock of the producer, which is the time"
    " in each row: how many rows wait is not known"
)
NO_REAL_TIME = (
    "real-time mode needs source.kafka, one sink.kafka, a transform in sql or jvm, a goal of"
    " latency by the clock of the producer, and at least one executor, and neither deadLetters nor"
    " runs: write execution: auto, and batches take its place"
)
TABLE_TAKEN = "a source has the name of a table: name one of them otherwise"
SEVERAL_TAKE = (
    "several sources take a transform in sql, which finds each as a view, or python: {module: ...},"
    " whose function gets a dict of frames"
)
_FEWEST = "(self.limits.executors.min > 0 ? self.limits.executors.min : 1)"
_LIMIT, _POD = "self.limits.memory", "self.resources.executor.memory"
_PIN = "has(self.tuning.pinned) && has(self.tuning.pinned.executors)"

RULES = (
    (
        f"!({_PIN}) || (self.tuning.pinned.executors >= self.limits.executors.min"
        " && self.tuning.pinned.executors <= self.limits.executors.max)",
        "tuning.pinned.executors must lie within limits.executors",
    ),
    (
        f"!has(self.limits.cores) || self.limits.cores >= {_FEWEST} *"
        " self.resources.executor.cores",
        TOO_SMALL.format("cores"),
    ),
    (
        f"!has(self.limits.memory) || !isQuantity({_LIMIT}) || !isQuantity({_POD})"
        f" || quantity({_LIMIT}).asApproximateFloat()"
        f" >= double({_FEWEST}) * quantity({_POD}).asApproximateFloat()",
        TOO_SMALL.format("memory"),
    ),
    (
        "!has(self.limits.executorCores)"
        " || self.limits.executorCores >= self.resources.executor.cores",
        "limits.executorCores is less than resources.executor.cores: raise the former or"
        " lower the latter",
    ),
    (
        f"!has(self.limits.topicPartitions) || {_KAFKA}"
        " && ((has(self.source.kafka.cluster) || has(self.source.kafka.strimzi))"
        " && has(self.source.kafka.topics) && size(self.source.kafka.topics) == 1)",
        "limits.topicPartitions is for one topic of a KafkaCluster or of a Strimzi Kafka"
        " here: name it in source.kafka.cluster or source.kafka.strimzi, with one topic,"
        " or remove the limit",
    ),
    EVENT_LOG_RULE,
    ("has(self.sink) != has(self.sinks)", ONE_OR_SEVERAL),
    (f"!{_KAFKA} || !has(self.sink) || !({_loops('self.sink')})", LOOP),
    (f"!{_KAFKA} || !has(self.sinks) || !self.sinks.exists(s, {_loops('s')})", LOOP),
    ("has(self.source) != has(self.sources)", ONE_OR_SEVERAL_SOURCES),
    (f"!has(self.sources) || !has(self.sink) || !({_loops_of_several('self.sink')})", LOOP),
    (
        "!has(self.sources) || !has(self.sinks)"
        f" || !self.sinks.exists(s, {_loops_of_several('s')})",
        LOOP,
    ),
    (
        "!has(self.sources) || !has(self.transform.tables)"
        " || !self.transform.tables.exists(t, self.sources.exists(s, s.name == t.name))",
        TABLE_TAKEN,
    ),
    (
        "!has(self.sources) || has(self.transform.sql)"
        " || (has(self.transform.python) && has(self.transform.python.module))",
        SEVERAL_TAKE,
    ),
    (
        "!has(self.sinks) || !has(self.transform.tables)"
        f" || !self.transform.tables.exists(t, t.name == '{RESULT}')",
        TAKEN,
    ),
    (f"!has(self.deadLetters) || !({_reads('self.deadLetters.topic')})", DEAD_LOOP),
    (
        f"!has(self.deadLetters) || !{_KAFKA}"
        " || !has(self.source.kafka.format)"
        f" || self.deadLetters.maxPerBatch <= {MOST_ASIDE}",
        TOO_MANY_ASIDE,
    ),
    (f"{_KAFKA} || !has(self.deadLetters)", NO_DEAD_LETTERS),
    (f"{_KAFKAS} || !has(self.runs)", NO_RUNS),
    (
        f"{_KAFKAS} || (has(self.goal.latency) && self.goal.latency.clock == 'producer')",
        GOAL_WITHOUT_KAFKA,
    ),
    (
        f"self.execution != 'realTime' || ({_KAFKA} && has(self.sink)"
        " && has(self.sink.kafka) && !has(self.transform.python) && has(self.goal.latency)"
        " && self.goal.latency.clock == 'producer' && self.limits.executors.min > 0"
        " && !has(self.deadLetters) && !has(self.runs))",
        NO_REAL_TIME,
    ),
    (
        "!has(self.transform.shufflePartitions)"
        f" || !(has(self.sparkConf) && '{SHUFFLE_PARTITIONS_KEY}' in self.sparkConf)",
        "the number of shuffle partitions is set twice: remove"
        f" {SHUFFLE_PARTITIONS_KEY} from sparkConf",
    ),
)
