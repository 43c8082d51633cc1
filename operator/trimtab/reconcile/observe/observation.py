"""One pipeline as a tick finds it: everything read about it, in one frozen value."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from trimtab.api.common import faults, get_condition
from trimtab.api.contract import REFLEX_KEY, SETTINGS_KEY, Reflex, Settings
from trimtab.api.reasons import Reason
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec, KafkaClusterStatus
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.query import LOOP, share_server
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.errors import ContractError
from trimtab.ports import Manifest, Name, key_of
from trimtab.reconcile.observe import partitions, refusals
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.driver_pod import DriverPod, driver_pod, made_by
from trimtab.reconcile.observe.executor_pods import Cause, cause
from trimtab.reconcile.observe.gather import DriverMetrics, Gathered
from trimtab.reconcile.observe.jvms import jvms
from trimtab.reconcile.observe.refusals import WRITTEN, Refusal
from trimtab.reconcile.observe.signals import Missing, signals
from trimtab.reconcile.tick import TickContext
from trimtab.settings import OperatorSettings
from trimtab.sizing.jvm import Figures
from trimtab.tuning.controller_state import Advice, ControllerState
from trimtab.tuning.policy import Policy
from trimtab.tuning.snapshot import Signals
from trimtab.workloads import pipeline
from trimtab.workloads.kafka.names import bootstrap_servers
from trimtab.workloads.names import claim_name, driver_name, tuning_name
from trimtab.workloads.names import driver_pod as driver_pod_name
from trimtab.workloads.ownership import of_predecessor, ours, own

log = logging.getLogger(__name__)

_NOT_OF_THE_POD = (
    "Prometheus has series of this pipeline, but none of its driver's pod: let the scrape set the"
    " label pod to the pod's name, or keep the pod's address in the label instance"
)

Words = tuple[str, str]
"""A reason and a message."""


@dataclass(frozen=True, slots=True)
class References:
    """Objects that the spec refers to and others create."""

    servers: tuple[str, str] = ("", "")
    """Bootstrap servers of source and sink."""
    modules: Manifest | None = None
    """The ConfigMap of a Python transform; None if the spec names none."""
    missing: Words | None = None
    """What is missing, so that nothing can be created."""
    not_ready: Words | None = None
    """What must be ready before the driver is first created."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A pipeline, its children and its metrics at the beginning of a tick."""

    parent: Manifest
    spec: StreamPipelineSpec
    policy: Policy
    """What the spec asks of the control core."""
    status: StreamPipelineStatus
    now_s: float
    config: OperatorSettings
    memory: ControllerState | None
    """The content of `status.controller`; None if it is empty or unreadable."""
    references: References
    claim: Manifest | None
    """The claim of the checkpoint."""
    identity_holder: Manifest | None
    """The child that records what the checkpoint belongs to."""
    stateful_set: Manifest | None
    pod: DriverPod
    missing_executors: Cause | None
    """Why executors are missing, as far as known; None while all run, or just start."""
    owned: tuple[Manifest, ...]
    """What the pipeline owns of the kinds that may be left over."""
    extra_drivers: tuple[str, ...]
    """The names of the driver's pods beside the one that there should be."""
    metrics: DriverMetrics | None
    signals: Signals | Missing
    direct: bool
    """Whether the driver itself said what it does now."""
    indirect: str
    """Why it did not, although it was to be read directly; empty otherwise."""
    jvms: Mapping[str, Figures]
    """The JVM figures by role, from fresh metrics of a running driver."""
    document: Settings | None
    """The tuning document that the driver reads."""
    reflex: Reflex | None
    """What the driver may do by itself, as it reads it."""
    refused: Refusal | None
    """Why children could not be written last; None if all were, or before any was."""
    topic_fixed: str
    """Why the source's topic must keep its number of partitions; empty if it may grow."""

    @property
    def pace_s(self) -> tuple[float, float]:
        """Seconds between two samples, and between two decisions."""
        config = self.config
        return (config.pause_s,) * 2 if self.direct else (config.scrape_s, config.tick_s)

    @property
    def missing(self) -> Missing | None:
        """Why there are no signals; None if there are."""
        return self.signals if isinstance(self.signals, Missing) else None

    @property
    def own_document(self) -> Settings | None:
        """The document, unless it belongs to an earlier pipeline of the same name."""
        ours = self.document and self.document.pipeline_uid == self.parent["metadata"]["uid"]
        return self.document if ours else None

    @property
    def advice(self) -> Advice:
        """The advice that stands; the first schema kept it in the status alone."""
        old = self.status
        told = old.controller or {}
        if self.memory is None or "schema" not in told:
            return Advice(old.jvm, old.partitions_advice, old.oversize)
        return self.memory.advice


