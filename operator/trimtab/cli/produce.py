"""`trimtab produce`: writes to a topic with a producer that tunes itself by short probes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from trimtab.api.connection import KafkaConnection
from trimtab.errors import BadInputError
from trimtab.kafka.producer import payloads, probe
from trimtab.tuning.producer import Probe, ProducerSettings
from trimtab.tuning.producer_choice import best_of
from trimtab.tuning.producer_search import next_probe

KNOBS = ("batch_bytes", "in_flight", "linger_ms", "compression")


def run(
    options: dict[str, Any], goal_s: float | None, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Run the load that the options describe, tuned first if there is a goal; as plain values.

    Raises:
        UnavailableError: the broker does not answer, or a record was not acknowledged.
        BadInputError: the client cannot use its configuration.
    """
    given = {name: options[name] for name in KNOBS if options[name] is not None}
    records = payloads(options["record_bytes"])
    file = options["client_config"]
    connection = KafkaConnection(
        options["bootstrap_servers"], options=client_config(file.read_text()) if file else {}
    )

    def measure(settings: ProducerSettings, seconds: float) -> Probe:
        return probe(
            connection, options["topic"], replace(settings, **given),
            seconds=seconds, records=records,
        )  # fmt: skip

    settings, probes = ProducerSettings(), 0
    if goal_s is not None:
        best, seen = tune(lambda each: measure(each, options["probe_seconds"]), goal_s, tell)
        settings, probes = best.settings, len(seen)
    done = measure(settings, options["seconds"])
    return {
        "settings": asdict(done.settings),
        "probes": probes,
        "records_per_s": round(done.rate / options["record_bytes"]),
        "megabytes_per_s": round(done.rate / 1e6, 2),
        "p95_ms": round(1000 * done.p95_s, 1),
        "round_trip_ms": round(1000 * done.round_trip_s, 1),
    }


def client_config(text: str) -> dict[str, str]:
    """The options in a file of librdkafka's properties, such as `sasl.mechanism=SCRAM-SHA-512`.

    Raises:
        BadInputError: a line is neither `name=value`, nor a comment, nor empty.
    """
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, separated, value = line.partition("=")
        if not separated:
            raise BadInputError(f"line {number} of --client-config is not name=value")
        found[name.strip()] = value.strip()
    return found


def in_words(result: dict[str, Any]) -> str:
    """The result on one line."""
    return (
        f"{ProducerSettings(**result['settings'])}: {result['records_per_s']} records/s,"
        f" {result['megabytes_per_s']} MB/s, p95 {result['p95_ms']} ms"
    )


def tune(
    measure: Callable[[ProducerSettings], Probe], goal_s: float, tell: Callable[[str], None]
) -> tuple[Probe, list[Probe]]:
    """Probe until the tuner is done; returns the best probe, and all probes in order."""
    probes: list[Probe] = []
    while (step := next_probe(probes, goal_s)).settings is not None:
        seen = measure(step.settings)
        probes.append(seen)
        tell(
            f"{step.settings}: {seen.rate / 1e6:.1f} MB/s, p95 {1000 * seen.p95_s:.0f} ms,"
            f" round trip {1000 * seen.round_trip_s:.1f} ms ({step.reason})"
        )
    best = best_of(probes, goal_s)
    held = "holds" if best.p95_s <= goal_s else "no setting meets the goal; lowest latency:"
    tell(f"done: {step.reason}; {held} {best.settings}, {best.rate / 1e6:.1f} MB/s")
    return best, probes
