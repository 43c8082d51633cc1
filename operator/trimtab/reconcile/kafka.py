"""One KafkaCluster in one tick: children, brokers, volumes, topics, status."""

from __future__ import annotations

import logging

from pydantic import ValidationError

from trimtab.api.common import faults
from trimtab.api.v1alpha1.kafka import ROLL_ANNOTATION, KafkaClusterSpec, KafkaClusterStatus
from trimtab.ports import Manifest, key_of
from trimtab.reconcile.apply.children import write_children
from trimtab.reconcile.apply.keys import keep
from trimtab.reconcile.apply.topics import make_topics
from trimtab.reconcile.decide import roll
from trimtab.reconcile.decide.volumes import CLAIM, volumes
from trimtab.reconcile.observe import partitions
from trimtab.reconcile.observe.brokers import Brokers, Words, observe
from trimtab.reconcile.observe.refusals import WRITTEN, Refusal, joined
from trimtab.reconcile.status import kafka as status
from trimtab.reconcile.tick import TickContext
from trimtab.workloads.common import KAFKA_LABEL
from trimtab.workloads.kafka import names, topics
from trimtab.workloads.kafka.brokers import choices, taken_over
from trimtab.workloads.kafka.children import children
from trimtab.workloads.network import broker_policies
from trimtab.workloads.ownership import own

log = logging.getLogger(__name__)


def reconcile(parent: Manifest, tick: TickContext) -> None:
    """Bring one Kafka cluster one step closer to its spec."""
    if "deletionTimestamp" in parent["metadata"]:
        return
    old = KafkaClusterStatus.model_validate(parent.get("status") or {})
    _drop_policies(parent, tick)
    try:
        spec = KafkaClusterSpec.model_validate(parent["spec"])
    except ValidationError as error:
        _write(parent, old, status.invalid(parent, old, faults(error), tick.now_s), tick)
        return
    report = _work(parent, spec, old, tick)
    _write(parent, old, status.status(parent, old, spec, report, tick.now_s), tick)


def _work(
    parent: Manifest, spec: KafkaClusterSpec, old: KafkaClusterStatus, tick: TickContext
) -> status.Report:
    """Write what differs, and take one step with the brokers, the volumes and the topics."""
    live, consent = _stateful_set(parent, tick), _consent(parent)
    brokers = _brokers(parent, spec, tick)
    material = keep(parent, spec, tick, lambda held: roll.all_run(brokers, choices(spec, held)))
    if isinstance(material, Refusal):
        refused = (False, material.reason, material.message)
        return status.Report(refused, brokers, _grow(parent, spec, tick))
    older = taken_over(live) if live else None
    refusal = tick.writer.replace(older, parent) if older else WRITTEN
    made = children(parent, spec, tick.config, live, material)
    refusal = write_children(parent, made, tick, refusal)
    wish = choices(spec, material)
    brokers = _brokers(parent, spec, tick)
    if refusal == WRITTEN:
        brokers = _roll(parent, spec, wish, tick)
    storage = _grow(parent, spec, tick)
    wanted = _with_raised(parent, spec, old, tick)
    ready = status.brokers_state(brokers, roll.outdated(brokers, wish, consent))
    if refusal != WRITTEN:
        ready = (False, refusal.reason, refusal.message)
    elif ready is None:
        ready = make_topics(parent, wanted, tick, material)
    return status.Report(
        ready=ready,
        brokers=brokers,
        storage=storage,
        waiting=roll.waiting(brokers, wish, consent),
        made=wanted if ready[1] == status.TOPICS_READY else None,
    )


def _drop_policies(parent: Manifest, tick: TickContext) -> None:
    """Delete the NetworkPolicies that the cluster owns and no longer has: they were turned off."""
    needed = {key_of(policy) for policy in broker_policies(parent, tick.config)}
    for live in tick.owned.get(parent["metadata"]["uid"], ()):
        if live["kind"] == "NetworkPolicy" and key_of(live) not in needed:
            tick.writer.delete(key_of(live), parent, uid=live["metadata"]["uid"])
            tick.cache.forget(key_of(live))


def _consent(parent: Manifest) -> str | None:
    """The revision that somebody has consented to."""
    consent: str | None = (parent["metadata"].get("annotations") or {}).get(ROLL_ANNOTATION)
    return consent