def observe(
    parent: Manifest,
    spec: StreamPipelineSpec,
    status: StreamPipelineStatus,
    gathered: Gathered,
    tick: TickContext,
) -> Observation:
    """Read everything that one tick of a pipeline needs; raises UnavailableError."""
    meta, cache = parent["metadata"], tick.cache
    namespace, name = meta["namespace"], meta["name"]
    stateful_set = own(cache.get("StatefulSet", namespace, driver_name(name)), parent)
    pod_name = driver_pod_name(name)
    pod = driver_pod(made_by(cache.get("Pod", namespace, pod_name), stateful_set))
    metrics = gathered.metrics.get((namespace, name))
    policy = Policy.of(spec)
    seen = _signals((namespace, name), policy, gathered, tick)
    fresh = pod.ready and not isinstance(seen, Missing)
    references = _references(namespace, spec, tick)
    memory = ControllerState.read(status.controller)
    if status.controller and memory is None:
        log.warning("%s/%s: status.controller is unreadable: starting afresh", namespace, name)
    holder_kind, holder = pipeline.identity_holder(name, spec)
    return Observation(
        parent=parent,
        spec=spec,
        policy=policy,
        status=status,
        now_s=tick.now_s,
        config=tick.config,
        memory=memory,
        references=references,
        claim=own(cache.get("PersistentVolumeClaim", namespace, claim_name(name)), parent),
        identity_holder=own(cache.get(holder_kind, namespace, holder), parent),
        stateful_set=stateful_set,
        pod=pod,
        missing_executors=_missing_executors((namespace, name), pod, tick),
        owned=tuple(tick.owned.get(meta["uid"], ())),
        extra_drivers=_extra(stateful_set, pod_name, tick),
        metrics=metrics,
        signals=seen,
        direct=(namespace, name) in gathered.direct,
        indirect=gathered.indirect.get((namespace, name), ""),
        jvms=jvms(metrics if fresh else None),
        document=_document(parent, references, tick),
        reflex=_reflex(parent, cache),
        refused=_refused(parent, status, cache),
        topic_fixed=partitions.fixed(parent, spec, cache, gathered.metrics),
    )


def _missing_executors(name: Name, pod: DriverPod, tick: TickContext) -> Cause | None:
    pods, failed = tick.executors.get(name, ()), tick.cache.failed_executor(*name)
    return cause(pod.executors_refused, pods, failed, tick.now_s)


def _signals(
    name: Name, policy: Policy, gathered: Gathered, tick: TickContext
) -> Signals | Missing:
    if gathered.failure:
        return Missing(Reason.NO_METRICS, gathered.failure)
    if name not in gathered.metrics and name in gathered.strangers:
        return Missing(Reason.NO_METRICS, _NOT_OF_THE_POD)
    metrics = gathered.metrics.get(name)
    return signals(
        metrics, policy.quantile, tick.now_s, tick.config.scrape_s, by_broker=policy.by_broker
    )


