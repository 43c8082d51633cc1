"""Prometheus over HTTP: instant and range queries, limited in time and in size.

Whoever may export metrics decides what is in an answer. A row that is no finite number is counted
and left out; it is never an error, because one tenant's row must not hold up all others.
"""

from __future__ import annotations

import base64
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import requests
from requests.exceptions import RequestException, Timeout

from trimtab.errors import UnavailableError
from trimtab.ports import Clock, Sample
from trimtab.settings import Login

MAX_BYTES = 32 << 20
"""Most bytes of one answer: a thousand pipelines take about 20 MB."""
MAX_ROWS = 200_000
"""Most series of one answer."""

_CHUNK = 1 << 16

Point = tuple[float, float]
"""Seconds since 1970, and a value."""


class Prometheus:
    """One Prometheus server."""

    def __init__(
        self, url: str, timeout_s: float, clock: Clock, skipped: Callable[[str, int], None],
        login: Login | None = None,
    ) -> None:  # fmt: skip
        """`timeout_s` bounds each query; `skipped` counts the rows that are left out, by reason."""
        self._url, self._timeout_s, self._clock, self._login = url, timeout_s, clock, login
        self._skipped = skipped
        # no retries: the next tick asks again, and a tick must not hang
        self._session = requests.Session()

    def query(self, promql: str) -> list[Sample]:
        """All series of an instant query that are finite numbers.

        Raises:
            UnavailableError: no answer in time, too large an answer, or an error instead of data;
                never with the password.
        """
        try:
            rows = self._rows(promql)
        except UnavailableError as error:
            raise UnavailableError(self._hidden(f"Prometheus at {self._url} {error}")) from None
        samples: list[Sample] = []
        left_out: Counter[str] = Counter()
        for row in rows:
            sample = _sample(row)
            if isinstance(sample, str):
                left_out[sample] += 1
            else:
                samples.append(sample)
        for reason, count in left_out.items():
            self._skipped(reason, count)
        return samples

    def range(self, promql: str, start_s: float, end_s: float, step_s: float) -> list[Point]:
        """The one series of a range query, as (seconds since 1970, value); empty if it has none.

        Raises:
            UnavailableError: as for `query`, or there is more than one series.
        """
        asked = {"query": promql, "start": start_s, "end": end_s, "step": step_s}
        try:
            rows = self._rows(promql, "query_range", asked)
            if len(rows) > 1:
                raise UnavailableError(f"has {len(rows)} series of {promql}")
        except UnavailableError as error:
            raise UnavailableError(self._hidden(f"Prometheus at {self._url} {error}")) from None
        try:
            points = [(float(at), float(value)) for at, value in rows[0]["values"]] if rows else []
        except (KeyError, TypeError, ValueError):
            message = f"Prometheus at {self._url} answered something other than points"
            raise UnavailableError(message) from None
        return [(at_s, value) for at_s, value in points if math.isfinite(value)]

    def _rows(
        self, promql: str, path: str = "query", asked: Mapping[str, Any] | None = None
    ) -> list[Any]:
        status, body = self._get(path, asked or {"query": promql})
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        told = answer if isinstance(answer, dict) else {}
        if status != 200 or told.get("status") != "success":
            words = f": {str(told['error'])[:300]}" if told.get("error") else ""
            if 300 <= status < 400:
                words = ": it redirects, which is not followed; write the address it leads to"
            raise UnavailableError(f"answered {status} without data{words}")
        data = told.get("data")
        rows = data.get("result") if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise UnavailableError("answered something other than series")
        if len(rows) > MAX_ROWS:
            raise UnavailableError(f"answered {len(rows)} series, more than {MAX_ROWS}")
        return rows

    def _get(self, path: str, asked: Mapping[str, Any]) -> tuple[int, bytes]:
        """Status and body of the answer to a query."""
        try:
            with self._session.get(
                f"{self._url}/api/v1/{path}",
                params=asked,
                auth=self._login,
                timeout=self._timeout_s,
                stream=True,
                headers={"Accept-Encoding": "identity"},  # so that the limit is on what is kept
                allow_redirects=False,  # else the login could go elsewhere
            ) as answer:
                return answer.status_code, b"".join(self._limited(answer))
        except RequestException as error:
            cause = _root(error)
            if isinstance(error, Timeout) or isinstance(cause, TimeoutError):
                words = f"did not answer in {self._timeout_s:g} s"
            else:
                words = f"did not answer: {str(cause)[:300] or type(cause).__name__}"
            raise UnavailableError(words) from None

    def _limited(self, answer: requests.Response) -> Iterator[bytes]:
        started_s, size = self._clock.now(), 0
        for chunk in answer.iter_content(_CHUNK):
            size += len(chunk)
            if size > MAX_BYTES:
                raise UnavailableError(f"answered more than {MAX_BYTES >> 20} MiB")
            if self._clock.now() - started_s > self._timeout_s:
                raise UnavailableError(f"did not finish its answer in {self._timeout_s:g} s")
            yield chunk

    def _hidden(self, text: str) -> str:
        """The text without the password, whoever wrote it there."""
        if self._login is None or not self._login[1]:
            return text
        user, password = self._login
        sent = base64.b64encode(f"{user}:{password}".encode()).decode()
        for secret in (sent, quote(password, safe=""), password):
            text = text.replace(secret, "***")
        return text


def _sample(row: Any) -> Sample | str:
    """A row of an answer, or why it is none."""
    if not isinstance(row, dict):
        return "malformed"
    if "histogram" in row and "value" not in row:
        return "histogram"
    labels, value = row.get("metric"), row.get("value")
    if not isinstance(labels, dict) or not all(isinstance(v, str) for v in labels.values()):
        return "malformed"
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[1], str):
        return "malformed"
    try:
        number = float(value[1])
    except ValueError:
        return "malformed"
    return Sample(labels, number) if math.isfinite(number) else "not_finite"


def _root(error: BaseException) -> BaseException:
    """The first cause, which lacks the address and the query that the library adds."""
    cause: BaseException | None = error
    while cause is not None:
        error, cause = cause, cause.__cause__ or cause.__context__
    return error
