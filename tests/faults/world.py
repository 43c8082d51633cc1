"""A namespace on a real API server, in which a test plays what a cluster has besides.

There are no controllers and no kubelets, so the test makes the pods of StatefulSets, lets Jobs
succeed, and deletes what has lost its owner.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import kubernetes.config
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from tests.histories import told

from trimtab.api.kinds import KINDS
from trimtab.workloads.common import digest

Json = dict[str, Any]
PERSON = "person"
_NUMBER = re.compile(r'(generation[\\": ]+)[0-9]+', re.IGNORECASE)
"""How often a pipeline has been edited."""
PASSING = frozenset({
    "resourceVersion", "uid", "creationTimestamp", "managedFields", "lastTransitionTime",
    "generation", "selfLink", "startTime", "completionTime", "spent", "cost",
})  # fmt: skip
"""What differs between two lives that are the same."""
_HASH = re.compile(r"(?<![0-9a-z])[0-9a-f]{10}(?![0-9a-z])")
"""A hash of what has a uid or the namespace in it."""
_CLUSTER = re.compile(r'(?<="KAFKA_CLUSTER_ID", "value": ")[^"]+')
"""The id of a Kafka cluster, which is one of these hashes."""
_DONE = {
    "succeeded": 1, "uncountedTerminatedPods": {},
    "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:01Z",
    "conditions": [
        {"type": type_, "status": "True", "reason": "x", "message": "x",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for type_ in ("SuccessCriteriaMet", "Complete")
    ],
}  # fmt: skip


class World:
    """The namespace, and what people and controllers do in it."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        client = kubernetes.config.new_client_from_config(str(kubeconfig))
        self._client, self.namespace = DynamicClient(client), namespace
        name = {"metadata": {"name": namespace}}
        self._of("Namespace").create(body={"apiVersion": "v1", "kind": "Namespace"} | name)

    def _of(self, kind: str) -> Any:
        version = KINDS[kind].api_version if kind in KINDS else "v1"
        return self._client.resources.get(api_version=version, kind=kind)

    # what people do

    def apply(self, manifest: Json) -> Json:
        """Apply a manifest as a person does; raises ApiException if it is refused."""
        meta = {"namespace": self.namespace} | manifest["metadata"]
        return _plain(
            self._of(manifest["kind"]).server_side_apply(
                body=manifest | {"metadata": meta}, name=meta["name"], namespace=self.namespace,
                field_manager=PERSON, force_conflicts=True, _request_timeout=30,
            )
        )  # fmt: skip

    def replace(self, manifest: Json) -> Json:
        """Store an object as a whole; raises ApiException if it is refused."""
        resource = self._of(manifest["kind"])
        return _plain(resource.replace(body=manifest, namespace=self.namespace))

    def delete(self, kind: str, name: str) -> None:
        """Delete an object, if it is there."""
        try:
            background = {"propagationPolicy": "Background"}
            self._of(kind).delete(name=name, namespace=self.namespace, body=background)
        except ApiException as error:
            if error.status != 404:
                raise

    def get(self, kind: str, name: str) -> Json | None:
        """An object, or None."""
        try:
            return _plain(self._of(kind).get(name=name, namespace=self.namespace))
        except ApiException as error:
            if error.status == 404:
                return None
            raise

    def all(self, kind: str) -> list[Json]:
        """The objects of a kind."""
        found = _plain(self._of(kind).get(namespace=self.namespace))
        return [dict(item) | {"kind": kind} for item in found["items"]]

    def everything(self) -> dict[str, Json]:
        """All objects of watched kinds, by kind and name."""
        kinds = [kind.name for kind in KINDS.values() if kind.watched]
        return {f"{m['kind']}/{m['metadata']['name']}": m for k in kinds for m in self.all(k)}

    def events(self) -> list[tuple[str, str]]:
        """Reason and message of every Event, sorted."""
        return sorted((e["reason"], e["message"]) for e in self.all("Event"))

    def condition(self, type_: str, name: str = "clicks", kind: str = "StreamPipeline") -> Json:
        """A condition of an object; empty if it has none."""
        status = (self.get(kind, name) or {}).get("status") or {}
        found = (c for c in status.get("conditions") or [] if c["type"] == type_)
        return next((dict(c) for c in found), {})

    # what controllers do

    def play(self) -> bool:
        """One round of all controllers; returns whether there was anything to do."""
        objects = self.everything()
        busy = self._collect(objects)
        for each in objects.values():
            if each["kind"] == "StatefulSet" and not busy:
                busy |= self._serve(each, objects)
            if each["kind"] == "Job" and not (each.get("status") or {}).get("succeeded"):
                self._report(each, _DONE)
                busy = True
        return busy

    def _collect(self, objects: dict[str, Json]) -> bool:
        """The garbage collector."""
        uids = {each["metadata"]["uid"] for each in objects.values()}
        lost = [
            each for each in objects.values()
            for owner in each["metadata"].get("ownerReferences", []) if owner["uid"] not in uids
        ]  # fmt: skip
        for each in lost:
            self.delete(each["kind"], each["metadata"]["name"])
        return bool(lost)

    def _serve(self, owner: Json, objects: dict[str, Json]) -> bool:
        """The StatefulSet controller and the kubelet."""
        meta, spec = owner["metadata"], owner["spec"]
        revision = f"r-{digest(_lasting(spec['template']))}"
        seen = {
            "replicas": spec["replicas"], "observedGeneration": meta["generation"],
            "updateRevision": revision,
        }  # fmt: skip
        busy = bool(seen.items() - (owner.get("status") or {}).items())
        if busy:
            self._report(owner, seen)
        for ordinal in range(spec["replicas"]):
            name = f"{meta['name']}-{ordinal}"
            if f"Pod/{name}" not in objects:
                busy |= self._run(owner, name, revision)
        if not spec["replicas"] and f"Pod/{meta['name']}-0" in objects:
            self.delete("Pod", f"{meta['name']}-0")
            busy = True
        return busy

    def _run(self, owner: Json, name: str, revision: str) -> bool:
        """Make a pod of a StatefulSet, and call it ready; False if an admission refuses it."""
        template = copy.deepcopy(owner["spec"]["template"])
        controller = {"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True}
        controller |= {key: owner["metadata"][key] for key in ("name", "uid")}
        labels = template["metadata"]["labels"] | {"controller-revision-hash": revision}
        meta = template["metadata"] | {
            "name": name, "namespace": self.namespace, "ownerReferences": [controller],
            "labels": labels,
        }  # fmt: skip
        claims = [
            {"name": volume, "persistentVolumeClaim": {"claimName": f"{volume}-{name}"}}
            for each in owner["spec"].get("volumeClaimTemplates") or []
            for volume in (each["metadata"]["name"],)
        ]
        spec = template["spec"] | {"volumes": [*template["spec"].get("volumes", []), *claims]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        try:
            self._of("Pod").create(body=pod, namespace=self.namespace)
        except ApiException as error:
            if error.status not in {403, 422}:
                raise
            return False
        ready = [{"type": "Ready", "status": "True"}]
        self._report(pod, {"phase": "Running", "conditions": ready})
        return True

    def _report(self, manifest: Json, status: Json) -> None:
        self._of(manifest["kind"]).subresources["status"].patch(
            body={"status": status}, name=manifest["metadata"]["name"], namespace=self.namespace,
            content_type="application/merge-patch+json",
        )  # fmt: skip

    def state(self) -> dict[str, Any]:
        """All that lasts of the objects: what two lives that are the same have in common."""
        objects = self.everything()
        text = json.dumps({key: _lasting(told(each)) for key, each in objects.items()})
        for key, each in objects.items():
            text = text.replace(each["metadata"]["uid"], f"uid of {_HASH.sub('HASH', key)}")
        text = _CLUSTER.sub("HASH", text.replace(self.namespace, "NAMESPACE"))
        kept: dict[str, Any] = {}
        for key, each in json.loads(text).items():
            kept[_another(_HASH.sub("HASH", key), kept)] = json.loads(
                _HASH.sub("HASH", json.dumps(each))
            )
        return kept


def shape(state: dict[str, Any]) -> dict[str, Any]:
    """Of a state what does not count edits: what is asked for, and the conditions."""
    return {key: _numbered(_asked(each)) for key, each in state.items()}


def _asked(each: Json) -> Json:
    if "decisions" in each:
        return {}  # a history grows with each edit
    conditions = (each.get("status") or {}).get("conditions") or []
    said = sorted((c["type"], c["status"], c.get("reason", "")) for c in conditions)
    return {key: part for key, part in each.items() if key != "status"} | {"conditions": said}


def _numbered(each: Json) -> Json:
    text = _NUMBER.sub(lambda found: found[1] + "0", json.dumps(each))
    kept: Json = json.loads(text)
    return kept


def _plain(answer: Any) -> Json:
    return dict(answer.to_dict())


def _lasting(node: Any) -> Any:
    if isinstance(node, list):
        return [_lasting(item) for item in node]
    if isinstance(node, dict):
        return {key: _lasting(item) for key, item in node.items() if key not in PASSING}
    return node


def _another(name: str, names: Container[str]) -> str:
    """A name that is not among those."""
    while name in names:
        name += "'"
    return name


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two trees differ, and how."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from differences(one.get(key), other.get(key), f"{path}/{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (this, that) in enumerate(zip(one, other, strict=True)):
            yield from differences(this, that, f"{path}/{place}")
    elif one != other:
        yield f"{path}: {one!r} here, {other!r} there"
