"""The parts of a StreamPipeline's spec that say how large it is and may become."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trimtab.api.common import ApiModel, cel
from trimtab.api.knobs import EXECUTOR_CORES, MAX_EXECUTORS, MIN_PARTITIONS, TOPIC_PARTITIONS
from trimtab.api.memory import HEAP_MIN_BYTES, OVERHEAD_MIN_BYTES, POD_MIN_BYTES, SCRATCH_BYTES
from trimtab.api.quantities import Cpu, Duration, Quantity, at_least, between, format_quantity

PodMemory = Annotated[
    Quantity,
    at_least(
        POD_MIN_BYTES,
        f"Spark needs a heap of {format_quantity(HEAP_MIN_BYTES)}, and a driver or executor"
        f" {format_quantity(OVERHEAD_MIN_BYTES)} beside it",
    ),
]
"""The memory of a driver's or an executor's pod."""

IDLE_S = 600.0


class DriverResources(ApiModel):
    """What the driver pod gets."""

    cpu_request: Cpu = Field("200m", alias="cpuRequest", description="CPU that is reserved.")
    memory: PodMemory = Field(1 << 30, description="Memory limit of the pod.")


class ExecutorResources(ApiModel):
    """What each executor pod gets."""

    cores: int = Field(1, ge=1, le=64, description="Task slots.")
    cpu_request: Cpu = Field("1", alias="cpuRequest", description="CPU that is reserved.")
    memory: PodMemory = Field(900 << 20, description="Memory limit of the pod.")
    scratch: Annotated[Quantity, at_least(1 << 28, "Spark needs room for shuffles")] | None = Field(
        None,
        description="Limit of what Spark keeps on the node's disk: shuffles, spills, state. An"
        f" executor that takes more is evicted. Absent: {format_quantity(SCRATCH_BYTES)}.",
    )


class Resources(ApiModel):
    """Sizes of the pods."""

    driver: DriverResources = Field(default_factory=DriverResources)
    executor: ExecutorResources = Field(default_factory=ExecutorResources)


class ExecutorRange(ApiModel):
    """Fewest and most executors."""

    model_config = {
        "json_schema_extra": cel(
            ("self.min <= self.max", "executors: min must not be greater than max")
        )
    }
    min: int = Field(
        1,
        ge=0,
        le=MAX_EXECUTORS,
        description="Fewest executors. With 0, all are released after idleAfter without input, and"
        " start again with the first record.",
    )
    max: int = Field(8, ge=1, le=MAX_EXECUTORS, description="Most executors.")
    idle_after: Annotated[Duration, between(10.0, 7 * 86_400.0)] | None = Field(
        None,
        alias="idleAfter",
        description="With min 0: time without input after which all executors are released."
        " Default: 10m.",
    )

    @property
    def idle_after_s(self) -> float | None:
        """Seconds without input after which no executor runs; None: some always do."""
        return (self.idle_after or IDLE_S) if self.min == 0 else None


class Limits(ApiModel):
    """Hard limits: never exceeded, not even in a trial."""

    executors: ExecutorRange = Field(default_factory=ExecutorRange)
    cores: int | None = Field(None, ge=1, le=100_000, description="Task slots of all executors.")
    memory: Quantity | None = Field(None, description="Memory of all executors.")
    driver_memory: Quantity | None = Field(
        None,
        alias="driverMemory",
        description="Maximum for raising resources.driver.memory by advice. Absent: not raised.",
    )
    tasks: int | None = Field(
        None,
        ge=1,
        le=MIN_PARTITIONS.maximum,
        description="Tasks that the source's partitions may be split into (minPartitions), against"
        " skew or for more executors than partitions. Absent: none is split, because the records of"
        " a split partition are not written in order.",
    )

    executor_cores: int | None = Field(
        None,
        alias="executorCores",
        ge=1,
        le=EXECUTOR_CORES.maximum,
        description="Maximum cores of an executor, used if limits.executors.max is reached and is"
        " not enough; its CPU and memory grow with them. Each change restarts the driver."
        " Absent: resources.executor.cores.",
    )
    topic_partitions: int | None = Field(
        None,
        alias="topicPartitions",
        ge=1,
        le=TOPIC_PARTITIONS.maximum,
        description="Partitions that the source's topic may be raised to, if too few of them limit"
        " the pipeline and nothing else helps. Absent: never. This cannot be undone, and the"
        " records of a key may go to another partition from then on: their order across the change"
        " is not kept, for this and every other reader. The topic must belong to a KafkaCluster, or"
        " have a KafkaTopic of Strimzi, in this namespace.",
    )

    def most_executors(self, resources: ExecutorResources) -> int:
        """The most executors that all limits together allow."""
        slots = self.most_slots(resources)
        most = self.executors.max
        return most if slots is None else max(0, min(most, slots // resources.cores))

    def most_slots(self, resources: ExecutorResources) -> int | None:
        """The most task slots that cores and memory together allow; None if neither is limited.

        A slot takes the same memory however many slots an executor has.
        """
        by_memory = (
            None if self.memory is None else self.memory * resources.cores // resources.memory
        )
        known = [slots for slots in (self.cores, by_memory) if slots is not None]
        return min(known, default=None)
