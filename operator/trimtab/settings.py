"""The operator's own settings, read once from the environment that the chart fills."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.errors import BadInputError


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """How this operator runs. Times are in seconds."""

    pipeline_image: str
    kafka_image: str
    prometheus_url: str
    namespaces: tuple[str, ...] = ()
    """Empty: all namespaces."""
    tick_s: float = 10.0
    scrape_s: float = 5.0
    metrics_port: int = 9100
    query_timeout_s: float = 5.0
    image_pull_policy: str = "IfNotPresent"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> OperatorSettings:
        """The settings that TRIMTAB_* variables state.

        Raises:
            BadInputError: a variable is missing or is not a number; names it.
        """
        env = os.environ if environment is None else environment
        namespaces = tuple(n for n in env.get("TRIMTAB_NAMESPACES", "").split(",") if n)
        return cls(
            pipeline_image=_text(env, "TRIMTAB_PIPELINE_IMAGE"),
            kafka_image=_text(env, "TRIMTAB_KAFKA_IMAGE"),
            prometheus_url=_text(env, "TRIMTAB_PROMETHEUS_URL"),
            namespaces=namespaces,
            tick_s=_number(env, "TRIMTAB_TICK_SECONDS", 10.0),
            scrape_s=_number(env, "TRIMTAB_SCRAPE_SECONDS", 5.0),
            metrics_port=int(_number(env, "TRIMTAB_METRICS_PORT", 9100)),
            query_timeout_s=_number(env, "TRIMTAB_QUERY_TIMEOUT_SECONDS", 5.0),
            image_pull_policy=env.get("TRIMTAB_IMAGE_PULL_POLICY", "IfNotPresent"),
        )


def _text(env: Mapping[str, str], name: str) -> str:
    value = env.get(name, "")
    if not value:
        raise BadInputError(f"the environment variable {name} is not set; the chart sets it")
    return value


def _number(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError as error:
        raise BadInputError(f"{name}={text!r} is not a number") from error
    if value <= 0:
        raise BadInputError(f"{name}={text!r} must be above zero")
    return value
