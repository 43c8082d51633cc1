"""The Job that makes a KafkaCluster's topics: one at a time, and again after it failed."""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.api.common import moment
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec
from trimtab.ports import Manifest, key_of
from trimtab.reconcile.observe.refusals import WRITTEN
from trimtab.reconcile.status.kafka import TOPICS_READY, State
from trimtab.reconcile.tick import TickContext
from trimtab.workloads.common import COMPONENT_LABEL, HASH_ANNOTATION, KAFKA_LABEL
from trimtab.workloads.kafka import topics
from trimtab.workloads.kafka.material import Material
from trimtab.workloads.ownership import controller, ours, own

RETRY_S = 300.0
"""Seconds between the failure of a Job and the next one; its pods have tried for minutes."""


def make_topics(
    parent: Manifest, spec: KafkaClusterSpec, tick: TickContext, material: Material | None = None
) -> State:
    """Have the topics and the users made as the spec says."""
    wanted = None
    if spec.topics or (spec.security and spec.security.logins):
        wanted = topics.topics_job(parent, spec, tick.config, material)
    _forget_others(parent, spec, wanted, tick)
    if wanted is None:
        return True, "BrokersReady", "all brokers are ready"
    live = own(tick.cache.get(*key_of(wanted)), parent)
    if live is None:
        refusal = tick.writer.apply(wanted, parent)
        if refusal != WRITTEN:
            return False, refusal.reason, refusal.message
        return False, "TopicsPending", "the topics are being made"
    return _state(live, wanted, parent, spec, tick)


def _state(
    live: Manifest, wanted: Manifest, parent: Manifest, spec: KafkaClusterSpec, tick: TickContext
) -> State:
    name, status = live["metadata"]["name"], live.get("status") or {}
    said = _said(live, tick)
    if status.get("succeeded"):
        words = f"all brokers are ready, all {len(spec.topics)} topics are as the spec says"
        return True, TOPICS_READY, f"{words}, except: {said}" if said else words
    failed = _condition(status, "Failed")
    if failed is None:
        stamp = (live["metadata"].get("annotations") or {}).get(HASH_ANNOTATION)
        if stamp != wanted["metadata"]["annotations"][HASH_ANNOTATION]:
            # its image or its pods were edited, which a Job cannot follow
            _delete(live, parent, tick)
        return False, "TopicsPending", _joined("the topics are being made", said)
    again_s = moment(failed.get("lastTransitionTime")) + RETRY_S - tick.now_s
    if again_s <= 0:
        _delete(live, parent, tick)
        return False, "TopicsPending", _joined("the topics are tried again", said)
    text = f"the Job {name} failed: {failed.get('message', '')}"
    return False, "TopicsFailed", f"{_joined(text, said)}; another try follows in minutes"


def _forget_others(
    parent: Manifest, spec: KafkaClusterSpec, wanted: Manifest | None, tick: TickContext
) -> None:
    """Delete the Jobs of older specs, and say which topics stay although no spec lists them."""
    listed = {topic.name for topic in spec.topics}
    for old in _jobs(parent, tick):
        if wanted and old["metadata"]["name"] == wanted["metadata"]["name"]:
            continue
        _delete(old, parent, tick)
        kept = [name for name in topics.made_by(old) if name not in listed]
        if kept:
            message = (
                f"no longer in the spec, and kept with their records: {', '.join(kept)}; delete"
                " them with Kafka's own tools if you do not need them"
            )
            tick.writer.event(parent, warning=False, reason="TopicsKept", message=message[:1024])


def _jobs(parent: Manifest, tick: TickContext) -> Iterator[Manifest]:
    meta = parent["metadata"]
    for job in tick.cache.all("Job", meta["namespace"]):
        labels = job["metadata"].get("labels") or {}
        named = (labels.get(KAFKA_LABEL), labels.get(COMPONENT_LABEL))
        if named == (meta["name"], topics.COMPONENT) and ours(job, parent):
            yield job


def _said(job: Manifest, tick: TickContext) -> str:
    """What the youngest pod of a Job that has ended wrote last."""
    meta, found = job["metadata"], ("", "")
    for pod in tick.cache.all("Pod", meta["namespace"]):
        made_by = controller(pod)
        if not made_by or made_by["uid"] != meta["uid"]:
            continue
        for container in (pod.get("status") or {}).get("containerStatuses") or []:
            ended = (container.get("state") or {}).get("terminated")
            if ended:
                text = "; ".join((ended.get("message") or "").strip().splitlines()[-3:])
                found = max(found, (ended.get("finishedAt") or "", text[:500]))
    return found[1]


def _condition(status: Manifest, type_: str) -> Manifest | None:
    found = (c for c in status.get("conditions") or [] if c["type"] == type_)
    return next((dict(c) for c in found if c["status"] == "True"), None)


def _joined(text: str, said: str) -> str:
    return f"{text}; the last try said: {said}" if said else text


def _delete(job: Manifest, parent: Manifest, tick: TickContext) -> None:
    tick.writer.delete(key_of(job), parent, uid=job["metadata"]["uid"])
    tick.cache.forget(key_of(job))
