"""The known work of the example: what a record costs by its manifests, and what that allows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml
from dev.demo.kube import Json

from trimtab.tuning.capacity.model import at_work


@dataclass(frozen=True)
class Work:
    """Tasks that wait for each record; no machine, however fast, carries more than `ceiling`."""

    wait_s: float
    """Seconds of waiting for each record, one record after the other on each slot."""
    partitions: int
    cores: int
    """Slots of an executor."""
    most: int
    """Executors that the limits allow."""
    bounds: tuple[float, float]
    """Lower and higher bound of the load."""
    target_s: float

    def slots_at_work(self, executors: int) -> float:
        """Slots that the partitions keep at work: tasks run whole, in waves."""
        return at_work(executors * self.cores, self.partitions, waves=True)

    def ceiling(self, executors: int) -> float:
        """Records/s that so many executors carry if nothing but the waiting took time."""
        return self.slots_at_work(executors) / self.wait_s


def known_work(folder: Path) -> Work:
    """The work of an example's pipeline and the partitions of its Kafka's first topic."""
    kafka, pipeline = (_spec(folder / f"{name}.yaml") for name in ("kafka", "pipeline"))
    bounds = pipeline["tuning"]["bounds"]
    return Work(
        wait_s=float(pipeline["transform"]["python"]["params"]["wait_ms"]) / 1000,
        partitions=int(kafka["topics"][0]["partitions"]),
        cores=int(pipeline["resources"]["executor"]["cores"]),
        most=int(pipeline["limits"]["executors"]["max"]),
        bounds=(bounds["lower"], bounds["higher"]),
        target_s=float(pipeline["goal"]["latency"]["target"].removesuffix("s")),
    )


def _spec(path: Path) -> Json:
    spec: Json = yaml.safe_load(path.read_text())["spec"]
    return spec
