"""CustomResourceDefinitions from the models; `python -m trimtab.api.crd DIR` writes them.

Structural schemas have no $ref, no null unions and no numeric exclusiveMinimum, so the JSON
Schema of the models is rewritten: references inlined, optional fields unwrapped, constants turned
into enums, titles dropped. An object whose fields all have defaults gets them as its own default,
so that CEL rules can rely on it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from trimtab.api.common import API_VERSION, GROUP, MAX_NAME_LENGTH, VERSION, cel
from trimtab.api.kinds import (
    CLUSTER_TUNING_POLICY,
    KAFKA_CLUSTER,
    STREAM_PIPELINE,
    TUNING_POLICY,
    Kind,
)
from trimtab.api.quantities import UNIT_KEY, format_duration, format_quantity
from trimtab.api.v1alpha1.kafka import KafkaClusterSpec, KafkaClusterStatus
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.policies import (
    ClusterTuningPolicySpec,
    TuningPolicySpec,
    TuningPolicyStatus,
)
from trimtab.api.v1alpha1.status import StreamPipelineStatus

Schema = dict[str, Any]

NAME_RULES = cel(
    (
        f"self.metadata.name.size() <= {MAX_NAME_LENGTH}",
        f"the name is too long: use at most {MAX_NAME_LENGTH} characters",
    ),
    (
        "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
        "the name is also that of Services and pods: begin with a letter, and use only a-z, 0-9"
        " and -",
    ),
)
"""The names of the children are the name and a suffix, and a Service's is a label of DNS-1035."""

WITH_CHILDREN = (STREAM_PIPELINE, KAFKA_CLUSTER)

_KEPT = (
    "type", "description", "enum", "pattern", "maxLength", "minLength", "minimum", "maximum",
    "maxItems", "minItems", "maxProperties", "format", "required",
)  # fmt: skip


def structural(model: type[BaseModel]) -> Schema:
    """The structural OpenAPI v3 schema of a model."""
    schema = model.model_json_schema(by_alias=True)
    return _convert(schema, schema.get("$defs", {}))


def _convert(node: Schema, defs: Schema) -> Schema:
    if "$ref" in node:
        target = defs[node["$ref"].rsplit("/", 1)[1]]
        return _convert({**target, **{k: v for k, v in node.items() if k != "$ref"}}, defs)
    if "anyOf" in node:
        (inner,) = [option for option in node["anyOf"] if option.get("type") != "null"]
        rest = {k: v for k, v in node.items() if k not in {"anyOf", "default"}}
        return _convert({**inner, **rest}, defs)
    out = {key: node[key] for key in _KEPT if key in node}
    out |= {key: value for key, value in node.items() if key.startswith("x-kubernetes-")}
    out |= _default(node)
    if "const" in node:
        out["enum"] = [node["const"]]
    if "exclusiveMinimum" in node:
        out["minimum"] = node["exclusiveMinimum"]
        out["exclusiveMinimum"] = True
    if "items" in node:
        out["items"] = _convert(node["items"], defs)
    if node.get("properties"):
        required = node.get("required", ())
        out["properties"] = {
            k: _property(v, defs, optional=k not in required) for k, v in node["properties"].items()
        }
    elif isinstance(node.get("additionalProperties"), dict):
        out["additionalProperties"] = _convert(node["additionalProperties"], defs)
    return out


def _property(node: Schema, defs: Schema, *, optional: bool) -> Schema:
    out = _convert(node, defs)
    if optional and "$ref" in node and out.get("type") == "object" and "required" not in out:
        # in full, because the API server checks the rules on the literal default
        fields = out.get("properties", {})
        out["default"] = {k: v["default"] for k, v in fields.items() if "default" in v}
    return out


_FORMATS = {"seconds": format_duration, "bytes": format_quantity}


def _default(node: Schema) -> Schema:
    """The default as written in a manifest: numbers with a unit become strings."""
    if node.get("default") is None:
        return {}
    unit = node.get(UNIT_KEY)
    return {"default": _FORMATS[unit](node["default"]) if unit else node["default"]}


Column = tuple[str, str, str] | tuple[str, str, str, int]
"""Name, type, path, and priority if it is not shown by default."""