def _references(namespace: str, spec: StreamPipelineSpec, tick: TickContext) -> References:
    cache, addresses = tick.cache, []
    for named in (spec.source.kafka, spec.sink.reference):
        if named is None:
            addresses.append("")
            continue
        address = named.bootstrap_servers or _bootstrap(cache, namespace, named.cluster or "")
        if not isinstance(address, str):
            return References(missing=address)
        addresses.append(address)
    sink = spec.sink.reference
    if sink and sink.topic in spec.source.kafka.topics and share_server(*addresses):
        return References(missing=("InvalidSpec", LOOP))
    python, modules = spec.transform.python, None
    if python and python.config_map:
        key = ("ConfigMap", namespace, python.config_map)
        modules = cache.fetched(key, tick.now_s, tick.cluster.get)
        if modules is None:
            message = f"there is no ConfigMap {python.config_map!r} in namespace {namespace!r}"
            return References(missing=("ModuleNotFound", message))
    not_ready = _not_ready(spec, cache, namespace)
    return References((addresses[0], addresses[1]), modules, not_ready=not_ready)


def _bootstrap(cache: ObjectCache, namespace: str, name: str) -> str | Words:
    """The addresses of a KafkaCluster; if its spec cannot be read any more, those of before."""
    found = cache.get("KafkaCluster", namespace, name)
    if found is None:
        message = f"there is no KafkaCluster {name!r} in namespace {namespace!r}"
        return "KafkaClusterNotFound", message
    try:
        spec = KafkaClusterSpec.model_validate(found["spec"])
    except ValidationError as error:
        status = KafkaClusterStatus.model_validate(found.get("status") or {})
        message = f"the spec of KafkaCluster {name!r} is wrong: {faults(error)}"
        return status.bootstrap_servers or ("InvalidSpec", message[:1000])
    return bootstrap_servers(name, namespace, spec.replicas)


def _not_ready(spec: StreamPipelineSpec, cache: ObjectCache, namespace: str) -> Words | None:
    """A driver created before its Kafka would only fail; one that already runs just retries."""
    for named in (spec.source.kafka, spec.sink.reference):
        name = named.cluster if named else None
        found = cache.get("KafkaCluster", namespace, name) if name else None
        status = KafkaClusterStatus.model_validate((found or {}).get("status") or {})
        ready = get_condition(status.conditions, "Ready")
        if found and (ready is None or ready.status != "True"):
            why = f": {ready.message}" if ready else ""
            return "KafkaClusterNotReady", f"KafkaCluster {name!r} is not ready yet{why}"
    return None


def _extra(stateful_set: Manifest | None, pod: str, tick: TickContext) -> tuple[str, ...]:
    """The pods that the StatefulSet made beside the driver's, as when somebody scaled it."""
    made = tick.drivers.get(stateful_set["metadata"]["uid"], ()) if stateful_set else ()
    return tuple(name for name in made if name != pod)


def _document(parent: Manifest, references: References, tick: TickContext) -> Settings | None:
    """The tuning document, also that of an earlier pipeline of this name.

    If the cache has none yet, another operator may have created one.
    """
    meta = parent["metadata"]
    key = ("ConfigMap", meta["namespace"], tuning_name(meta["name"]))
    live = tick.cache.get(*key)
    if live is None and references.missing is None:
        live = tick.cluster.get(key)
        if live and ours(live, parent):
            tick.cache.observe(live)  # otherwise it would be overwritten unseen
    if live is None or not (ours(live, parent) or of_predecessor(live, parent)):
        return None
    try:
        return Settings.from_json(live["data"][SETTINGS_KEY])
    except (ContractError, KeyError):
        return None


def _reflex(parent: Manifest, cache: ObjectCache) -> Reflex | None:
    """The table beside the tuning document; one that cannot be read is written again."""
    meta = parent["metadata"]
    live = own(cache.get("ConfigMap", meta["namespace"], tuning_name(meta["name"])), parent)
    try:
        return Reflex.from_json(live["data"][REFLEX_KEY]) if live else None
    except (ContractError, KeyError):
        return None


def _refused(parent: Manifest, status: StreamPipelineStatus, cache: ObjectCache) -> Refusal | None:
    """Why the last tick could not write; it is tried again in each tick.

    An operator that has written nothing yet takes the reason from the status.
    """
    known = cache.refused(key_of(parent)) or refusals.told(status.conditions)
    return None if known in {None, WRITTEN} else known
