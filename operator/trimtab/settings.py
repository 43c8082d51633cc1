"""The operator's own settings, read once from the environment that the chart fills."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast, get_args
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trimtab.api.figures import DRIVER
from trimtab.api.network import NetworkSettings
from trimtab.api.packages import NO_INDEX, PackageIndex
from trimtab.api.pod_user import DEFAULT_USER, PodUser
from trimtab.api.v1alpha1.pod_template import PullPolicy
from trimtab.errors import BadInputError

DEFAULT_PULL_POLICY: PullPolicy = "IfNotPresent"

Login = tuple[str, str]
"""User and password."""

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_MATCHED = frozenset(
    {"__name__", "namespace", "pipeline", "pod", "instance", "container"}
    | {label for figure in DRIVER for label in figure.labels}
)
"""Labels that the operator's own queries match or group by."""

_VALUES = {
    "TRIMTAB_NETWORK_POLICIES": "networkPolicy",
    "TRIMTAB_POD_SECURITY_CONTEXT": "podSecurityContext",
    "TRIMTAB_PRICING": "pricing",
    "TRIMTAB_PYTHON": "python",
}
"""The chart's values that variables with JSON come from."""
M = TypeVar("M", bound=BaseModel)


class Pricing(BaseModel):
    """What is paid for what pods reserve, in any currency; 0: it is not known."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    cpu_hour: float = Field(0.0, alias="cpuHour", ge=0, le=1e6)
    gib_hour: float = Field(0.0, alias="gibHour", ge=0, le=1e6)


FREE = Pricing()


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """How this operator runs. Times are in seconds."""

    pipeline_image: str
    kafka_image: str
    prometheus_url: str
    """Without user and password."""
    prometheus_login: Login | None = field(default=None, repr=False)
    prometheus_matchers: Mapping[str, str] = field(default_factory=dict)
    """Label values that the drivers' series have in a Prometheus that others use too."""
    namespaces: tuple[str, ...] = ()
    """Empty: all namespaces."""
    tick_s: float = 10.0
    scrape_s: float = 5.0
    direct_tick_s: float | None = None
    """Between two quick ticks, which read drivers directly; None: only Prometheus is asked."""
    metrics_port: int = 9100
    query_timeout_s: float = 5.0
    image_pull_policy: PullPolicy = DEFAULT_PULL_POLICY
    image_pull_secrets: tuple[str, ...] = ()
    """Secrets that every pod names, in its own namespace."""
    pod_user: PodUser = DEFAULT_USER
    lease: tuple[str, str] | None = None
    """Namespace and name of the Lease whose holder acts; None: this is the only operator."""
    network: NetworkSettings | None = None
    """None: no NetworkPolicies."""
    pricing: Pricing = FREE
    package_index: PackageIndex = NO_INDEX
    """Where the pods of pipelines get Python packages from."""
    identity: str = ""
    """The name of this operator's pod, which holds the Lease."""

    @property
    def pause_s(self) -> float:
        """Between two ticks of any kind."""
        return self.tick_s if self.direct_tick_s is None else min(self.direct_tick_s, self.tick_s)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> OperatorSettings:
        """The settings that TRIMTAB_* variables state.

        Raises:
            BadInputError: a variable is missing or is not a number; names it.
        """
        env = os.environ if environment is None else environment
        namespaces = _names(env.get("TRIMTAB_NAMESPACES", ""))
        url, login = _address(_text(env, "TRIMTAB_PROMETHEUS_URL"))
        if user := env.get("TRIMTAB_PROMETHEUS_USERNAME", ""):
            login = user, env.get("TRIMTAB_PROMETHEUS_PASSWORD", "")
        return cls(
            pipeline_image=_text(env, "TRIMTAB_PIPELINE_IMAGE"),
            kafka_image=_text(env, "TRIMTAB_KAFKA_IMAGE"),
            prometheus_url=url,
            prometheus_login=login,
            prometheus_matchers=_matchers(env.get("TRIMTAB_PROMETHEUS_MATCHERS", "")),
            namespaces=namespaces,
            tick_s=_number(env, "TRIMTAB_TICK_SECONDS", 10.0),
            scrape_s=_number(env, "TRIMTAB_SCRAPE_SECONDS", 5.0),
            direct_tick_s=_optional(env, "TRIMTAB_DIRECT_TICK_SECONDS"),
            metrics_port=int(_number(env, "TRIMTAB_METRICS_PORT", 9100)),
            query_timeout_s=_number(env, "TRIMTAB_QUERY_TIMEOUT_SECONDS", 5.0),
            image_pull_policy=_pull_policy(env.get("TRIMTAB_IMAGE_PULL_POLICY", "")),
            image_pull_secrets=_names(env.get("TRIMTAB_IMAGE_PULL_SECRETS", "")),
            pod_user=_document(env, "TRIMTAB_POD_SECURITY_CONTEXT", PodUser) or DEFAULT_USER,
            lease=_lease(env),
            network=_document(env, "TRIMTAB_NETWORK_POLICIES", NetworkSettings),
            pricing=_document(env, "TRIMTAB_PRICING", Pricing) or FREE,
            package_index=_document(env, "TRIMTAB_PYTHON", PackageIndex) or NO_INDEX,
            identity=env.get("TRIMTAB_POD_NAME", ""),
        )


