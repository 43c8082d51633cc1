"""`python -m trimtab.job`: wires the driver's parts together and sets the exit code.

Exit codes: 0, stopped at a batch boundary; 1, failed, with the reason in the termination log;
3, stopped in mid-batch because the drain timeout expired.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from pyspark import SparkContext
from pyspark.sql import SparkSession

from trimtab import http
from trimtab.api.contract import SETTINGS_KEY, Job, Settings
from trimtab.api.knobs import EXECUTORS, SCOPE
from trimtab.api.modules import COPIED_DIRECTORY
from trimtab.errors import UnavailableError
from trimtab.job import definition, gateway, termination
from trimtab.job.batches.batches import Batches
from trimtab.job.batches.progress import ProgressListener, Recounted
from trimtab.job.clock import wall_s
from trimtab.job.cluster import ClusterApi
from trimtab.job.definition import Options
from trimtab.job.executors import drain
from trimtab.job.executors.executors import Executors
from trimtab.job.executors.locality import Locality
from trimtab.job.executors.placement import LABELS, Places, Step, steps
from trimtab.job.executors.pod_log import PodLog, SparkRecords
from trimtab.job.lifecycle import settings_watch
from trimtab.job.lifecycle.credentials import CredentialsWatch
from trimtab.job.lifecycle.runner import Runner
from trimtab.job.lifecycle.stop_signal import StopSignal
from trimtab.job.query.again import Again
from trimtab.job.query.builder import StreamBuilder
from trimtab.job.query.checkpoint import Checkpoint
from trimtab.job.query.fence import Fence, Process
from trimtab.job.query.protocols import Sink, Source
from trimtab.job.query.sinks import open_sink
from trimtab.job.query.sinks.dead_letters import DeadLetterSink
from trimtab.job.query.sources import open_source
from trimtab.job.query.sources.kafka import KafkaSource
from trimtab.job.session import UID_LABEL, configuration, open_session
from trimtab.job.telemetry import announce, following, heartbeat
from trimtab.job.telemetry.arrivals import ArrivalWatch
from trimtab.job.telemetry.driver_state import DriverState
from trimtab.job.telemetry.jvm import JvmWatch, SparkJvms
from trimtab.job.telemetry.metrics import DriverCollector
from trimtab.job.telemetry.sampler import Sampler
from trimtab.job.telemetry.stall import HANG_S, StallWatch
from trimtab.job.telemetry.work import SparkWork, heap_limit
from trimtab.job.termination import ExitCode

log = logging.getLogger("trimtab.job")

SPARK_STOP_S = 8.0


class Flags(NamedTuple):
    """The two stop flags: one for the background threads, one for the query."""

    stopping: threading.Event
    stop: StopSignal


def main(arguments: list[str]) -> int:
    """Run the driver; returns its exit code."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    logging.getLogger("py4j").setLevel(logging.WARNING)
    options = definition.parse_options(arguments)
    stopping = threading.Event()
    try:
        return _drive(options, stopping)
    except Exception as error:
        failure = termination.of(error, gateway.exit_code())
        log.error("%s: %s", failure.reason, failure, exc_info=error)
        termination.write(options.termination_log, failure)
        return ExitCode.FAILED
    finally:
        stopping.set()
        _stop_spark()


def _drive(options: Options, stopping: threading.Event) -> ExitCode:
    stop = StopSignal()
    signal.signal(signal.SIGTERM, lambda *_: stop.request())
    job = definition.load_job(options.job)
    settings = definition.load_settings(options.settings, job)
    CredentialsWatch(job.secret_keys, stop.request).start(stopping)
    driver = DriverState(pipeline_uid=job.pipeline_uid)
    registry = CollectorRegistry()
    registry.register(DriverCollector(driver, wall_s))
    stall = StallWatch(job.hang_timeout_s or HANG_S)
    probes = {"/ready": lambda: _ready(driver.not_ready), "/live": stall.probe}
    http.serve(options.metrics_port, registry, probes)
    heartbeat.start(driver, stopping)
    api = ClusterApi(options.namespace) if options.namespace and options.tuning_configmap else None
    if api is not None and job.executors is not None:
        _delete_old_executors(api, job)
    if api is not None and options.pod_name:
        announce.start(driver, partial(api.annotate_pod, options.pod_name), stopping)
    folders = (options.modules, Path(COPIED_DIRECTORY))
    sys.path[:0] = map(str, folders)
    knobs = definition.effective(settings, job)
    places = Places.of(job.kafka_source, api.node_of if api else lambda _pod: None)
    plan = _plan(job, knobs, places)
    conf = configuration(job, options, plan[0].target, plan[0].selector)
    session = open_session(conf, folders, job)
    executors = None
    if job.executors is not None:
        executors = partial(
            _executors, plan=plan, places=places, api=api, stopping=stopping,
            none=knobs.get(EXECUTORS.name) == 0,
        )  # fmt: skip
    flags = Flags(stopping, stop)
    owner = partial(_fence, api, options)
    runner = _assemble(
        session, job, settings, driver, flags=flags, stall=stall, make=executors, fence=owner
    )
    documents = _documents(api, options, stopping)
    settings_watch.start(documents, runner.inbox, runner.reflex.offer)
    try:
        code = runner.run()
    except BaseException:
        runner.abort()
        raise
    if code is ExitCode.UNCLEAN:
        words = f"a batch took longer than the drain timeout of {job.drain_timeout_s:g} s"
        failure = termination.JobFailureError(termination.Reason.DRAIN_TIMEOUT, words)
        termination.write(options.termination_log, failure)
    else:
        termination.write_clean(options.termination_log)
    return code