_COLUMN = ("name", "type", "jsonPath", "priority")
WIDE = 1
"""Priority of a column of `kubectl get -o wide`."""


def _crd(
    kind: Kind, spec: type[BaseModel], status: type[BaseModel], columns: Sequence[Column],
) -> Schema:  # fmt: skip
    status_schema = structural(status)
    status_schema["default"] = {"observedGeneration": -1}
    conditions = status_schema["properties"]["conditions"]
    conditions |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    conditions.pop("default", None)
    root = {
        "type": "object",
        "required": ["spec"],
        **(NAME_RULES if kind in WITH_CHILDREN else {}),
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": structural(spec),
            "status": status_schema,
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster" if kind.of_cluster else "Namespaced",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": [kind.short],
                "categories": ["trimtab"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        dict(zip(_COLUMN, column, strict=False)) for column in columns
                    ],
                    "schema": {"openAPIV3Schema": root},
                }
            ],
        },
    }


_READY = ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status')
_AGE = ("Age", "date", ".metadata.creationTimestamp")


def stream_pipeline_crd() -> Schema:
    """The CRD of StreamPipeline."""
    return _crd(
        STREAM_PIPELINE, StreamPipelineSpec, StreamPipelineStatus,
        [
            ("Goal", "string", ".status.goal.target"),
            ("Observed", "string", ".status.goal.observed"),
            ("Met", "string", '.status.conditions[?(@.type=="GoalMet")].status'),
            ("Lag", "string", ".status.lag.time"),
            ("Bottleneck", "string", ".status.bottleneck.kind"),
            ("Executors", "integer", ".status.effective.executors"),
            ("Trigger", "string", ".status.effective.trigger"),
            ("Mode", "string", ".status.mode"),
            ("Load", "string", ".status.load", WIDE),
            ("Cores", "integer", ".status.cores", WIDE),
            ("Spent", "string", ".status.cost.coreHours", WIDE),
            ("Reason", "string", '.status.conditions[?(@.type=="Tuning")].reason', WIDE),
            ("Policies", "string", ".status.policies[*].policy", WIDE),
            _READY,
            _AGE,
        ],
    )  # fmt: skip


def kafka_cluster_crd() -> Schema:
    """The CRD of KafkaCluster."""
    return _crd(
        KAFKA_CLUSTER, KafkaClusterSpec, KafkaClusterStatus,
        [
            ("Brokers", "integer", ".status.readyReplicas"),
            ("Bootstrap", "string", ".status.bootstrapServers"),
            _READY,
            _AGE,
        ],
    )  # fmt: skip


_POLICY_COLUMNS = [
    ("Pipelines", "integer", ".status.pipelines"),
    ("Mode", "string", ".spec.mode"),
    ("Priority", "integer", ".spec.priority"),
    _READY,
    _AGE,
]


def tuning_policy_crd() -> Schema:
    """The CRD of TuningPolicy."""
    return _crd(TUNING_POLICY, TuningPolicySpec, TuningPolicyStatus, _POLICY_COLUMNS)


def cluster_tuning_policy_crd() -> Schema:
    """The CRD of ClusterTuningPolicy."""
    spec, status = ClusterTuningPolicySpec, TuningPolicyStatus
    return _crd(CLUSTER_TUNING_POLICY, spec, status, _POLICY_COLUMNS)


def all_crds() -> dict[str, Schema]:
    """All CRDs by file name."""
    crds = (
        stream_pipeline_crd(), kafka_cluster_crd(), tuning_policy_crd(),
        cluster_tuning_policy_crd(),
    )  # fmt: skip
    return {f"{crd['spec']['names']['plural']}.yaml": crd for crd in crds}


def render(crd: Schema) -> str:
    """The CRD as it is stored in `crds/`."""
    header = f"# Generated from the models of {API_VERSION} by `make generate`; do not edit.\n"
    return header + yaml.safe_dump(crd, sort_keys=False, width=100)


def main(folder: str) -> None:
    """Write all CRDs to the folder."""
    for name, crd in all_crds().items():
        (Path(folder) / name).write_text(render(crd))


if __name__ == "__main__":
    main(sys.argv[1])
