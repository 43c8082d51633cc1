"""One pipeline as a tick finds it: everything read about it, in one frozen value."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.api.contract import REFLEX_KEY, SETTINGS_KEY, Reflex, Settings
from trimtab.api.reasons import Reason
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.runs import RunStatus
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.errors import ContractError
from trimtab.ports import Manifest, Name, key_of
from trimtab.reconcile.observe import partitions, refusals
from trimtab.reconcile.observe.cache import ObjectCache
from trimtab.reconcile.observe.driver_pod import DriverPod, driver_pod, made_by
from trimtab.reconcile.observe.executor_pods import Cause, cause
from trimtab.reconcile.observe.gather import DriverMetrics, Gathered
from trimtab.reconcile.observe.jvms import jvms
from trimtab.reconcile.observe.references import References, references
from trimtab.reconcile.observe.refusals import WRITTEN, Refusal
from trimtab.reconcile.observe.signals import Missing, signals
from trimtab.reconcile.tick import TickContext
from trimtab.settings import OperatorSettings
from trimtab.sizing.jvm import Figures
from trimtab.tuning.controller_state import Advice, ControllerState
from trimtab.tuning.governance import governed
from trimtab.tuning.governance.governed import SetBy
from trimtab.tuning.governance.rules import NO_RULES, Rules
from trimtab.tuning.policy import Policy
from trimtab.tuning.recommending import ANNOTATION
from trimtab.tuning.snapshot import Signals
from trimtab.workloads import pipeline
from trimtab.workloads.names import claim_name, driver_name, history_name, tuning_name
from trimtab.workloads.names import driver_pod as driver_pod_name
from trimtab.workloads.ownership import of_predecessor, ours, own

log = logging.getLogger(__name__)

_NOT_OF_THE_POD = (
    "Prometheus has series of this pipeline, but none of its driver's pod: let the scrape set the"
    " label pod to the pod's name, or keep the pod's address in the label instance"
)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left for one pipeline of what it shares with others; None: no limit."""

    executors: int | None = None
    others_changing: str = ""
    """A message saying that enough others are in the middle of a change."""


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
    history: Manifest | None
    """The ConfigMap with the decisions so far."""
    refused: Refusal | None
    """Why children could not be written last; None if all were, or before any was."""
    topic_fixed: str
    """Why the source's topic must keep its number of partitions; empty if it may grow."""
    rules: Rules = NO_RULES
    """What the policies above it say."""
    set_by: tuple[SetBy, ...] = ()
    """The values of `policy` that they set."""
    allowance: Allowance = Allowance()
    """What those leave it that it shares with others."""
    run: RunStatus | None = None
    """The present run, or the wait for the next; None if it runs all the time."""

    @property
    def name(self) -> Name:
        """Namespace and name of the pipeline."""
        meta = self.parent["metadata"]
        return meta["namespace"], meta["name"]

    @property
    def approved(self) -> int | None:
        """The generation of the recommendation that somebody has approved; not a number: none."""
        text = str((self.parent["metadata"].get("annotations") or {}).get(ANNOTATION, ""))
        return int(text) if text.isdecimal() else None

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
    rules = tick.policies.over(parent)
    policy, set_by = governed.policy(spec, rules)
    seen = _signals((namespace, name), policy, gathered, tick)
    fresh = pod.ready and not isinstance(seen, Missing)
    referred = references(namespace, spec, tick)
    spec = referred.spec
    holder_kind, holder = pipeline.identity_holder(name, spec)
    return Observation(
        parent=parent,
        spec=spec,
        policy=policy,
        status=status,
        now_s=tick.now_s,
        config=tick.config,
        memory=_memory((namespace, name), status),
        references=referred,
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
        document=_document(parent, referred, tick),
        reflex=_reflex(parent, cache),
        history=own(cache.get("ConfigMap", namespace, history_name(name)), parent),
        refused=_refused(parent, status, cache),
        topic_fixed=partitions.fixed(parent, referred, cache, gathered.metrics),
        rules=rules,
        set_by=set_by,
    )


def _memory(name: Name, status: StreamPipelineStatus) -> ControllerState | None:
    memory = ControllerState.read(status.controller)
    if status.controller and memory is None:
        log.warning("%s/%s: status.controller is unreadable: starting afresh", *name)
    return memory


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
