"""The PromQL of one tick: a constant number of queries for all pipelines.

Each row tells its driver process by namespace, pipeline, pod and instance, as Prometheus labelled
the target.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from trimtab.api.figure import PREFIX, Reader
from trimtab.api.figures import BY_NAME, DRIVER
from trimtab.reconcile.observe.promql import Selectors
from trimtab.sizing.jvm import WATCHED_S
from trimtab.tuning.snapshot import long_window_s

MAX_SERIES = 1000
"""Most series that are read from one driver as they stand; a driver has about 100."""

AS_THEY_STAND = frozenset(figure.series for figure in DRIVER if figure.reader is Reader.TUNER)

NO_MATCHERS: Mapping[str, str] = MappingProxyType({})

EXECUTOR_MEMORY = "executor_memory"
"""The query whose series know a pod and no pipeline."""

_PROCESS = "namespace, pipeline, pod, instance"


def queries(scrape_s: float, matchers: Mapping[str, str] = NO_MATCHERS) -> dict[str, str]:
    """The queries by what they yield; `matchers` are label values that every series must have."""
    select = Selectors(matchers)
    inputs, minute = select.of("trimtab_partition_input_total"), f"{long_window_s(scrape_s):g}s"
    tasks, near = "trimtab_task_locality_total", "PROCESS_LOCAL|NODE_LOCAL"
    quantile = _values("batch_record_latency_seconds", "quantile")
    latency = select.of("trimtab_batch_record_latency_seconds", quantile=quantile)
    waits = select.of("trimtab_batch_wait_seconds", quantile=quantile)
    capacity = select.of("trimtab_executor_capacity")
    return {
        **_as_they_stand(select),
        "input_rate": f"{_by('sum')} (irate({inputs}[{4 * scrape_s:g}s]))",
        "input_rate_long": f"{_by('sum')} (rate({inputs}[{minute}]))",
        **{
            f"input_rate_{minutes}m": f"{_by('sum')} (rate({inputs}[{minutes}m]))"
            for minutes in (2, 4, 15)
        },
        "hottest_rate": f"{_by('max')} (rate({inputs}[{minute}]))",
        "partitions": f"{_by('count')} ({inputs})",
        "lag_records": f"{_by('sum')} ({select.of('trimtab_lag_records')})",
        "lag_s": f"{_by('max')} ({select.of('trimtab_lag_seconds')})",
        "executor_load": f"{_by('avg')} ({select.of('trimtab_executor_load')})",
        "executor_capacity": f"{_by('avg')} ({capacity})",
        "least_capacity": f"{_by('min')} ({capacity})",
        "most_capacity": f"{_by('max')} ({capacity})",
        "tasks": f"{_by('sum')} (rate({select.of(tasks)}[{minute}]))",
        "tasks_near": f"{_by('sum')} (rate({select.of(tasks, level=near)}[{minute}]))",
        **_jvm_queries(select),
        EXECUTOR_MEMORY: _executor_memory(select),
        "worst_latency": f"{_by('max', 'quantile')} (max_over_time({latency}[{minute}]))",
        "worst_wait": f"{_by('max', 'quantile')} (max_over_time({waits}[{minute}]))",
    }


def _values(figure: str, label: str) -> str:
    """A pattern for the values that a figure's label has: any other would be one more row."""
    return "|".join(re.escape(value) for value in BY_NAME[figure].labels[label].split(", "))


def _by(aggregation: str, *labels: str) -> str:
    """The aggregation by driver process and these labels."""
    return f"{aggregation} by ({', '.join((_PROCESS, *labels))})"


def _as_they_stand(select: Selectors) -> dict[str, str]:
    """The series that are read unchanged, and how many a process has if that is too many.

    Prometheus leaves such a process out, so that its series cannot crowd out those of the others.
    """
    series = select.named(f"{PREFIX}({'|'.join(sorted(AS_THEY_STAND))})")
    crowded = f"{_by('count')} ({series}) > {MAX_SERIES}"
    return {"gauges": f"{series} unless on ({_PROCESS}) ({crowded})", "crowded": crowded}


def _jvm_queries(select: Selectors) -> dict[str, str]:
    """How much the JVMs recently collected and allocated, by role and generation."""
    counters = {
        "jvm_seconds": "seconds", "jvm_collections": "collections",
        "jvm_collection_s": "collection_seconds", "jvm_allocated": "allocated_bytes",
    }  # fmt: skip
    role, generation = (_values("jvm_collections", label) for label in ("role", "generation"))
    bounded = {"role": role, "generation": f"{generation}|"}
    return {
        what: f"{_by('sum', 'role', 'generation')}"
        f" (increase({select.of(f'trimtab_jvm_{name}_total', **bounded)}[{WATCHED_S:g}s]))"
        for what, name in counters.items()
    }


def _executor_memory(select: Selectors) -> str:
    """The recent peak memory of each executor's pod, as the kubelets report it."""
    held = select.of("container_memory_working_set_bytes", container="spark-kubernetes-executor")
    return f"max by (namespace, pod) (max_over_time({held}[{WATCHED_S:g}s]))"
