"""Collectors of traces that are no use, and one that is."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Collector", "away", "collecting"]


class Collector:
    """When a collector answers.

    Args:
        batches: how many requests it answers, before others are admitted; None for all.
    """

    def __init__(self, batches: int | None = None) -> None:
        self.url = ""
        self._left = batches
        self._turn = threading.Condition()

    def admit(self) -> None:
        """One more request may be answered."""
        with self._turn:
            if self._left is not None:
                self._left += 1
            self._turn.notify_all()

    def let_go(self) -> None:
        """Answer everything, so that nobody waits for it any more."""
        with self._turn:
            self._left = None
            self._turn.notify_all()

    def wait(self) -> None:
        """In a request: until it may be answered."""
        with self._turn:
            self._turn.wait_for(lambda: self._left is None or self._left > 0)
            if self._left is not None:
                self._left -= 1


@contextmanager
def collecting(batches: int | None = None) -> Iterator[Collector]:
    """A collector on loopback, in threads of its own."""
    collector = Collector(batches)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            collector.wait()
            try:
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")
            except OSError:
                pass  # it was waited for no longer

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        collector.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, name="collector", daemon=True).start()
        try:
            yield collector
        finally:
            collector.let_go()
            server.shutdown()


@contextmanager
def away() -> Iterator[Collector]:
    """An address where nobody listens."""
    collector = Collector()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        collector.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    yield collector
