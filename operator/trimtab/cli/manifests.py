"""StreamPipelines in what a command is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import ValidationError

from trimtab.api.common import faults
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.errors import BadInputError
from trimtab.ports import Manifest


def read(manifest: Manifest) -> tuple[StreamPipelineSpec, StreamPipelineStatus]:
    """Spec and status of an object.

    Raises:
        BadInputError: not a valid StreamPipeline; says what is wrong.
    """
    try:
        status = StreamPipelineStatus.model_validate(manifest.get("status") or {})
        spec = StreamPipelineSpec.model_validate(manifest["spec"])
        _ = manifest["metadata"]["name"]
    except ValidationError as error:
        raise BadInputError(f"the StreamPipeline is invalid: {faults(error)}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInputError("not a StreamPipeline: metadata.name and spec are required") from error
    return spec, status


def pipelines_in(text: str, name: str | None, namespace: str | None) -> list[Manifest]:
    """The StreamPipelines of a YAML or JSON text, lists included, by name and namespace if given.

    Raises:
        BadInputError: the text is not YAML, or holds no StreamPipeline.
    """
    ours = [
        m
        for m in objects_in(text)
        if m.get("kind") == "StreamPipeline"
        and name in {None, (m.get("metadata") or {}).get("name")}
        and namespace in {None, (m.get("metadata") or {}).get("namespace")}
    ]
    if not ours:
        raise BadInputError(f"there is no StreamPipeline{f' {name!r}' if name else ''} in the file")
    return ours


def objects_in(text: str) -> list[Manifest]:
    """The objects of a YAML or JSON text, those of lists included; raises BadInputError."""
    try:
        return list(_objects(list(yaml.safe_load_all(text))))
    except yaml.YAMLError as error:
        raise BadInputError(f"not YAML or JSON: {error}") from error


def _objects(nodes: list[Any]) -> Iterator[Manifest]:
    for node in nodes:
        if isinstance(node, dict) and isinstance(node.get("items"), list):
            yield from _objects(node["items"])
        elif isinstance(node, dict):
            yield node