def _plan(job: Job, knobs: Mapping[str, float], places: Places) -> list[Step]:
    """The initial executors, one node or zone at a time if the scope asks for it."""
    # spark-submit refuses to start without an executor
    count, scope = max(1, int(knobs.get(EXECUTORS.name, 0))), int(knobs.get(SCOPE.name, 0))
    own = job.executors.node_selector if job.executors else {}
    if LABELS.get(scope) in own:
        return [Step(count)]
    return steps(0, count, places(scope), scope)


def _executors(
    context: SparkContext,
    locality: Locality,
    *,
    plan: list[Step],
    places: Places,
    api: ClusterApi | None,
    stopping: threading.Event,
    none: bool,
) -> Executors:
    """The executors of this session; `none`: nothing comes in, so they are released again."""
    made = Executors(context, plan, locality, places)
    if none:
        made.scale(0)
    if api is not None:
        own = f"{drain.APPLICATION_LABEL}={context.applicationId}"
        drain.start(api, own, made.give_way, stopping)
    return made


def _fence(api: ClusterApi | None, options: Options, checkpoint: Checkpoint) -> Fence | None:
    """The fence of this pod's driver; None outside a cluster."""
    if api is None or not options.pod_name or not options.pod_uid:
        return None
    here = Process.here(options.pod_name, options.pod_uid)
    return Fence(checkpoint, here, lambda other: api.pod_runs(other.pod, other.uid))


def _ready(not_ready: str | None) -> tuple[bool, str]:
    return not_ready is None, not_ready or "ready"


def _assemble(
    session: SparkSession,
    job: Job,
    settings: Settings,
    driver: DriverState,
    *,
    flags: Flags,
    stall: StallWatch,
    make: Callable[..., Executors] | None,
    fence: Callable[[Checkpoint], Fence | None],
) -> Runner:
    """Build everything around one session and start the threads; `make` makes the executors."""
    context = session.sparkContext
    checkpoint = Checkpoint.of(job.checkpoint_uri, context)
    batches = Batches(driver, wall_s)
    work = SparkWork(context)
    slots = partial(_slots, work)
    recounted: Recounted = {}
    listener = ProgressListener(
        batches.started, batches.finish, slots, checkpoint.sources, recounted
    )
    session.streams.addListener(listener)
    source, sink = _ends(job, checkpoint, driver, recounted)
    locality = Locality(context._jsc.sc().conf())
    executors = make(context, locality=locality) if make else None
    heap = heap_limit(context)
    pod_log = PodLog(SparkRecords(context)) if executors else None
    sampler = Sampler(
        driver, work, heap, executors, batches.sample_executors, pod_log=pod_log, stall=stall
    )
    sampler.start(flags.stopping)
    JvmWatch(driver, SparkJvms(context, heap)).start(flags.stopping)
    following.start(job, driver, batches, checkpoint, flags.stopping)
    ArrivalWatch(driver, sink.arrived).start(flags.stopping)
    return Runner(
        job,
        settings,
        builder=StreamBuilder(session, job, checkpoint, source, sink),
        driver=driver,
        batches=batches,
        checkpoint=checkpoint,
        source=source,
        sink=sink,
        executors=executors,
        locality=locality,
        signal=flags.stop,
        fence=fence(checkpoint),
    )


def _ends(
    job: Job, checkpoint: Checkpoint, driver: DriverState, recounted: Recounted
) -> tuple[Source, Sink]:
    """The source, and the sink with the dead letters beside it; `recounted` as in `progress`."""
    letters = job.dead_letters
    source = open_source(job.source, letters.max_per_batch + 1 if letters else None)
    sink = open_sink(job.sink)
    if not letters:
        return source, sink
    assert isinstance(source, KafkaSource)
    assert job.kafka_source, "the spec would have been refused"
    return source, DeadLetterSink(
        sink,
        letters,
        job.kafka_source,
        counted=driver.totals.add_dead_letters,
        again=Again(source, job.transform, checkpoint),
        recounted=recounted,
    )


def _slots(work: SparkWork) -> int:
    """How many tasks can run at once."""
    return work.work().slots


def _documents(
    api: ClusterApi | None, options: Options, stopping: threading.Event
) -> Iterator[Mapping[str, str]]:
    """The tuning documents by key, whenever they change; without a cluster only the settings."""
    if api is None or options.tuning_configmap is None:
        texts = settings_watch.follow_file(options.settings, stopping)
        return ({SETTINGS_KEY: text} for text in texts)
    return api.follow_configmap(options.tuning_configmap, stopping)


def _delete_old_executors(api: ClusterApi, job: Job) -> None:
    """Delete executors left by a driver that died in this pod: they still hold cores."""
    try:
        count = api.delete_pods(f"spark-role=executor,{UID_LABEL}={job.pipeline_uid}")
    except UnavailableError as error:
        log.warning("executors of an earlier driver may be left: %s", error)
        return
    if count:
        log.info("deleted %d executors of an earlier driver", count)


def _stop_spark() -> None:
    """Stop Spark, but never take longer than the kubelet waits for this pod."""
    session = SparkSession.getActiveSession()
    if session is None:
        return
    stopper = threading.Thread(target=session.stop, name="trimtab-spark-stop", daemon=True)
    stopper.start()
    stopper.join(SPARK_STOP_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
