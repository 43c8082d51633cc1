"""The drivers' own metrics over HTTP: read in parallel, limited in time, size and number.

A driver runs the code of its users, so nothing that it answers is trusted: it can hold up its own
pipeline and no other.
"""

from __future__ import annotations

import io
import logging
import math
import socket
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from http.client import HTTPException, HTTPResponse
from typing import Any, cast

from prometheus_client.parser import text_string_to_metric_families

from trimtab.api.figure import PREFIX
from trimtab.api.listening import METRICS_PORT
from trimtab.errors import UnavailableError
from trimtab.http import METRICS, Deadlined
from trimtab.ports import Name, Sample

log = logging.getLogger(__name__)

READ_S = 1.0
"""Seconds for one driver's whole answer; one takes some milliseconds."""
ROUND_S = 1.5
"""Seconds for all of them."""
WORKERS = 16
"""Drivers that are read at once."""
MAX_DRIVERS = 100
"""Of more, none is read: parsing their answers would take the operator's whole time."""
MAX_BYTES = 1 << 20
"""Most bytes of one answer: a driver with a thousand partitions needs a fifth of it."""


class DriverEndpoints:
    """The metrics endpoints of drivers."""

    def __init__(self, port: int = METRICS_PORT) -> None:
        self._port = port
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="trimtab-read")

    def read(self, addresses: Mapping[Name, str]) -> Mapping[Name, list[Sample] | str]:
        """What each driver says of itself, or why it says nothing; never raises."""
        if len(addresses) > MAX_DRIVERS:
            why = f"there are {len(addresses)} drivers, and at most {MAX_DRIVERS} are read"
            return dict.fromkeys(addresses, why)
        asked = {name: self._pool.submit(self._one, ip) for name, ip in addresses.items()}
        wait(asked.values(), ROUND_S)
        return {name: _of(future) for name, future in asked.items()}

    def _one(self, address: str) -> list[Sample]:
        try:
            body = self._get(address)
        except TimeoutError:
            raise UnavailableError(f"did not answer in {READ_S:g} s") from None
        except (OSError, HTTPException) as error:
            words = str(error)[:300] or type(error).__name__
            raise UnavailableError(f"did not answer: {words}") from None
        if len(body) > MAX_BYTES:
            raise UnavailableError(f"answered more than {MAX_BYTES >> 20} MiB")
        return _samples(body)

    def _get(self, address: str) -> bytes:
        """The body of the answer, at most one byte more than allowed."""
        with socket.create_connection((address, self._port), READ_S) as connection:
            connection.sendall(_request(address))
            answer = HTTPResponse(cast("Any", _Limited(connection)))
            with answer:
                answer.begin()
                if answer.status != 200:
                    raise UnavailableError(f"answered {answer.status}")
                return answer.read(MAX_BYTES + 1)


class _Limited:
    """A connection whose answer must be complete within the limit, as `HTTPResponse` reads it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def makefile(self, _mode: str) -> io.BufferedReader:
        """What comes in."""
        return io.BufferedReader(Deadlined(self._connection, READ_S))


def _request(address: str) -> bytes:
    host = f"[{address}]" if ":" in address else address
    lines = (
        f"GET {METRICS} HTTP/1.1", f"Host: {host}", "Accept: text/plain;version=0.0.4",
        "Connection: close", "", "",
    )  # fmt: skip
    return "\r\n".join(lines).encode()


def _of(future: Future[list[Sample]]) -> list[Sample] | str:
    if not future.done():
        future.cancel()
        return f"was not read in {ROUND_S:g} s"
    try:
        return future.result()
    except UnavailableError as error:
        return str(error)


def _samples(body: bytes) -> list[Sample]:
    """The finite numbers of our own figures."""
    try:
        ours = (line for line in body.decode().splitlines() if line.startswith(PREFIX))
        found = list(text_string_to_metric_families("\n".join(ours)))
    except Exception as error:  # whatever the parser makes of a text that somebody made up
        log.debug("no metrics: %s", error)
        raise UnavailableError("answered something other than metrics") from None
    return [
        Sample(sample.labels | {"__name__": sample.name}, sample.value)
        for family in found
        for sample in family.samples
        if math.isfinite(sample.value)
    ]
