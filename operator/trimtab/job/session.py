"""The SparkSession: client mode with executor pods on Kubernetes, or Spark's local mode.

Three layers of configuration, later ones win: trimtab's defaults, the pipeline's `sparkConf`, and
the keys that trimtab owns, because it tunes them or its guarantees depend on them. A `sparkConf`
that sets one of the latter is refused (`trimtab.api.reserved`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from trimtab.api.contract import Executors, Job
from trimtab.api.listening import BLOCK_MANAGER_PORT, DRIVER_PORT, FIXED_PORTS, UI_PORT
from trimtab.api.memory import HEAP_MIN_BYTES, POD_MIN_BYTES
from trimtab.api.reserved import env_faults, spark_faults
from trimtab.job import event_log, listeners
from trimtab.job.definition import Options
from trimtab.job.executors.pod_template import keys as pod_keys
from trimtab.job.executors.pod_template import pod_template
from trimtab.job.modules import fetch, found
from trimtab.job.query import tables
from trimtab.job.query.sinks import open_sink
from trimtab.job.query.sources import open_source
from trimtab.job.query.stateful import PROVIDER_KEY
from trimtab.job.termination import JobFailureError, Reason
from trimtab.sizing.heap import MIB, overhead_bytes

UID_LABEL = "trimtab.dev/pipeline-uid"
ROCKSDB = "spark.sql.streaming.stateStore.rocksdb"
ROCKSDB_SHARE = 0.25
"""Share of an executor's memory outside the heap that RocksDB may use for all its state."""
GRACE_S = 15
"""Seconds beyond the drain timeout that an executor has for the tasks it is running."""
POD_TEMPLATE = Path(tempfile.gettempdir(), "trimtab-executor-pod.json")
"""The parts of an executor pod that Spark's keys cannot express."""
POD_TEMPLATE_KEY = "spark.kubernetes.executor.podTemplateFile"

DEFAULTS = {
    "spark.ui.enabled": "false",  # the exporter replaces it, and the driver is small
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.executor.heartbeatInterval": "5s",
    # the query is planned while the executors start
    "spark.scheduler.minRegisteredResourcesRatio": "0",
    "spark.executor.metrics.pollingInterval": "1s",  # otherwise a short stage shows no heap
    "spark.sql.execution.pythonUDF.arrow.enabled": "false",  # the image has no Arrow
    # state outside the heap; a commit writes changes instead of whole files
    PROVIDER_KEY: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{ROCKSDB}.changelogCheckpointing.enabled": "true",
    f"{ROCKSDB}.boundedMemoryUsage": "true",  # else it grows with the state partitions
}
NETWORK = {
    # Spark makes a secret for each run of a driver, and passes it on in its executors' pods.
    "spark.authenticate": "true",
    "spark.driver.port": str(DRIVER_PORT),
    "spark.driver.blockManager.port": str(BLOCK_MANAGER_PORT),
    "spark.blockManager.port": str(BLOCK_MANAGER_PORT),
    "spark.port.maxRetries": "0",  # the next port would be one that no NetworkPolicy allows
}
"""Between the pods of a pipeline; in local mode there is only one process."""
UI = {
    "spark.ui.enabled": "true",
    "spark.ui.port": str(UI_PORT),
    "spark.ui.killEnabled": "false",  # who may look must not be able to stop a batch
}
"""For a pipeline that asks for Spark's web UI."""
REDACTED = "(?i)secret|password|passphrase|token|access[.]?key|account[.]?key"
"""Names of settings whose values neither shows: Spark's own, and those of object stores."""
OWNED = {
    "spark.dynamicAllocation.enabled": "false",  # two controllers on one count would fight
    "spark.decommission.enabled": "true",  # lets tasks finish before an executor exits
    "spark.speculation": "false",  # a second attempt of a task would write twice
    "spark.locality.wait": "0s",  # no waiting for an executor that has just exited
    # Spark counts a pod that the API server refuses as a failed executor, and ends the driver after
    # a few. A quota or an admission policy must never end a query that runs.
    "spark.executor.maxNumFailures": str(2**31 - 1),
    "spark.executor.failuresValidityInterval": "10m",
}


