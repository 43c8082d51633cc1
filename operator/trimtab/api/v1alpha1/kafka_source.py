"""Kafka as a pipeline's source: which topics are read, from where, and how."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from trimtab.api.common import Topic, cel
from trimtab.api.endpoints import KafkaSourceDocument
from trimtab.api.offsets import Start
from trimtab.api.topics import matching, pattern
from trimtab.api.v1alpha1.formats import Format
from trimtab.api.v1alpha1.kafka_options import ConsumerOptions
from trimtab.api.v1alpha1.kafka_reference import RULES, KafkaReference

TWICE = "source.kafka.topics names a topic twice: keep one of them"
_NAMED = ("has(self.topics) && size(self.topics) > 0", "write topics: [clicks]")
_TOPICS = (
    "(has(self.topics) && size(self.topics) > 0) != has(self.topicPattern)",
    "write either topics: [clicks], or topicPattern: clicks-.*",
)
_NO_PATTERN = "write a regular expression, such as clicks-.*"
TopicPattern = Annotated[
    str,
    Field(
        max_length=249,
        pattern=r"^[A-Za-z0-9._*+?|()\[\]-]+$",
        json_schema_extra=cel(
            # one that does not compile is an error, and so a refusal
            ("!self.contains('(?') && ''.matches('^(' + self + ')$') in [true, false]", _NO_PATTERN)
        ),
    ),
]
"""A regular expression without what Python, Java and CEL read differently."""


def _each_once(topics: list[str]) -> list[str]:
    if len(set(topics)) < len(topics):
        raise ValueError(TWICE)
    return topics


Topics = Annotated[
    list[Topic],
    Field(
        max_length=100,
        json_schema_extra=cel(("self.all(t, self.exists_one(other, other == t))", TWICE)),
    ),
    AfterValidator(_each_once),
]
"""Names of topics, each once."""


class KafkaStream(KafkaReference):
    """Topics of one Kafka cluster, by their names."""

    model_config = {"json_schema_extra": cel(*RULES, _NAMED)}
    topics: Topics = Field(default_factory=list, description="Topics to read.")
    starting_offsets: Start = Field(
        "latest",
        alias="startingOffsets",
        description="Where the first checkpoint begins: latest, earliest, a time like"
        " 2026-01-31T12:00:00Z, or an offset for each partition, as JSON.",
    )
    isolation_level: Literal["read_committed", "read_uncommitted"] = Field(
        "read_committed",
        alias="isolationLevel",
        description="read_committed leaves out the records of aborted transactions, and waits for"
        " those of open ones.",
    )
    include_headers: bool = Field(
        False,
        alias="includeHeaders",
        description="Read the headers of records too, as the column headers; a column of that name"
        " in the result is written.",
    )
    fail_on_data_loss: bool = Field(
        True, alias="failOnDataLoss", description="Stop rather than skip records that expired."
    )
    options: ConsumerOptions = Field(
        default_factory=dict, description="Options of Kafka's consumer, as text."
    )

    format: Format | None = Field(
        None,
        description="What the values are: the transform then gets them decoded too, as the column"
        " record, a struct. A value that cannot be decoded fails the batch, or goes to"
        " deadLetters.",
    )

    def document(self) -> KafkaSourceDocument:
        """The source in `job.json`."""
        return KafkaSourceDocument(
            bootstrap_servers=self.servers,
            tls=self.tls,
            authentication=self.authentication,
            topics=self.read_topics,
            include_headers=True if self.include_headers else None,
            options=self.options or None,
            format=self.format,
        )

    @property
    def uncommitted(self) -> Literal["read_uncommitted"] | None:
        """Whether records of open transactions are read, as documents say it."""
        return None if self.isolation_level == "read_committed" else "read_uncommitted"

    @property
    def read_topics(self) -> list[str]:
        """The topics, or the pattern of their names; see `trimtab.api.topics`."""
        return self.topics

    def reads(self, topic: str) -> bool:
        """Whether it reads a topic."""
        return bool(matching(self.read_topics, [topic]))

    @model_validator(mode="after")
    def _names_topics(self) -> Self:
        if not self.read_topics:
            raise ValueError(_NAMED[1])
        return self


class KafkaSource(KafkaStream):
    """Topics of one Kafka cluster, by their names or by a pattern."""

    model_config = {"json_schema_extra": cel(*RULES, _TOPICS)}
    topic_pattern: TopicPattern | None = Field(
        None,
        alias="topicPattern",
        description="Read all topics whose whole name matches this regular expression, also those"
        " that are created later.",
    )
    commit_group: str | None = Field(
        None,
        alias="commitGroup",
        max_length=249,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="A consumer group whose offsets follow the query, for Kafka's own tools to"
        " show. Nothing else may use it; the position itself is in the checkpoint.",
    )
    group_id_prefix: str | None = Field(
        None,
        alias="groupIdPrefix",
        max_length=128,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="What the names of the consumers' groups begin with, for quotas and logs of the"
        " brokers. Absent: spark-kafka-source.",
    )

    def document(self) -> KafkaSourceDocument:
        """The source in `job.json`."""
        own = {"commit_group": self.commit_group, "group_id_prefix": self.group_id_prefix}
        return super().document().model_copy(update=own)

    @property
    def read_topics(self) -> list[str]:
        """The topics, or the pattern of their names; see `trimtab.api.topics`."""
        return [pattern(self.topic_pattern)] if self.topic_pattern else self.topics

    @field_validator("topic_pattern")
    @classmethod
    def _compiles(cls, regex: str | None) -> str | None:
        try:
            re.compile(pattern(regex or ""))
        except re.error as error:
            raise ValueError(f"{_NO_PATTERN}: {error}") from error
        return regex

    @model_validator(mode="after")
    def _names_topics(self) -> Self:
        if bool(self.topics) == (self.topic_pattern is not None):
            raise ValueError(_TOPICS[1])
        return self
