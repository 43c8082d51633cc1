"""`trimtab size`: sizes derived from given figures, or from what a pipeline has learned."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from trimtab.api.quantities import parse_quantity
from trimtab.api.v1alpha1.pipeline import StreamPipelineSpec
from trimtab.api.v1alpha1.status import StreamPipelineStatus
from trimtab.errors import BadInputError
from trimtab.ports import Manifest
from trimtab.sizing.sheet import Figures, sheet
from trimtab.tuning.capacity import learning
from trimtab.tuning.controller_state import ControllerState

BATCH_SHARE = 0.8
"""Target share of the trigger for a batch: it must end before the next one starts."""

MILLISECONDS = {"record_ms": "record_s", "batch_ms": "target_s", "call_ms": "call_s"}
QUANTITIES = {
    "heap": "heap_bytes", "allocated": "allocated_bytes_per_s", "occupied": "occupied_bytes",
}  # fmt: skip
NEEDED = {
    "record_s": "--record-ms", "executors": "--executors", "cores": "--cores",
    "partitions": "--partitions", "record_bytes": "--record-bytes", "target_s": "--batch-ms",
}  # fmt: skip


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The figures of the options that are given, in seconds and bytes.

    Raises:
        BadInputError: a quantity is invalid.
    """
    figures: dict[str, Any] = {}
    for option, value in options.items():
        if value is None:
            continue
        if option in MILLISECONDS:
            figures[MILLISECONDS[option]] = value / 1000
        elif option in QUANTITIES:
            try:
                figures[QUANTITIES[option]] = parse_quantity(value)
            except ValueError as error:
                raise BadInputError(f"--{option}: {error}") from error
        else:
            figures[option] = value
    return figures


def measured(manifest: Manifest) -> dict[str, Any]:
    """The figures that a StreamPipeline's spec and status hold, by the names of `Figures`.

    Raises:
        BadInputError: it is invalid, or nothing has been learned yet.
    """
    try:
        spec = StreamPipelineSpec.model_validate(manifest.get("spec"))
        status = StreamPipelineStatus.model_validate(manifest.get("status") or {})
        memory = ControllerState.from_dict(status.controller or {})
    except (ValidationError, KeyError, TypeError) as error:
        raise BadInputError(
            f"the StreamPipeline has no figures yet, or is invalid: {error}"
        ) from error
    model = learning.at_settings(memory.points, memory.settings, status.partitions)
    if model is None or not status.partitions:
        raise BadInputError("the StreamPipeline has learned nothing yet: use options instead")
    cores = memory.settings.cores or spec.resources.executor.cores
    slots = model.slots(memory.settings.executors * cores)
    return {
        "record_s": model.weight(slots),
        "executors": memory.settings.executors,
        "cores": cores,
        "partitions": status.partitions,
        "target_s": BATCH_SHARE * memory.settings.trigger_s,
    }


def derivation(figures: dict[str, Any]) -> str:
    """Every size with its derivation, one per line.

    Raises:
        BadInputError: a figure is missing or invalid; names the option that sets it.
    """
    missing = [option for name, option in NEEDED.items() if figures.get(name) is None]
    if missing:
        raise BadInputError(f"also give {', '.join(missing)}, or name a pipeline that has run")
    try:
        lines = sheet(Figures(**figures))
    except ValueError as error:
        raise BadInputError(str(error)) from error
    wide = max(len(line.name) for line in lines), max(len(line.value) for line in lines)
    return "\n".join(
        f"{line.name:<{wide[0]}}  {line.value:>{wide[1]}}  {line.derivation}" for line in lines
    )