def configuration(
    job: Job, options: Options, executors: int | None, selector: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The whole Spark configuration of this driver.

    `executors` is the initial count, `selector` the keys that choose where they run. Without
    executor pods, spark-submit's own defaults say where the query runs.

    Raises:
        JobFailureError: job.json uses a reserved name, or a pod is too small for Spark.
    """
    _require_no_reserved(job)
    owned = OWNED | (UI if job.spark_ui else {}) | event_log.keys(job.event_log_uri)
    owned |= listeners.keys(job.listeners or ())
    if job.spark_ui or job.event_log_uri:
        owned["spark.redaction.regex"] = REDACTED
    owned["spark.app.name"] = job.pipeline
    if options.driver_memory_bytes is not None:
        heap, _ = memory_split(options.driver_memory_bytes)
        owned["spark.driver.memory"] = f"{heap // MIB}m"
    if options.driver_java_options:
        owned["spark.driver.extraJavaOptions"] = options.driver_java_options
    if job.executors is not None:
        owned |= _kubernetes(job, job.executors, options, executors or 0) | dict(selector or {})
    needed = {
        **open_source(job.source).session_conf,
        **tables.session_conf(job.transform.tables or ()), **open_sink(job.sink).session_conf,
    }  # fmt: skip
    if job.transform.jar:
        owned["spark.jars"] = f"local:{job.transform.jar}"  # where it is, in each pod
    return {**DEFAULTS, **needed, **_state_memory(job), **job.spark_conf, **owned}


def _require_no_reserved(job: Job) -> None:
    """The API server and the operator have checked the same; job.json may still be another's."""
    faults = spark_faults(job.spark_conf)
    if job.executors is not None:
        faults += env_faults([*job.executors.env, *(job.executors.env_from or {})])
    if faults:
        raise JobFailureError(Reason.SETTINGS_INVALID, "; ".join(faults))


def _state_memory(job: Job) -> dict[str, str]:
    if job.executors is None:
        return {}
    _, overhead = memory_split(job.executors.memory_bytes, job.executors.overhead_bytes)
    return {f"{ROCKSDB}.maxMemoryUsageMB": str(int(overhead * ROCKSDB_SHARE) // MIB)}


def _kubernetes(job: Job, pods: Executors, options: Options, count: int) -> dict[str, str]:
    missing = [n for n in ("namespace", "pod_name", "pod_ip") if not getattr(options, n)]
    if missing:
        raise JobFailureError(
            Reason.SETTINGS_INVALID,
            "executors as pods need the environment variables "
            + ", ".join(f"TRIMTAB_{n.upper()}" for n in missing),
        )
    heap, overhead = memory_split(pods.memory_bytes, pods.overhead_bytes)
    prefix = "spark.kubernetes.executor"
    keys = NETWORK | {
        "spark.master": "k8s://https://kubernetes.default.svc",
        "spark.submit.deployMode": "client",
        "spark.driver.host": options.pod_ip or "",
        "spark.driver.bindAddress": "0.0.0.0",  # noqa: S104 -- executors come from other pods
        "spark.kubernetes.namespace": options.namespace or "",
        "spark.kubernetes.driver.pod.name": options.pod_name or "",
        "spark.kubernetes.container.image": pods.image,
        "spark.kubernetes.container.image.pullPolicy": "IfNotPresent",
        # neither is used, and without them the driver's role needs no write access to either kind
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
        "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
        POD_TEMPLATE_KEY: str(POD_TEMPLATE),
        f"{prefix}.request.cores": pods.cpu_request,
        f"{prefix}.label.{UID_LABEL}": job.pipeline_uid,
        # the preStop hook waits for the running batch: see executors/drain.py
        f"{prefix}.terminationGracePeriodSeconds": str(int(job.drain_timeout_s) + GRACE_S),
        "spark.executorEnv.TRIMTAB_DRAIN_S": str(int(job.drain_timeout_s)),
        "spark.executor.instances": str(count),
        "spark.executor.cores": str(pods.cores),
        "spark.executor.memory": f"{heap // MIB}m",
        "spark.executor.memoryOverhead": f"{overhead // MIB}m",
    }
    keys |= pod_keys(pods.pod_template)
    labels = pods.labels | FIXED_PORTS
    keys |= {f"{prefix}.label.{name}": value for name, value in labels.items()}
    keys |= {f"{prefix}.node.selector.{key}": value for key, value in pods.node_selector.items()}
    keys |= {f"spark.executorEnv.{name}": value for name, value in pods.env.items()}
    if pods.java_options:
        keys["spark.executor.extraJavaOptions"] = pods.java_options
    if pods.service_account:
        keys["spark.kubernetes.authenticate.executor.serviceAccountName"] = pods.service_account
    return keys


def memory_split(pod_bytes: int, asked_overhead: int | None = None) -> tuple[int, int]:
    """(heap, overhead) in bytes of a driver or executor pod of that size.

    The overhead holds the Python workers, the network buffers and the JVM itself. If
    `asked_overhead` is unset it is the default share of the pod.

    Raises:
        JobFailureError: the pod is too small for Spark.
    """
    overhead = asked_overhead or overhead_bytes(pod_bytes)
    heap = pod_bytes - overhead
    if heap < HEAP_MIN_BYTES:
        raise JobFailureError(
            Reason.SETTINGS_INVALID,
            f"a driver or executor of {pod_bytes // MIB}Mi is too small for Spark: "
            f"give it {POD_MIN_BYTES // MIB}Mi",
        )
    return heap, overhead


def open_session(conf: Mapping[str, str], folders: Sequence[Path], job: Job) -> SparkSession:
    """Start the JVM and ship the user's Python modules, those in `folders` too, to the executors.

    Raises:
        JobFailureError: the event log has no place, a listener does not start, or an archive of
            modules is not what it was.
    """
    if POD_TEMPLATE_KEY in conf and job.executors is not None:
        template = pod_template(job.executors, job.secret_keys)
        Path(conf[POD_TEMPLATE_KEY]).write_text(json.dumps(template), encoding="utf-8")
    if job.event_log_uri is not None:
        event_log.make_directory(job.event_log_uri, conf)
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    with listeners.understood(job.listeners or ()):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel(conf.get("spark.log.level", "WARN"))
    work = Path(tempfile.mkdtemp(prefix="trimtab-modules-"))
    fetched = fetch(job.transform.archives or (), work, session.sparkContext)
    mounted = (module for folder in folders for module in found(folder, work))
    for module in (*mounted, *fetched):
        session.sparkContext.addPyFile(str(module))
    return session
