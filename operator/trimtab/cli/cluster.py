"""What commands read of a cluster, where the client for it is installed."""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING

from trimtab.errors import BadInputError

if TYPE_CHECKING:
    from trimtab.adapters.prometheus import Prometheus

ANSWER_S = 60.0
"""For a query over days."""


def reader(instead: str) -> ModuleType:
    """The adapter that reads a cluster.

    Raises:
        BadInputError: the client is not installed; names what to install, or `instead`, a command
            line that does without.
    """
    try:
        from trimtab.adapters import pipelines  # noqa: PLC0415 - a file needs no client
    except ImportError as error:
        raise BadInputError(
            f"{error.name} is not installed: pip install 'trimtab[cli]', or use {instead}"
        ) from error
    return pipelines


def prometheus(url: str) -> Prometheus:
    """A Prometheus, with the login in the environment if there is one.

    Raises:
        BadInputError: the client is not installed.
    """
    try:
        from trimtab.adapters.clock import WallClock  # noqa: PLC0415
        from trimtab.adapters.prometheus import Prometheus  # noqa: PLC0415
    except ImportError as error:
        message = f"{error.name} is not installed: pip install 'trimtab[cli]'"
        raise BadInputError(message) from error
    user = os.environ.get("TRIMTAB_PROMETHEUS_USERNAME", "")
    login = (user, os.environ.get("TRIMTAB_PROMETHEUS_PASSWORD", "")) if user else None
    return Prometheus(url.rstrip("/"), ANSWER_S, WallClock(), lambda _reason, _count: None, login)
