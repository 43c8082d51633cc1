"""Rules on the spec of a StreamPipeline as a whole, in CEL; the model has a twin of each."""

from __future__ import annotations

from trimtab.api.v1alpha1.formats import MOST_ASIDE
from trimtab.api.v1alpha1.query import DEAD_LOOP, LOOP, NO_DEAD_LETTERS, TOO_MANY_ASIDE
from trimtab.api.v1alpha1.results import ONE_OR_SEVERAL, RESULT, TAKEN
from trimtab.api.v1alpha1.spark_ui import EVENT_LOG_RULE

SHUFFLE_PARTITIONS_KEY = "spark.sql.shuffle.partitions"


def _reads(topic: str) -> str:
    """CEL: whether the source reads a topic."""
    source = "self.source.kafka"
    return (
        f"has({source}) && ((has({source}.topics) && {topic} in {source}.topics)"
        f" || (has({source}.topicPattern)"
        f" && {topic}.matches('^(' + {source}.topicPattern + ')$')))"
    )


def _loops(sink: str) -> str:
    """CEL: whether a sink is a topic that the source reads."""
    one_kafka = " || ".join(
        f"has(self.source.kafka.{by}) && has({sink}.kafka.{by})"
        f" && self.source.kafka.{name} == {sink}.kafka.{name}"
        for by, name in (
            ("cluster", "cluster"),
            ("strimzi", "strimzi.name"),
            ("bootstrapServers", "bootstrapServers"),
        )
    )
    return f"has({sink}.kafka) && ({one_kafka}) && ({_reads(f'{sink}.kafka.topic')})"


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
        "!has(self.limits.topicPartitions) || has(self.source.kafka)"
        " && ((has(self.source.kafka.cluster) || has(self.source.kafka.strimzi))"
        " && has(self.source.kafka.topics) && size(self.source.kafka.topics) == 1)",
        "limits.topicPartitions is for one topic of a KafkaCluster or of a Strimzi Kafka"
        " here: name it in source.kafka.cluster or source.kafka.strimzi, with one topic,"
        " or remove the limit",
    ),
    EVENT_LOG_RULE,
    ("has(self.sink) != has(self.sinks)", ONE_OR_SEVERAL),
    (
        f"!has(self.source.kafka) || !has(self.sink) || !({_loops('self.sink')})",
        LOOP,
    ),
    (
        f"!has(self.source.kafka) || !has(self.sinks) || !self.sinks.exists(s, {_loops('s')})",
        LOOP,
    ),
    (
        "!has(self.sinks) || !has(self.transform.tables)"
        f" || !self.transform.tables.exists(t, t.name == '{RESULT}')",
        TAKEN,
    ),
    (f"!has(self.deadLetters) || !({_reads('self.deadLetters.topic')})", DEAD_LOOP),
    (
        "!has(self.deadLetters) || !has(self.source.kafka)"
        " || !has(self.source.kafka.format)"
        f" || self.deadLetters.maxPerBatch <= {MOST_ASIDE}",
        TOO_MANY_ASIDE,
    ),
    ("has(self.source.kafka) || !has(self.deadLetters)", NO_DEAD_LETTERS),
    ("has(self.source.kafka) || !has(self.runs)", NO_RUNS),
    (
        "has(self.source.kafka) || (has(self.goal.latency)"
        " && self.goal.latency.clock == 'producer')",
        GOAL_WITHOUT_KAFKA,
    ),
    (
        "self.execution != 'realTime' || (has(self.source.kafka) && has(self.sink)"
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
