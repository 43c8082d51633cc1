"""Calls of the API server: a limit of time for each, when to repeat one, and what errors mean."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import kubernetes.client
from kubernetes.client.exceptions import ApiException
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
)
from urllib3.exceptions import HTTPError
from urllib3.exceptions import TimeoutError as TookTooLong

from trimtab.errors import (
    BadInputError,
    ConflictError,
    GoneError,
    UnavailableError,
    UnknownKindError,
)

TIMEOUT_S = (5.0, 30.0)  # connect, read
_TRIES = 3
_PATIENCE_S = 5.0
"""If the API server asks for a longer pause, the next tick tries again."""
_SHOWN = 200
"""Characters of an answer that nobody can read."""
_TRANSIENT = {408, 429, 500, 502, 503, 504}


class LimitedClient(kubernetes.client.ApiClient):  # type: ignore[misc]
    """A client whose calls all end, also those that find out what the API server has.

    It repeats none: urllib3 would repeat each four times, and `made` each of these three times.
    """

    def __init__(self) -> None:
        configuration = kubernetes.client.Configuration.get_default_copy()
        configuration.retries = False
        super().__init__(configuration)

    def call_api(self, *what: Any, _request_timeout: Any = None, **how: Any) -> Any:
        """The same, with a limit of time where there is none."""
        return super().call_api(*what, _request_timeout=_request_timeout or TIMEOUT_S, **how)


def made(call: Callable[[], Any]) -> Any:
    """Make a call, repeat it if that may help, and translate its errors into our own.

    Raises:
        UnavailableError: the API server did not answer, or cannot do it now, or something on the
            way has made of its answer what nobody can read.
        ConflictError: the object has changed; GoneError: it is not there.
        BadInputError: the API server refused what was asked; has its words.
    """
    retrying = Retrying(
        stop=stop_after_attempt(_TRIES),
        wait=_pause_s,
        retry=retry_if_exception(_may_heal),
        reraise=True,
    )
    try:
        answer = retrying(call)
    except ApiException as error:
        raise translated(error) from error
    except HTTPError as error:
        raise UnavailableError(f"the API server did not answer: {error}") from error
    except UnicodeDecodeError as error:
        raise UnavailableError(f"the answer is no text, maybe compressed: {error}") from error
    if isinstance(answer, str):  # the client's way to say that it is no JSON
        raise UnavailableError(f"the answer is no JSON: {answer[:_SHOWN]!r}")
    return answer


_JITTER = wait_exponential_jitter(multiplier=0.2, max=2.0)


def _pause_s(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked_s = _retry_after_s(error) if isinstance(error, ApiException) else 0.0
    return max(asked_s, _JITTER(state))


def _retry_after_s(error: ApiException) -> float:
    """Seconds that the API server asks to wait; 0 if it does not."""
    text = str((error.headers or {}).get("Retry-After", ""))
    return float(text) if text.isdigit() else 0.0


def _may_heal(error: BaseException) -> bool:
    if isinstance(error, ApiException):
        return error.status in _TRANSIENT and _retry_after_s(error) <= _PATIENCE_S
    # what has hung for half a minute would keep all other objects waiting
    return isinstance(error, HTTPError) and not isinstance(error, TookTooLong)


def translated(error: ApiException) -> Exception:
    """Our own error for an answer of the API server."""
    if error.status == 409:
        return ConflictError(f"the object has changed: {error.status} {error.reason}")
    if error.status == 422 and _another_uid(error):
        return ConflictError("the object is another one of the same name")
    if error.status in {400, 403, 422}:
        return BadInputError(f"the API server refused: {_words(error)}")
    if error.status == 404 and _details(error).get("name"):
        return GoneError(f"the object no longer exists: {error.reason}")
    if error.status == 404:  # nothing is at the path of its kind
        words = f"the API server answered {error.status} {error.reason}: are the CRDs installed?"
        return UnknownKindError(words)
    return UnavailableError(f"the API server answered {error.status} {error.reason}")


def _another_uid(error: ApiException) -> bool:
    """Whether the uid of an apply is not that of the object: the API server calls it immutable."""
    return any(cause.get("field") == "metadata.uid" for cause in _details(error).get("causes", ()))


def _details(error: ApiException) -> dict[str, Any]:
    """What the API server's Status is about; empty if it says nothing, as of an unknown kind."""
    try:
        return dict(json.loads(error.body)["details"])
    except (ValueError, KeyError, TypeError):
        return {}


def _words(error: ApiException) -> str:
    """The message in the API server's Status, else the whole response."""
    try:
        return str(json.loads(error.body)["message"])
    except (ValueError, KeyError, TypeError):
        return f"{error.reason}: {error.body}"
