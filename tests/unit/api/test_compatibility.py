"""The CRDs take every object that the last release took, and read it the same.

What they refuse on purpose is in `NARROWED`, and in the changelog.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from tests.released import LAST

from trimtab.api.crd import all_crds

Schema = dict[str, Any]

RELEASED = LAST
"""The CRDs of the last release: `make generate` and a copy of crds/ make the next one's."""

DURATIONS = (
    ".spec.goal.latency.target", ".spec.goal.latency.catchUp", ".spec.goal.throughput.catchUp",
    ".spec.drainTimeout", ".spec.tuning.initial.trigger", ".spec.tuning.pinned.trigger",
    ".status.effective.trigger", ".status.recommended.trigger",
)  # fmt: skip
NARROWED = {
    "kafkaclusters.yaml": (
        ": new rule: the name is also that of Services",
        ".spec: new rule: whether there are TLS and logins cannot change",  # of a new field
        ".spec.resources.memory: new rule: write at least 512Mi",
        ".spec.topics[].retentionMs: maximum was None, is 1000000000000",
        ".spec.topics[].retentionMs: new rule: write -1 to keep records forever",
        ".spec.topics[]: new rule: without retentionMs the topic would keep what it has",
        ".spec.topics[]: new rule: without retentionBytes the topic would keep what it has",
        ".spec.topics[].partitions: new rule: Kafka cannot remove partitions",
        ".spec.storage: new rule: storageClassName cannot change",
    ),
    "streampipelines.yaml": (
        ": new rule: the name is also that of Services",
        ".spec.env[]: new rule: write either value",  # value had to be there
        ".spec.transform.python: new rule: write either module",  # it had to be module
        ".spec.transform.python: new rule: args are those of a script",  # a new field
        ".spec.transform: new rule: write exactly one transform",  # wider: jvm is new
        ".spec.sink: new rule: write exactly one sink",  # it had to be kafka
        ".spec.source: new rule: write exactly one source",  # so too
        ".spec: new rule: write exactly one of source and sources",  # source had to be there
        ".spec: new rule: a source has the name of a table",  # of a field that is new
        ".spec: new rule: several sources take",  # so too
        ".spec: new rule: write exactly one of sink and sinks",  # sink had to be there
        ".spec: new rule: the view `result` is what the sinks get",  # of fields that are new
        ".spec: new rule: deadLetters go to a topic of",  # of fields that are new
        ".spec: new rule: a run takes on what waits in a Kafka",  # of fields that are new
        ".spec: new rule: without source.kafka, write a goal of latency",  # so too
        ".spec: new rule: real-time mode needs source.kafka",  # so too
        ".spec: new rule: deadLetters.topic is one of",  # of a field that is new itself
        ".spec: new rule: eventLog.uri is in a folder of the pod",  # so too
        ".spec: new rule: with source.kafka.format, deadLetters.maxPerBatch",  # likewise
        ".spec: new rule: the sink's topic is one of the source's topics",
        ".spec: new rule: limits.cores is less than limits.executors.min needs",
        ".spec: new rule: limits.memory is less than limits.executors.min needs",
        *(
            f".spec.{end}.kafka: new rule: {words}"  # about fields that are new
            for end in ("source", "sink")
            for words in (
                "authentication needs tls",
                "the KafkaCluster says whether there are TLS and logins",
                "the Kafka's listener and the KafkaUser say",
                "write exactly one of cluster",  # wider: strimzi is new
            )
        ),
        ".spec: new rule: limits.topicPartitions is for one topic",  # wider: also of Strimzi
        ".spec.source.kafka: new rule: write either topics",  # topics had to be there
        ".spec.source.kafka.topics: new rule: source.kafka.topics names a topic twice",
        ".spec.resources.driver.memory: new rule: write at least 834Mi",
        ".spec.resources.executor.memory: new rule: write at least 834Mi",
        ".spec.source.kafka.startingOffsets: new rule: write latest, earliest, a time",  # wider
        ".spec.env: new rule: env has one name twice",
        ".spec.env[].name: new rule: the name is reserved",
        ".spec.env[]: new rule: write either value",  # which was required
        ".spec.sparkConf: new rule: sparkConf has a key that is none",
        ".spec.sparkConf: new rule: sparkConf has a reserved key",
        ".spec.sparkConf: new rule: sparkConf has a value that refers to a variable",
        *(f"{path}: new rule: write a duration" for path in DURATIONS),
        ".spec.goal.latency.catchUp: the default was 10m, is None",
        ".spec.goal.throughput.catchUp: the default was 10m, is None",
        ".spec.tuning: the default was",
        ".spec.tuning.bounds: the default was",
        ".spec.tuning.bounds: new rule: bounds: lower must be",  # as before, if both are there
        ".spec.tuning.bounds.higher: the default was 0.8, is None",
        ".spec.tuning.bounds.lower: the default was 0.5, is None",
        ".spec.tuning.dwell: the default was",
        ".spec.tuning.dwell.up: the default was 2, is None",
        ".spec.tuning.dwell.down: the default was 6, is None",
    ),
}
"""What the CRDs refuse or read otherwise on purpose, as `breaks` begins to say it.

The profile stands for the bounds, the dwell and the time to catch up that a spec leaves out.
"""

