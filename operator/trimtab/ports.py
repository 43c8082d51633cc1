"""What the reconcile loop needs of the world, as small protocols; the adapters fill them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Manifest = dict[str, Any]
"""A Kubernetes object as plain data."""

Key = tuple[str, str, str]
"""Kind, namespace, name."""


Name = tuple[str, str]
"""Namespace and name of a pipeline."""


def key_of(manifest: Mapping[str, Any]) -> Key:
    """The key of an object."""
    meta = manifest["metadata"]
    return manifest["kind"], meta.get("namespace", ""), meta["name"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of an instant query."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Reading:
    """One value that the operator exports of a pipeline."""

    name: str
    """Without the prefix `pipeline_`."""
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


class MetricSource(Protocol):
    """Where metrics come from."""

    def query(self, promql: str) -> list[Sample]:
        """Every series of an instant query that is a finite number; raises UnavailableError."""


class DriverSource(Protocol):
    """The drivers themselves, as a source of what they export now."""

    def read(self, addresses: Mapping[Name, str]) -> Mapping[Name, list[Sample] | str]:
        """What each driver says of itself, or why it says nothing; never raises.

        `addresses` are those of the drivers' pods, by pipeline. The samples have the label
        `__name__` and the figure's own.
        """


class Cluster(Protocol):
    """The Kubernetes API, as far as the loop writes and lists."""

    def list_all(self, kind: str) -> list[Manifest]:
        """Every object of a watched kind in the watched namespaces."""

    def get(self, key: Key) -> Manifest | None:
        """One object, or None where it is not there."""

    def create(self, manifest: Manifest) -> Manifest:
        """Server-side apply of an object that is not there yet.

        Raises ExistsError, and changes nothing, where an object of that name is there.
        """

    def apply(self, manifest: Manifest) -> Manifest:
        """Server-side apply under our field manager.

        A uid or a resourceVersion in it is a precondition: raises ConflictError if it fails.
        """

    def replace(self, manifest: Manifest) -> Manifest:
        """Store an object without any field that others have added.

        Its resourceVersion is a precondition: raises ConflictError if it fails.
        """

    def patch_status(self, kind: str, manifest: Manifest, status: Manifest) -> Manifest:
        """Replace status fields, with the object's resourceVersion as precondition.

        Raises ConflictError when the object changed, UnavailableError when the API is away.
        """

    def delete(self, key: Key, *, uid: str | None = None) -> None:
        """Delete an object if it is still there (and is still the one with that uid)."""

    def event(self, about: Manifest, *, warning: bool, reason: str, message: str) -> None:
        """Record an Event about an object; a failure is logged, never raised."""


class Telemetry(Protocol):
    """The operator's own metrics."""

    def tick(self, *, seconds: float, queries: int, writes: int, pipelines: int) -> None:
        """One finished tick of the control loop."""

    def decision(self, namespace: str, pipeline: str, action: str, reason: str) -> None:
        """One decision that was reported."""

    def driver_reads(self, read: int, failed: int) -> None:
        """Drivers that were read directly in a tick, and those that could not be."""

    def pipeline(self, name: Name, readings: Sequence[Reading]) -> None:
        """What is known of a pipeline from now on."""

    def forget(self, known: Container[Name]) -> None:
        """Of other pipelines than these, nothing is known any more."""

    def skipped(self, reason: str, series: int) -> None:
        """Series in an answer of Prometheus that were not read."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM; a key is in PKCS#8."""

    certificate: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Validity:
    """From when until when a certificate is valid, in seconds since 1970."""

    from_s: float
    until_s: float


class Certificates(Protocol):
    """Makes what a secured Kafka cluster needs."""

    def authority(self, name: str, now_s: float, days: float) -> Pair:
        """A new authority."""

    def issue(self, signer: Pair, hosts: Sequence[str], now_s: float, days: float) -> Pair:
        """A certificate for these host names; raises ValueError if the signer's key is none."""

    def validity(self, certificate: str) -> Validity | None:
        """When a certificate is valid; None if it is none."""

    def signed(self, certificate: str, authority: str) -> bool:
        """Whether an authority has signed a certificate."""

    def password(self) -> str:
        """A new password."""


class Clock(Protocol):
    """Wall time."""

    def now(self) -> float:
        """Seconds since 1970."""
