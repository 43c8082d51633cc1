"""A TCP proxy on loopback that delays every byte, in each direction."""

from __future__ import annotations

import collections
import contextlib
import socket
import threading
import time
from collections.abc import Iterator

CHUNK = 1 << 18


class DelayingProxy:
    """Listens on a free port and forwards to another, `delay_s` later each way."""

    def __init__(self, target: int, delay_s: float) -> None:
        """Nothing listens before `running`; `target` is a port on loopback."""
        self._target, self._delay_s = target, delay_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        self._serving: list[threading.Thread] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Accept until the end of the block, then close every connection."""
        accepting = threading.Thread(target=self._accept)
        accepting.start()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)  # wakes the accepting thread
            accepting.join()
            self._listener.close()
            self.cut()
            for thread in self._serving:
                thread.join()

    @property
    def address(self) -> str:
        """The address on which it listens."""
        return f"127.0.0.1:{self.port}"

    def cut(self) -> int:
        """Break every connection, losing what is in flight; returns how many there were."""
        broken = 0
        while self._open:
            with contextlib.suppress(OSError):  # it has ended by itself
                self._open.pop().shutdown(socket.SHUT_RDWR)
                broken += 1
        return broken // 2  # a connection has two ends

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._serving.append(threading.Thread(target=self._serve, args=(near,)))
            self._serving[-1].start()

    def _serve(self, near: socket.socket) -> None:
        """Serve one connection, until both directions have ended."""
        target = ("127.0.0.1", self._target)
        with near, contextlib.suppress(OSError), socket.create_connection(target) as far:
            for each in (near, far):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open.append(each)
            ways = ((near, far), (far, near))
            pumps = [threading.Thread(target=self._pump, args=way) for way in ways]
            for pump in pumps:
                pump.start()
            for pump in pumps:
                pump.join()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        """Read without delay; what was read waits in a queue until it is due."""
        if self._delay_s == 0:
            self._copy(source, sink)
            return
        waiting: collections.deque[tuple[float, bytes]] = collections.deque()
        ready = threading.Semaphore(0)
        delivering = threading.Thread(target=self._deliver, args=(waiting, ready, sink))
        delivering.start()
        while data := _read(source):
            waiting.append((time.perf_counter() + self._delay_s, data))
            ready.release()
        waiting.append((0.0, b""))
        ready.release()
        delivering.join()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := _read(source):
                sink.sendall(data)
        _close(sink)

    @staticmethod
    def _deliver(
        waiting: collections.deque[tuple[float, bytes]],
        ready: threading.Semaphore,
        sink: socket.socket,
    ) -> None:
        with contextlib.suppress(OSError):
            while True:
                ready.acquire()
                due_s, data = waiting.popleft()
                if not data:
                    break
                if (left_s := due_s - time.perf_counter()) > 0:
                    time.sleep(left_s)
                sink.sendall(data)
        _close(sink)


def _read(source: socket.socket) -> bytes:
    try:
        return source.recv(CHUNK)
    except OSError:
        return b""


def _close(sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
