"""What one tick works with, and on."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.contract import SourceOptions
from trimtab.api.pipeline import StreamPipelineSpec
from trimtab.api.status import StreamPipelineStatus
from trimtab.ports import Cluster, Manifest, Telemetry
from trimtab.reconcile.driver_state import DriverState
from trimtab.reconcile.gather import Seen
from trimtab.reconcile.plan import Plan
from trimtab.reconcile.world import World
from trimtab.reconcile.writer import Writer
from trimtab.settings import OperatorSettings
from trimtab.workloads.pipeline import fixed_knobs, source_options


@dataclass(frozen=True, slots=True)
class Desk:
    """What one tick works with."""

    world: World
    cluster: Cluster
    writer: Writer
    config: OperatorSettings
    telemetry: Telemetry
    now_s: float


@dataclass(frozen=True, slots=True)
class Case:
    """One pipeline in one tick: the object, its spec, and what is there of it."""

    parent: Manifest
    spec: StreamPipelineSpec
    pods: StreamPipelineSpec
    """The spec with the cores of an executor that the tuner chose."""
    old: StreamPipelineStatus
    planned: Plan
    driver: DriverState
    seen: Seen | None

    @property
    def source(self) -> SourceOptions:
        """What the spec says of how the source is read."""
        return source_options(self.spec)

    @property
    def fixed(self) -> dict[str, float]:
        """What the spec says of the knobs that no law moves, by name."""
        return fixed_knobs(self.spec)

    @property
    def name(self) -> str:
        """Namespace and name, for people."""
        return f"{self.parent['metadata']['namespace']}/{self.parent['metadata']['name']}"
