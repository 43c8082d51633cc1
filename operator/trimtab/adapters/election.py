"""Which of several operators acts: the holder of a Lease.

The others watch as well, so that they know the cluster when they take over. Who loses the Lease
ends its process. A process that was stopped for a while, with its node or by a debugger, does not
know yet that it has lost it, so whoever holds it also writes only for `RENEW_S` after a renewal.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import kubernetes.client
import kubernetes.config
from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from trimtab.adapters.calls import translated
from trimtab.adapters.clock import monotonic

log = logging.getLogger(__name__)

LEASE_S, RENEW_S, RETRY_S = 10, 7, 2
"""Seconds that a Lease holds, for which its holder tries to renew it, and between two tries."""
_WRITING = ("create_", "replace_")
_USUAL = {404, 409}
"""Answers that belong to an election: there is no Lease yet, or somebody else was faster."""
_TIMEOUT_S = (2.0, 2.0)  # connect, read: a call that hangs must not outlast the Lease


class Election:
    """A candidate for one Lease."""

    def __init__(self, namespace: str, name: str, identity: str, kubeconfig: str | None) -> None:
        """`identity` tells the candidates apart, such as the name of the pod."""
        if kubeconfig:
            kubernetes.config.load_kube_config(kubeconfig)
        else:
            kubernetes.config.load_incluster_config()
        self._lock = LeaseLock(name, namespace, identity)
        api = kubernetes.client.CoordinationV1Api()
        self._lock.api_instance = _Impatient(api, self._renewed, self._failed)
        self._said = ""
        self._leads = threading.Event()
        self._renewed_s = -math.inf

    @property
    def leads(self) -> bool:
        """Whether this candidate holds the Lease, and has renewed it lately."""
        return self._leads.is_set() and monotonic() - self._renewed_s < RENEW_S

    def start(self, lost: Callable[[], None]) -> threading.Thread:
        """Run for the Lease in a thread; `lost` is called once if it was held and is no longer."""
        logging.getLogger("leaderelection").setLevel(logging.WARNING)  # else a line every 2 s
        config = Config(self._lock, LEASE_S, RENEW_S, RETRY_S, self._won, lambda: None)

        def run() -> None:
            try:
                LeaderElection(config).run()
            except Exception:
                log.exception("the election of the leader failed")
            finally:
                self._leads.clear()
                lost()

        thread = threading.Thread(target=run, name="trimtab-election", daemon=True)
        thread.start()
        return thread

    def _renewed(self, asked_s: float) -> None:
        self._renewed_s, self._said = asked_s, ""

    def _failed(self, error: Exception) -> None:
        """Tell once what is in the way: every try fails alike, and there is one every 2 s."""
        message = f"the Lease {self._lock.namespace}/{self._lock.name} was not had: {error}"
        if message != self._said:
            log.warning(message)
        self._said = message

    def _won(self) -> None:
        log.info("this operator acts now: it holds the Lease")
        self._leads.set()


class _Impatient:
    """An API whose calls have a time limit, and fail in the one way that the election expects."""

    def __init__(
        self, api: Any, wrote: Callable[[float], None], failed: Callable[[Exception], None]
    ) -> None:
        """`wrote` is told of each call that wrote, and when it was made, by the monotonic clock.

        `failed` is told of each error but those that belong to an election.
        """
        self._api, self._wrote, self._failed = api, wrote, failed

    def __getattr__(self, name: str) -> Any:
        return partial(self._call, getattr(self._api, name), name.startswith(_WRITING))

    def _call(self, method: Callable[..., Any], writes: bool, *what: Any, **how: Any) -> Any:
        asked_s = monotonic()
        try:
            answer = method(*what, **how, _request_timeout=_TIMEOUT_S)
        except kubernetes.client.ApiException as error:
            if error.status not in _USUAL:
                self._failed(translated(error))
            raise
        except Exception as error:
            self._failed(error)
            raise kubernetes.client.ApiException(status=0, reason=str(error)) from error
        if writes:
            self._wrote(asked_s)
        return answer