def _stateful_set(parent: Manifest, tick: TickContext) -> Manifest | None:
    meta = parent["metadata"]
    live = tick.cache.get("StatefulSet", meta["namespace"], names.brokers_name(meta["name"]))
    return own(live, parent)


def _brokers(parent: Manifest, spec: KafkaClusterSpec, tick: TickContext) -> Brokers:
    name = parent["metadata"]["name"]
    return observe(_stateful_set(parent, tick), name, spec.replicas, tick.cache)


def _roll(parent: Manifest, spec: KafkaClusterSpec, wish: str, tick: TickContext) -> Brokers:
    """Replace the next broker, if one is due and may go; returns what the brokers are then.

    What the watches have told may be seconds old, so all brokers are read again before one goes.
    """
    consent = _consent(parent)
    brokers = _brokers(parent, spec, tick)
    if roll.next_one(brokers, wish, consent) is None:
        return brokers
    _read_again(brokers, parent["metadata"]["namespace"], tick)
    brokers = _brokers(parent, spec, tick)
    going = roll.next_one(brokers, wish, consent)
    if going is not None:
        namespace, name = parent["metadata"]["namespace"], parent["metadata"]["name"]
        log.info("%s/%s: replacing %s", namespace, name, going.name)
        key = ("Pod", namespace, going.name)
        tick.writer.delete(key, parent, uid=going.uid)
        tick.cache.forget(key)
        message = f"{going.name} is replaced by a pod of the newest revision"
        tick.writer.event(parent, warning=False, reason="BrokerReplaced", message=message)
    return brokers


def _read_again(brokers: Brokers, namespace: str, tick: TickContext) -> None:
    for broker in brokers.found:
        key = ("Pod", namespace, broker.name)
        pod = tick.cluster.get(key)
        if pod is None:
            tick.cache.forget(key)
        else:
            tick.cache.observe(pod)


def _grow(parent: Manifest, spec: KafkaClusterSpec, tick: TickContext) -> Words | None:
    """Let the brokers' volumes grow, whether the brokers run or not; returns what is not done."""
    meta = parent["metadata"]
    found = (
        tick.cache.get(CLAIM, meta["namespace"], names.claim_name(meta["name"], ordinal))
        for ordinal in range(spec.replicas)
    )
    claims = [c for c in found if c and _belongs(c, meta["name"])]
    seen = volumes(claims, spec.storage.size)
    refusal = joined(tick.writer.patch(patch, parent) for patch in seen.patches)
    if refusal != WRITTEN:
        return "StorageNotGrown", (
            f"{refusal.message}: allow it in the StorageClass (allowVolumeExpansion: true), or"
            " restore spec.storage.size"
        )
    if seen.too_large:
        return "StorageTooLarge", seen.too_large
    return (status.STORAGE_GROWING, seen.growing) if seen.growing else None


def _belongs(claim: Manifest, cluster: str) -> bool:
    labels = claim["metadata"].get("labels") or {}
    return bool(labels.get(KAFKA_LABEL) == cluster)


def _with_raised(
    parent: Manifest, spec: KafkaClusterSpec, old: KafkaClusterStatus, tick: TickContext
) -> KafkaClusterSpec:
    """The spec with the partitions that topics were raised to, and those that are requested now."""
    meta = parent["metadata"]
    wanted = {topic.name: topic.partitions for topic in old.raised}
    for name, wish in partitions.asked(tick.cache, meta["namespace"], meta["name"]).items():
        wanted[name] = max(wish, wanted.get(name, 0))
    return topics.raised(spec, wanted)


def _write(
    parent: Manifest, old: KafkaClusterStatus, new: KafkaClusterStatus, tick: TickContext
) -> None:
    if new == old or not tick.writer.status(parent, new.model_dump(mode="json", by_alias=True)):
        return
    for topic in new.raised:
        if topic not in old.raised:
            message = (
                f"topic {topic.name} now has {topic.partitions} partitions, as a StreamPipeline"
                " requested: records of a key may now go to another partition than before"
            )
            tick.writer.event(parent, warning=False, reason="PartitionsRaised", message=message)