FLOORS = ("minimum", "minLength", "minItems")
CEILINGS = ("maximum", "maxLength", "maxItems", "maxProperties")


def breaks(old: Schema, new: Schema, path: str) -> Iterator[str]:
    """What a schema no longer takes, or takes otherwise."""
    found = (*changed(old, new), *narrower(old, new), *stricter(old, new))
    yield from (f"{path}: {words}" for words in found)
    for name, part in old.get("properties", {}).items():
        if name not in new.get("properties", {}):
            yield f"{path}.{name}: is gone"
        else:
            yield from breaks(part, new["properties"][name], f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(old.get(key), dict):
            yield from breaks(old[key], new.get(key, {}), f"{path}[]")


def changed(old: Schema, new: Schema) -> Iterator[str]:
    for key in ("type", "pattern", "format"):
        if key in new and old.get(key) != new[key]:
            yield f"{key} was {old.get(key)}, is {new[key]}"
    if old.get("default") != new.get("default"):
        yield f"the default was {old.get('default')}, is {new.get('default')}"


def narrower(old: Schema, new: Schema) -> Iterator[str]:
    floors = [(k, new[k]) for k in FLOORS if k in new and new[k] > old.get(k, float("-inf"))]
    longest = max(len(str(v)) for v in old["enum"]) if "enum" in old else float("inf")
    most = {"maxLength": longest} | old
    ceilings = [(k, new[k]) for k in CEILINGS if k in new and new[k] < most.get(k, float("inf"))]
    for key, bound in (*floors, *ceilings):
        yield f"{key} was {old.get(key)}, is {bound}"
    if "enum" in new and (gone := set(old.get("enum", ())) - set(new["enum"])):
        yield f"no longer one of {', '.join(sorted(gone))}"
    if required := set(new.get("required", ())) - set(old.get("required", ())):
        yield f"{', '.join(sorted(required))} is required now"


def stricter(old: Schema, new: Schema) -> Iterator[str]:
    """The CEL rules that are new here, each by its message."""
    key = "x-kubernetes-validations"
    known = {rule["rule"] for rule in old.get(key, ())}
    yield from (f"new rule: {r['message']}" for r in new.get(key, ()) if r["rule"] not in known)


def schema_of(crd: Schema) -> Schema:
    (version,) = crd["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


@pytest.mark.parametrize("name", sorted(path.name for path in RELEASED.glob("*.yaml")))
def test_nothing_that_was_taken_is_refused(name: str) -> None:
    old = schema_of(yaml.safe_load((RELEASED / name).read_text()))
    found = list(breaks(old, schema_of(all_crds()[name]), ""))
    assert [words for words in found if not words.startswith(NARROWED[name])] == []
    idle = [meant for meant in NARROWED[name] if not any(w.startswith(meant) for w in found)]
    assert idle == [], "NARROWED says more than what is narrowed"


def limits(schema: Schema) -> Schema:
    part: Schema = schema["properties"]["spec"]["properties"]["limits"]
    return part


def narrowed(schema: Schema) -> None:
    limits(schema)["properties"]["tasks"]["maximum"] -= 1


def removed(schema: Schema) -> None:
    del limits(schema)["properties"]["tasks"]


def defaulted(schema: Schema) -> None:
    limits(schema)["properties"]["tasks"]["default"] = 3


def required(schema: Schema) -> None:
    limits(schema)["required"] = ["tasks"]


def ruled(schema: Schema) -> None:
    rule = {"rule": "self.tasks > 1", "message": "write more"}
    limits(schema)["x-kubernetes-validations"] = [rule]


@pytest.mark.parametrize("change", [narrowed, removed, defaulted, required, ruled])
def test_a_change_that_breaks_objects_is_seen(change: Callable[[Schema], None]) -> None:
    old = schema_of(all_crds()["streampipelines.yaml"])
    new = copy.deepcopy(old)
    change(new)
    (found,) = breaks(old, new, "")
    assert found.startswith(".spec.limits")
