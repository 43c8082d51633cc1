"""Where the records of a pipeline come from: one source, or several Kafkas of one query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from trimtab.api.common import ApiModel, cel
from trimtab.api.endpoints import NamedSourceDocument, SeveralSourcesDocument, SourceDocument
from trimtab.api.topics import qualified
from trimtab.api.v1alpha1.kafka_source import KafkaSource, KafkaStream
from trimtab.api.v1alpha1.query import Source

ONE_OR_SEVERAL_SOURCES = "write exactly one of source and sources"
_TWICE_NAMED = "sources has one name twice: give each source a name of its own"
_RESERVED = ("source", "result")
_TAKEN_NAMES = f"{' and '.join(_RESERVED)} are views of trimtab: name the source otherwise"


class NamedSource(ApiModel):
    """One of several sources, which the transform finds as a view of its name."""

    name: str = Field(
        max_length=63,
        pattern="^[a-z][a-z0-9_]*$",
        description="The view, and what figures and messages call it.",
        json_schema_extra=cel((f"!(self in {list(_RESERVED)})", _TAKEN_NAMES)),
    )
    kafka: KafkaStream

    def named_document(self) -> NamedSourceDocument:
        """The source in `job.json`."""
        return NamedSourceDocument(
            name=self.name,
            source=self.kafka.document(),
            starting_offsets=self.kafka.starting_offsets,
            fail_on_data_loss=self.kafka.fail_on_data_loss,
            isolation_level=self.kafka.uncommitted,
        )


def _settled(sources: Sequence[NamedSource]) -> Sequence[NamedSource]:
    if len({source.name for source in sources}) < len(sources):
        raise ValueError(_TWICE_NAMED)
    if any(source.name in _RESERVED for source in sources):
        raise ValueError(_TAKEN_NAMES)
    return sources


Sources = Annotated[
    list[NamedSource],
    Field(
        min_length=2,
        max_length=4,
        json_schema_extra=cel(("self.all(s, self.exists_one(o, o.name == s.name))", _TWICE_NAMED)),
    ),
    AfterValidator(_settled),
]
"""Several sources of one query."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the records come from, however many sources the spec has."""

    source: Source | None
    sources: tuple[NamedSource, ...] = ()

    @property
    def kafka(self) -> KafkaSource | None:
        """The one Kafka that is read; None if none is, or several."""
        return self.source.kafka if self.source else None

    @property
    def kafkas(self) -> tuple[KafkaStream, ...]:
        """All that is read from Kafka."""
        alone = (self.kafka,) if self.kafka else ()
        return (*alone, *(each.kafka for each in self.sources))

    @property
    def offsets_of(self) -> list[str]:
        """What the offsets in a checkpoint count."""
        if self.source is not None:
            return self.source.offsets_of
        named = ((each.name, topic) for each in self.sources for topic in each.kafka.topics)
        return sorted(qualified(name, topic) for name, topic in named)

    def document(self) -> SourceDocument:
        """The source in `job.json`."""
        if self.source is not None:
            return self.source.document()
        return SeveralSourcesDocument(sources=tuple(each.named_document() for each in self.sources))

    def reaching(self, found: Sequence[KafkaStream]) -> Origin:
        """The same with what its Kafka references stand for: `found` are those of `kafkas`."""
        if self.sources:
            named = zip(self.sources, found, strict=True)
            return Origin(None, tuple(s.model_copy(update={"kafka": k}) for s, k in named))
        if self.source is None or not found:
            return self
        return Origin(self.source.model_copy(update={"kafka": found[0]}))
