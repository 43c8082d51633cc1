"""What commands read of a cluster, where the client for it is installed."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from trimtab.errors import BadInputError

if TYPE_CHECKING:
    from trimtab.adapters.prometheus import Prometheus

ANSWER_S = 60.0
"""For a query over days."""


def reader(instead: str) -> ModuleType:
    """The adapter that reads pipelines.

    Raises:
        BadInputError: the client is not installed; names what to install, or `instead`, a command
            line that does without.
    """
    return _adapter("pipelines", f", or use {instead}")


def surveyor() -> ModuleType:
    """The adapter that reads what a cluster says of itself; raises like `reader`."""
    return _adapter("survey", "")


def _adapter(name: str, instead: str) -> ModuleType:
    try:
        return import_module(f"trimtab.adapters.{name}")  # a file needs no client
    except ImportError as error:
        raise BadInputError(
            f"{error.name} is not installed: pip install 'trimtab[cli]'{instead}"
        ) from error


def spark_applications(instead: str) -> ModuleType:
    """The adapter that reads SparkApplications; raises like `reader`."""
    return _adapter("spark_applications", f", or use {instead}")


def prometheus(url: str) -> Prometheus:
    """A Prometheus, with the login in the environment if there is one.

    Raises:
        BadInputError: the client is not installed.
    """
    client, clock = _adapter("prometheus", ""), _adapter("clock", "").WallClock()
    user = os.environ.get("TRIMTAB_PROMETHEUS_USERNAME", "")
    login = (user, os.environ.get("TRIMTAB_PROMETHEUS_PASSWORD", "")) if user else None
    made: Prometheus = client.Prometheus(
        url.rstrip("/"), ANSWER_S, clock, lambda _reason, _count: None, login
    )
    return made
