"""A KafkaCluster's status and conditions, from what was observed and done. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.api.common import Condition, set_condition, timestamp
from trimtab.api.quantities import counted
from trimtab.api.v1alpha1.kafka import (
    ROLL_ANNOTATION,
    KafkaClusterSpec,
    KafkaClusterStatus,
    RaisedTopic,
)
from trimtab.ports import Manifest
from trimtab.reconcile.observe.brokers import Broker, Brokers
from trimtab.reconcile.observe.refusals import CHILD_REFUSED, NAME_TAKEN
from trimtab.workloads.kafka import names

State = tuple[bool, str, str]
"""Status, reason, message of a condition."""

TOPICS_READY = "TopicsReady"
STORAGE_GROWING = "StorageGrowing"
STALLED = frozenset({
    "InvalidSpec", "TopicsFailed", CHILD_REFUSED, NAME_TAKEN, "Unschedulable", "ImageCannotStart",
    "BrokerCannotStart", "BrokerFailed", "DiskFull", "SecretsNotAllowed",
})  # fmt: skip
"""Reasons of Ready that do not go away without a person."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one tick has found out about a cluster."""

    ready: State
    brokers: Brokers
    storage: tuple[str, str] | None = None
    """Reason and message of volumes that are not as the spec says; None if they are."""
    waiting: tuple[Broker, ...] = ()
    """The brokers that wait for consent to be replaced."""
    made: KafkaClusterSpec | None = None
    """The spec with the partitions that its topics have now; None if unknown."""


def brokers_state(brokers: Brokers, outdated: tuple[Broker, ...]) -> State | None:
    """Why the cluster is not ready, as far as its brokers go; None if they all are."""
    for broker in brokers.found:
        if broker.trouble:
            return False, *broker.trouble
    total, ready = brokers.replicas, brokers.ready
    words = f"{ready} of {total} brokers are ready{_late(brokers)}"
    if outdated:
        rest = counted(len(outdated), "broker")
        return False, "BrokersRolling", f"{rest} to be replaced, one after another; {words}"
    return None if ready == total else (False, "BrokersStarting", words)


def status(
    parent: Manifest, old: KafkaClusterStatus, spec: KafkaClusterSpec, report: Report, now_s: float
) -> KafkaClusterStatus:
    """The new status."""
    meta, made = parent["metadata"], report.made
    revision = report.brokers.revision if report.waiting else None
    return KafkaClusterStatus(
        observed_generation=meta["generation"],
        conditions=_conditions(parent, old.conditions, report, now_s),
        bootstrap_servers=names.bootstrap_servers(meta["name"], meta["namespace"], spec.replicas),
        ready_replicas=report.brokers.ready,
        update_revision=revision if report.brokers.revision else old.update_revision,
        raised=_beyond(spec, made) if made else old.raised,
    )


def invalid(
    parent: Manifest, old: KafkaClusterStatus, message: str, now_s: float
) -> KafkaClusterStatus:
    """The status of a spec that cannot be read; what is known of the cluster stays."""
    report = Report((False, "InvalidSpec", message[:1000]), Brokers(0))
    conditions = _conditions(parent, old.conditions, report, now_s)
    generation = parent["metadata"]["generation"]
    return old.model_copy(update={"observed_generation": generation, "conditions": conditions})


def _late(brokers: Brokers) -> str:
    """Which brokers are not ready, and how far they are."""
    behind = [b.name for b in brokers.found if b.started and not b.ready]
    starting = [b.name for b in brokers.found if not b.started]
    missing = brokers.replicas - len(brokers.found)
    parts = [
        f"; {words}: {', '.join(some)}"
        for words, some in (("not in sync yet", behind), ("starting", starting))
        if some
    ]
    return "".join(parts) + (f"; without a pod: {missing}" if missing else "")


def _conditions(
    parent: Manifest, old: tuple[Condition, ...], report: Report, now_s: float
) -> tuple[Condition, ...]:
    """Ready, Reconciling and Stalled as in a StreamPipeline, and UpdateAvailable."""
    verdicts = {
        "Ready": report.ready,
        "Reconciling": _reconciling(report),
        "Stalled": _stalled(report),
    }
    if report.brokers.revision:
        verdicts["UpdateAvailable"] = _update(parent, report)
    for type_, (flag, why, words) in verdicts.items():
        condition = Condition(
            type=type_,
            status="True" if flag else "False",
            reason=why,
            message=words[:1024],
            observed_generation=parent["metadata"]["generation"],
            last_transition_time=timestamp(now_s),
        )
        old = set_condition(old, condition)
    return old


def _stalled(report: Report) -> State:
    _, reason, message = report.ready
    if reason in STALLED:
        return True, reason, message
    if report.storage and report.storage[0] != STORAGE_GROWING:
        return True, *report.storage
    return False, "NotStalled", ""


def _reconciling(report: Report) -> State:
    ready, reason, message = report.ready
    if not ready and reason not in STALLED:
        return True, reason, message
    if report.storage and report.storage[0] == STORAGE_GROWING:
        return True, *report.storage
    return False, "Settled", ""


def _update(parent: Manifest, report: Report) -> State:
    if not report.waiting:
        return False, "UpToDate", ""
    meta = parent["metadata"]
    some = f"{len(report.waiting)} of {report.brokers.replicas} brokers"
    message = (
        f"{some} run what an older trimtab or its older settings made, and are not replaced without"
        f" your consent: kubectl annotate tkc {meta['name']} -n {meta['namespace']} --overwrite"
        f" {ROLL_ANNOTATION}={report.brokers.revision}"
    )
    return True, "WaitsForConsent", message


def _beyond(spec: KafkaClusterSpec, made: KafkaClusterSpec) -> tuple[RaisedTopic, ...]:
    """The topics that have more partitions than the spec asks for."""
    least = {topic.name: topic.partitions for topic in spec.topics}
    return tuple(
        RaisedTopic(name=topic.name, partitions=topic.partitions)
        for topic in made.topics
        if topic.partitions > least[topic.name]
    )
