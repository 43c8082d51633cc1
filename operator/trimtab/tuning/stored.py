"""How the controller's memory is stored: plain values, of this schema or an older one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel


def compact(value: Any) -> Any:
    """Plain values of a dataclass, a model, or what holds them; a None in them is left out."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, Mapping):
        return {k: compact(v) for k, v in value.items() if v is not None}
    return [compact(v) for v in value] if isinstance(value, list | tuple) else value


def known(cls: type, data: dict[str, Any]) -> dict[str, Any]:
    """The part of stored data that a dataclass has fields for."""
    names = {f.name for f in fields(cls)}
    return {k: v for k, v in data.items() if k in names}


def second(data: dict[str, Any]) -> dict[str, Any]:
    """Data of the first schema with the names of the second."""
    trial = data.get("trial")
    return data | {
        "last_input_rate": data.get("last_steady", 0.0),
        "trial": _renamed(trial) if trial else None,
        "verdicts": [_renamed(verdict) for verdict in data.get("verdicts") or ()],
    }


def _renamed(data: dict[str, Any]) -> dict[str, Any]:
    """A trial or a verdict of the first schema."""
    knob = "max-in-flight" if data["knob"] == "max-pending" else data["knob"]
    return data | {"input_rate": data["steady"], "knob": knob}
