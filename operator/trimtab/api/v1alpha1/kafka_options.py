"""Options of Kafka's clients that a pipeline may set. The others are trimtab's, or its knobs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from trimtab.api.common import cel

_BOTH = (
    "connections.max.idle.ms", "metadata.max.age.ms", "reconnect.backoff.max.ms",
    "retry.backoff.max.ms", "retry.backoff.ms",
)  # fmt: skip
CONSUMER = (*_BOTH, "receive.buffer.bytes")
PRODUCER = (
    *_BOTH, "buffer.memory", "delivery.timeout.ms", "max.block.ms", "max.request.size",
    "request.timeout.ms", "send.buffer.bytes",
)  # fmt: skip

_Number = Annotated[str, Field(max_length=10, pattern="^[0-9]+$")]


def _options(allowed: Collection[str]) -> Any:
    """A map of these options, each a number written as text."""
    words = f"options takes {', '.join(sorted(allowed))}, and no other"
    rule = cel((f"self.all(name, name in {sorted(allowed)})", words))

    def check(options: dict[str, str]) -> dict[str, str]:
        if not options.keys() <= set(allowed):
            raise ValueError(words)
        return options

    field = Field(max_length=len(allowed), json_schema_extra=rule)
    return Annotated[dict[str, _Number], field, AfterValidator(check)]


ConsumerOptions = _options(CONSUMER)
ProducerOptions = _options(PRODUCER)
