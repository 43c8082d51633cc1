"""A proxy between the operator and a real API server, which makes faults on request.

It speaks plain HTTP to the operator, on a free port of the loopback address, and passes on the
operator's own credentials. It runs in a thread of its own; tests talk to it from theirs.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import threading
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import yaml
from aiohttp import web
from tests.faults.calls import Call
from tests.faults.rules import HANG, LOST, Disorder, Fault

HANG_STEP_S = 0.05
START_S = 10.0
_PASSED = ("Authorization", "Accept", "Content-Type", "User-Agent")


Result = TypeVar("Result")


class Proxy:
    """One proxy. `writes` are the mutating calls that the API server has done."""

    def __init__(self, kubeconfig: Path) -> None:
        cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
        self._server = cluster["server"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._tls = ssl.create_default_context(cadata=authority)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._session: aiohttp.ClientSession | None = None
        self.url = ""
        self.calls: list[Call] = []
        self.writes: list[Call] = []
        self.faults: list[Fault] = []
        self.disorders: list[Disorder] = []
        self.after_write: Callable[[int], None] = lambda _: None
        """Told the number of each write when it is done and not yet answered."""
        self._lists: dict[str, tuple[Call, dict[str, str]]] = {}
        self._old: dict[str, bytes] = {}
        self._stale: list[Call] = []

    # what tests do

    @contextmanager
    def fault(self, fault: Fault) -> Iterator[Fault]:
        """A fault for as long as the block runs."""
        self.faults.append(fault)
        try:
            yield fault
        finally:
            self.faults.remove(fault)

    @contextmanager
    def disorder(self, disorder: Disorder) -> Iterator[Disorder]:
        """A disorder of watches for as long as the block runs; late events come after it."""
        self.disorders.append(disorder)
        try:
            yield disorder
        finally:
            self.disorders.remove(disorder)

    def past(self, resources: Collection[str]) -> dict[str, bytes]:
        """What the lists of some resources are now, by the path with which they were requested."""
        return self._run(self._now(resources))

    @contextmanager
    def in_the_past(self, lists: Mapping[str, bytes]) -> Iterator[list[Call]]:
        """Answer the next request for each list with what it was; gives those that were."""
        self._old, self._stale = dict(lists), []
        try:
            yield self._stale
        finally:
            self._old = {}

    def forget_writes(self) -> None:
        """Count writes from one again."""
        self.writes.clear()

    # the thread

    def start(self) -> None:
        """Listen, and serve in a thread."""
        self._thread.start()
        self._run(self._begin())

    def stop(self) -> None:
        """Close all connections."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_S)
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(START_S)

    async def _begin(self) -> None:
        self._session = aiohttp.ClientSession(
            self._server, connector=aiohttp.TCPConnector(ssl=self._tls, limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
            headers={"Accept-Encoding": "identity"},  # as the operator's client asks
        )  # fmt: skip
        served = web.Application(client_max_size=1 << 24)
        served.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(served, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _end(self) -> None:
        await self._runner.cleanup()
        if self._session:
            await self._session.close()
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    # one request

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        call = Call.of(request.method, request.path, request.query)
        self.calls.append(call)
        fault = next((each for each in self.faults if each.takes(call)), None)
        if fault is None:
            if call.verb == "watch":
                return await self._watched(request, call)
            return self._aged(request, call) or await self._passed(request, call)
        if isinstance(fault.answer, int):
            return web.json_response(fault.body(), status=fault.answer, headers=fault.headers())
        while fault.answer == HANG and fault in self.faults and _open(request):
            await asyncio.sleep(HANG_STEP_S)
        if fault.answer == LOST:
            await self._passed(request, call)
        return _cut(request)

    def _ask(self, request: web.Request, body: bytes | None = None) -> Any:
        assert self._session
        return self._session.request(
            request.method, request.raw_path, headers=_passed_on(request), data=body,
            allow_redirects=False,
            skip_auto_headers=["Content-Type"],  # whoever sends none means JSON
        )  # fmt: skip

    async def _passed(self, request: web.Request, call: Call) -> web.Response:
        async with self._ask(request, await request.read() or None) as answer:
            body = await answer.read()
        if call.verb == "list" and not call.query.get("continue"):
            self._lists[request.raw_path] = call, _passed_on(request)
        if call.mutates and answer.status < 300:
            self.writes.append(call)
            self.after_write(len(self.writes))
        return web.Response(
            status=answer.status, body=body, content_type=answer.content_type or None
        )

    # lists of the past

    async def _now(self, resources: Collection[str]) -> dict[str, bytes]:
        assert self._session
        found = {}
        for path, (call, headers) in self._lists.items():
            if call.resource in resources:
                async with self._session.get(path, headers=headers) as answer:
                    found[path] = await answer.read()
        return found

    def _aged(self, request: web.Request, call: Call) -> web.Response | None:
        body = self._old.pop(request.raw_path, None)
        if body is None:
            return None
        self._stale.append(call)
        return web.Response(body=body, content_type="application/json")

    # watches

    async def _watched(self, request: web.Request, call: Call) -> web.StreamResponse:
        async with self._ask(request) as answer:
            if answer.status != 200:
                body = await answer.read()
                return web.Response(
                    status=answer.status, body=body, content_type="application/json"
                )
            stream = web.StreamResponse(headers={"Content-Type": "application/json"})
            await stream.prepare(request)
            with suppress(ConnectionError, aiohttp.ClientError):
                async for line in _lines(answer.content):
                    for sent in await self._disordered(call, line):
                        await stream.write(sent)
                        if json.loads(sent).get("type") == "ERROR":
                            return stream
            return stream

    async def _disordered(self, call: Call, line: bytes) -> list[bytes]:
        for each in list(self.disorders):
            lines = each.lines(call, line)
            if lines is not None:
                await asyncio.sleep(each.delay_s)
                return lines
        return [line]


def _passed_on(request: web.Request) -> dict[str, str]:
    """The headers that the API server gets."""
    return {name: request.headers[name] for name in _PASSED if name in request.headers}


def _open(request: web.Request) -> bool:
    return request.transport is not None and not request.transport.is_closing()


def _cut(request: web.Request) -> web.Response:
    if request.transport:
        request.transport.abort()
    return web.Response()


async def _lines(content: aiohttp.StreamReader) -> Any:
    """The lines of a stream, however long."""
    buffer = b""
    async for data in content.iter_any():
        buffer += data
        *whole, buffer = buffer.split(b"\n")
        for line in whole:
            if line:
                yield line + b"\n"


@contextmanager
def proxied(kubeconfig: Path) -> Iterator[Proxy]:
    """A proxy to the API server of a kubeconfig for as long as the block runs."""
    proxy = Proxy(kubeconfig)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
