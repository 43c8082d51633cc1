"""Where the results of a pipeline go: one sink, or several of one query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from trimtab.api.common import cel
from trimtab.api.endpoints import NamedSinkDocument, SeveralSinksDocument, SinkDocument
from trimtab.api.v1alpha1.query import KafkaSink, Sink

RESULT = "result"
"""The view of the results, which the `sql` of a sink selects from."""

ONE_OR_SEVERAL = "write exactly one of sink and sinks"
TAKEN = f"the view `{RESULT}` is what the sinks get: name the table otherwise"
_TWICE = "sinks has one name twice: give each sink a name of its own"
_MODES = "the sinks have one query, and so one outputMode: write the same in each of them"
_PLACE = "two sinks write to one table or directory: give each a place of its own"


class NamedSink(Sink):
    """One of several sinks: it gets all results, or what its query selects of them."""

    name: str = Field(
        max_length=63, pattern="^[a-z][a-z0-9_]*$", description="What figures and messages call it."
    )
    sql: str | None = Field(
        None,
        min_length=1,
        max_length=16384,
        description=f"A query on the view `{RESULT}`, run on each batch; absent: all of it.",
    )

    def named_document(self) -> NamedSinkDocument:
        """The sink in `job.json`."""
        sink = self.jdbc.document(self.name) if self.jdbc else self.document()
        return NamedSinkDocument(name=self.name, sql=self.sql, sink=sink)


def _settled(sinks: Sequence[NamedSink]) -> Sequence[NamedSink]:
    if len({sink.name for sink in sinks}) < len(sinks):
        raise ValueError(_TWICE)
    if len({sink.output_mode for sink in sinks}) > 1:
        raise ValueError(_MODES)
    places = [place for sink in sinks if (place := sink.place) is not None]
    if len(set(places)) < len(places):
        raise ValueError(_PLACE)
    return sinks


def _own(kind: str, *fields: str) -> str:
    """CEL: no two sinks of this kind are the same in all of these fields."""
    alike = " && ".join(f"o.{kind}.{field} == s.{kind}.{field}" for field in fields)
    return f"self.all(s, !has(s.{kind}) || self.exists_one(o, has(o.{kind}) && {alike}))"


Sinks = Annotated[
    list[NamedSink],
    Field(
        min_length=1,
        max_length=8,
        json_schema_extra=cel(
            ("self.all(s, self.exists_one(o, o.name == s.name))", _TWICE),
            ("self.all(s, s.outputMode == self[0].outputMode)", _MODES),
            (_own("delta", "uri"), _PLACE),
            (_own("files", "uri"), _PLACE),
            (_own("jdbc", "url", "table"), _PLACE),
        ),
    ),
    AfterValidator(_settled),
]
"""Several sinks of one query."""


@dataclass(frozen=True, slots=True)
class Results:
    """Where the results go, however many sinks the spec has."""

    sinks: tuple[Sink, ...]

    @property
    def kafkas(self) -> tuple[KafkaSink, ...]:
        """Those that are topics."""
        return tuple(sink.kafka for sink in self.sinks if sink.kafka is not None)

    @property
    def sends(self) -> bool:
        """Whether a Kafka producer writes results, so that its knobs apply."""
        return bool(self.kafkas)

    @property
    def stores(self) -> bool:
        """Whether tasks write a table or files, so that their number matters."""
        return any(sink.delta or sink.files or sink.jdbc for sink in self.sinks)

    @property
    def output_mode(self) -> Literal["append", "update"]:
        """What the query hands on."""
        return self.sinks[0].output_mode

    @property
    def words(self) -> str:
        """Where it writes to, in words."""
        return "; ".join(sink.words for sink in self.sinks)

    def document(self) -> SinkDocument:
        """The sink in `job.json`."""
        named = [sink for sink in self.sinks if isinstance(sink, NamedSink)]
        if not named:
            return self.sinks[0].document()
        return SeveralSinksDocument(sinks=tuple(sink.named_document() for sink in named))
