"""One KafkaCluster in one tick: children, topics, status."""

from __future__ import annotations

from pydantic import ValidationError

from trimtab.api.common import Condition, set_condition, timestamp
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec, KafkaClusterStatus, RaisedTopic
from trimtab.ports import Manifest, key_of
from trimtab.reconcile.apply.children import write_children
from trimtab.reconcile.observe import partitions
from trimtab.reconcile.observe.refusals import CHILD_REFUSED, NAME_TAKEN, WRITTEN
from trimtab.reconcile.tick import TickContext
from trimtab.workloads import kafka
from trimtab.workloads.common import COMPONENT_LABEL, KAFKA_LABEL
from trimtab.workloads.ownership import ours, own

State = tuple[bool, str, str]
"""Ready, reason, message."""

TOPICS_READY = "TopicsReady"
STALLED = frozenset({"InvalidSpec", "TopicsFailed", CHILD_REFUSED, NAME_TAKEN})
"""Reasons that do not go away without a person."""


def reconcile(parent: Manifest, tick: TickContext) -> None:
    """Bring one Kafka cluster one step closer to its spec."""
    meta = parent["metadata"]
    if "deletionTimestamp" in meta:
        return
    try:
        spec = KafkaClusterSpec.model_validate(parent["spec"])
    except ValidationError as error:
        _report(parent, None, 0, (False, "InvalidSpec", str(error)[:1000]), tick)
        return
    children = kafka.children(parent, spec, tick.config)
    refusal = write_children(parent, children, tick)
    _drop_policies(parent, children, tick)
    live = tick.cache.get("StatefulSet", meta["namespace"], kafka.service_name(meta["name"]))
    ready = ((own(live, parent) or {}).get("status") or {}).get("readyReplicas", 0)
    state: State = (False, "BrokersStarting", f"{ready} of {spec.replicas} brokers are ready")
    wanted = _with_raised(parent, spec, tick)
    if ready == spec.replicas:
        state = _topics(parent, wanted, tick)
    if refusal != WRITTEN:
        state = (False, refusal.reason, refusal.message)
    _report(parent, spec, ready, state, tick, made=wanted if state[1] == TOPICS_READY else None)


def _drop_policies(parent: Manifest, children: list[Manifest], tick: TickContext) -> None:
    """Delete the NetworkPolicies that the cluster owns and no longer has: they were turned off."""
    wanted = {key_of(child) for child in children}
    for live in tick.owned.get(parent["metadata"]["uid"], ()):
        if live["kind"] == "NetworkPolicy" and key_of(live) not in wanted:
            tick.writer.delete(key_of(live), uid=live["metadata"]["uid"])
            tick.cache.forget(key_of(live))


def _with_raised(parent: Manifest, spec: KafkaClusterSpec, tick: TickContext) -> KafkaClusterSpec:
    """The spec with the partitions that topics were raised to, and those that are requested now."""
    meta = parent["metadata"]
    known = KafkaClusterStatus.model_validate(parent.get("status") or {}).raised
    wanted = {topic.name: topic.partitions for topic in known}
    for name, wish in partitions.asked(tick.cache, meta["namespace"], meta["name"]).items():
        wanted[name] = max(wish, wanted.get(name, 0))
    return kafka.raised(spec, wanted)


def _topics(parent: Manifest, spec: KafkaClusterSpec, tick: TickContext) -> State:
    """Create the topics once the brokers are ready; delete outdated Jobs."""
    if not spec.topics:
        return True, "BrokersReady", "all brokers are ready"
    meta, job = parent["metadata"], kafka.topics_job(parent, spec, tick.config)
    name = job["metadata"]["name"]
    for old in tick.cache.all("Job", meta["namespace"]):
        labels = old["metadata"].get("labels", {})
        for_topics = labels.get(KAFKA_LABEL) == meta["name"] and labels.get(COMPONENT_LABEL)
        if for_topics and ours(old, parent) and old["metadata"]["name"] != name:
            key = ("Job", meta["namespace"], old["metadata"]["name"])
            tick.writer.delete(key)
            tick.cache.forget(key)
    live = own(tick.cache.get("Job", meta["namespace"], name), parent)
    if live is None:
        refusal = tick.writer.apply(job, parent)
        if refusal != WRITTEN:
            return False, refusal.reason, refusal.message
        return False, "TopicsPending", "the topics are being created"
    status = live.get("status") or {}
    if status.get("succeeded"):
        return True, TOPICS_READY, f"all brokers are ready, all {len(spec.topics)} topics exist"
    failed = [c for c in status.get("conditions") or [] if c["type"] == "Failed"]
    if failed and failed[0]["status"] == "True":
        text = f"the Job {name} failed: {failed[0].get('message', '')}; see its log"
        return False, "TopicsFailed", text
    return False, "TopicsPending", "the topics are being created"


def _report(
    parent: Manifest, spec: KafkaClusterSpec | None, ready: int, state: State, tick: TickContext,
    *, made: KafkaClusterSpec | None = None,
) -> None:  # fmt: skip
    """`made` is the spec with the partitions that its topics have now; None if unknown."""
    meta = parent["metadata"]
    old = KafkaClusterStatus.model_validate(parent.get("status") or {})
    servers = old.bootstrap_servers
    if spec:
        servers = kafka.bootstrap_servers(meta["name"], meta["namespace"], spec.replicas)
    new = KafkaClusterStatus(
        observed_generation=meta["generation"],
        conditions=_conditions(old.conditions, state, meta["generation"], tick.now_s),
        bootstrap_servers=servers,
        ready_replicas=ready,
        raised=_beyond(spec, made) if spec and made else old.raised,
    )
    if new == old or not tick.writer.status(parent, new.model_dump(mode="json", by_alias=True)):
        return
    for topic in new.raised:
        if topic not in old.raised:
            message = (
                f"topic {topic.name} now has {topic.partitions} partitions, as a StreamPipeline"
                " requested: records of a key may now go to another partition than before"
            )
            tick.writer.event(parent, warning=False, reason="PartitionsRaised", message=message)


def _conditions(
    old: tuple[Condition, ...], state: State, generation: int, now_s: float
) -> tuple[Condition, ...]:
    """Ready, Reconciling and Stalled, as in a StreamPipeline."""
    ready, reason, message = state
    stalled = reason in STALLED
    told = (True, reason, message)
    verdicts = {
        "Ready": state,
        "Reconciling": (False, "Settled", "") if ready or stalled else told,
        "Stalled": told if stalled else (False, "NotStalled", ""),
    }
    for type_, (flag, why, words) in verdicts.items():
        condition = Condition(
            type=type_,
            status="True" if flag else "False",
            reason=why,
            message=words[:1024],
            observed_generation=generation,
            last_transition_time=timestamp(now_s),
        )
        old = set_condition(old, condition)
    return old


def _beyond(spec: KafkaClusterSpec, made: KafkaClusterSpec) -> tuple[RaisedTopic, ...]:
    """The topics that have more partitions than the spec asks for."""
    least = {topic.name: topic.partitions for topic in spec.topics}
    return tuple(
        RaisedTopic(name=topic.name, partitions=topic.partitions)
        for topic in made.topics
        if topic.partitions > least[topic.name]
    )
