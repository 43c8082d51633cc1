"""Why Kafka refuses the driver's client, which reports it beside its answers."""

from __future__ import annotations

import re

from confluent_kafka import KafkaError

from trimtab.errors import DeniedError

_ALERT = "ssl/tls alert"
"""In the words of a broker that does not take the client's certificate, or its lack of one."""
_NOISE = re.compile(r"^\w+://\S+: |\(after \d+ms in state [^)]*\)")
"""Which connection it was, and when: of no interest, and another one each time."""


class Refusals:
    """The callback of a client for errors that are no answer to a request."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._last: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        """Keep a failed login or handshake; librdkafka does not repeat it for half a minute."""
        by_peer = error.code() == KafkaError._TRANSPORT and _ALERT in error.str()
        if by_peer or error.code() in {KafkaError._AUTHENTICATION, KafkaError._SSL}:
            self._last = error

    def clear(self) -> None:
        """Kafka has answered."""
        self._last = None

    def denied(self) -> DeniedError | None:
        """The refusal since the last answer in words; None if there was none."""
        if self._last is None:
            return None
        said = _NOISE.sub("", self._last.str()).strip()
        if self._last.code() == KafkaError._AUTHENTICATION:
            return DeniedError(
                f"Kafka at {self._servers} refused the login: {said}. Correct authentication, or"
                " what its Secret holds"
            )
        return DeniedError(
            f"no TLS connection with Kafka at {self._servers}: {said}. Correct"
            " tls.trustedCertificates, or authentication.certificateAndKey"
        )

    def of_group(self, group: str) -> DeniedError:
        """Kafka does not let this user commit offsets for a consumer group."""
        return DeniedError(
            f"Kafka at {self._servers} refuses access to consumer group {group!r}: grant Read on it"
        )

    def of_topic(self, topic: str) -> DeniedError:
        """Kafka does not even show a topic."""
        return DeniedError(
            f"Kafka at {self._servers} refuses access to topic {topic!r}: grant Read for a source,"
            " Write for a sink"
        )
