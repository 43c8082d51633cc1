"""What a pipeline's spec says, beside what the tuner has learned; and the latter as a patch."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from trimtab.api.common import API_VERSION
from trimtab.api.kinds import STREAM_PIPELINE
from trimtab.api.knobs import ALL_KNOBS, Knob, KnobValues
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.cli.manifests import read
from trimtab.cli.rows import columns
from trimtab.errors import BadInputError
from trimtab.ports import Manifest
from trimtab.tuning.controller_state import ControllerState
from trimtab.tuning.knobs import initial_settings
from trimtab.tuning.policy import Policy

HEAD = ("KNOB", "IN GIT", "LEARNED", "")


def diff(manifest: Manifest) -> str:
    """Each knob with its value in the spec and the one in force, and whether they differ.

    Raises:
        BadInputError: not a valid StreamPipeline, or no operator has set anything yet.
    """
    spec, status = read(manifest)
    return "\n".join(columns([HEAD, *_rows(spec, _memory(manifest, status))]))


def patch(manifest: Manifest) -> str:
    """A merge patch that lets a new pipeline begin with what this one has learned.

    A running pipeline does not read `tuning.initial` again, so applying it changes nothing there.

    Raises:
        BadInputError: as for `diff`.
    """
    _, status = read(manifest)
    memory, meta = _memory(manifest, status), manifest["metadata"]
    values = KnobValues.of(memory.settings.knob_values().numbers())
    named = {key: meta[key] for key in ("name", "namespace") if key in meta}
    initial = values.model_dump(mode="json", by_alias=True, exclude_none=True)
    document = {
        "apiVersion": API_VERSION,
        "kind": STREAM_PIPELINE.name,
        "metadata": named,
        "spec": {"tuning": {"initial": initial}},
    }
    return yaml.safe_dump(document, sort_keys=False)


def _memory(manifest: Manifest, status: StreamPipelineStatus) -> ControllerState:
    memory = ControllerState.read(status.controller)
    if memory is None:
        raise BadInputError(f"{manifest['metadata']['name']}: no operator has set anything yet")
    return memory


def _rows(spec: StreamPipelineSpec, memory: ControllerState) -> Iterator[tuple[str, str, str, str]]:
    begun = initial_settings(spec, Policy.of(spec)).numbers()
    learned, pinned = memory.settings.numbers(), spec.tuning.pinned
    fixed = pinned.numbers() if pinned else {}
    for knob in ALL_KNOBS:
        git, now = begun.get(knob.name), learned.get(knob.name)
        if git is None and now is None:
            continue
        words = "pinned" if knob.name in fixed else "differs" if git != now else ""
        yield knob.name, _shown(knob, git), _shown(knob, now), words


def _shown(knob: Knob, value: float | None) -> str:
    return "unset" if value is None else knob.format(value)
