"""What one tick works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.ports import Certificates, Cluster, Manifest, Name, Telemetry
from trimtab.reconcile.apply.writer import Writer
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.policies import Policies
from trimtab.settings import OperatorSettings


@dataclass(frozen=True, slots=True)
class TickContext:
    """The cached objects, access to the API server, and the time."""

    cache: ObjectCache
    cluster: Cluster
    writer: Writer
    config: OperatorSettings
    telemetry: Telemetry
    now_s: float
    executors: Mapping[Name, Sequence[Manifest]]
    """The executor pods of each pipeline."""
    owned: Mapping[str, Sequence[Manifest]]
    """What may be left over of a parent's children, by the parent's uid; see `leftovers`."""
    drivers: Mapping[str, tuple[str, ...]]
    """The names of all drivers' pods, by the uid of the StatefulSet that made them."""
    policies: Policies
    """The policies above the pipelines."""
    certificates: Certificates | None = None
    """What makes certificates; None: nobody here does."""