def _lease(env: Mapping[str, str]) -> tuple[str, str] | None:
    if not env.get("TRIMTAB_LEASE", ""):
        return None
    return _text(env, "TRIMTAB_POD_NAMESPACE"), env["TRIMTAB_LEASE"]


def _document(env: Mapping[str, str], name: str, model: type[M]) -> M | None:
    """A variable that holds JSON; None if it is not set."""
    text = env.get(name, "")
    try:
        return model.model_validate_json(text) if text else None
    except ValidationError as error:
        where = {".".join(map(str, fault["loc"])) or "the document" for fault in error.errors()}
        raise BadInputError(
            f"{name} is wrong at {', '.join(sorted(where))}: see {_VALUES[name]} in the chart's"
            " values.yaml"
        ) from error


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _pull_policy(text: str) -> PullPolicy:
    for policy in get_args(PullPolicy):
        if policy == (text or DEFAULT_PULL_POLICY):
            return cast("PullPolicy", policy)
    known = ", ".join(get_args(PullPolicy))
    raise BadInputError(f"TRIMTAB_IMAGE_PULL_POLICY={text!r} is not one of {known}")


def _text(env: Mapping[str, str], name: str) -> str:
    value = env.get(name, "")
    if not value:
        raise BadInputError(f"the environment variable {name} is not set; the chart sets it")
    return value


def _optional(env: Mapping[str, str], name: str) -> float | None:
    return _number(env, name, 1.0) if env.get(name, "") else None


def _number(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError as error:
        raise BadInputError(f"{name}={text!r} is not a number") from error
    if value <= 0:
        raise BadInputError(f"{name}={text!r} must be above zero")
    return value


def _address(text: str) -> tuple[str, Login | None]:
    """An address without its user and password, and these; never shows the text."""
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except ValueError:
        url, host, port = urlsplit(""), None, None
    if url.scheme not in {"http", "https"} or not host or url.query or url.fragment:
        raise BadInputError(
            "TRIMTAB_PROMETHEUS_URL is not an address: write http://HOST:PORT or https://HOST/PATH"
        )
    host = f"[{host}]" if ":" in host else host
    shown = f"{url.scheme}://{host}{'' if port is None else f':{port}'}{url.path.rstrip('/')}"
    login = unquote(url.username or ""), unquote(url.password or "")
    return shown, login if any(login) else None


def _matchers(text: str) -> dict[str, str]:
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise BadInputError(
            "TRIMTAB_PROMETHEUS_MATCHERS is not a JSON object of strings:"
            ' write it like {"cluster": "eu-1"}'
        )
    for name in found:
        if not _LABEL.fullmatch(name):
            raise BadInputError(f"TRIMTAB_PROMETHEUS_MATCHERS: {name!r} is not a label name")
        if name in _MATCHED:
            raise BadInputError(
                f"TRIMTAB_PROMETHEUS_MATCHERS: trimtab's queries use the label {name!r}"
                " themselves: choose another one, such as cluster or job"
            )
    return found
