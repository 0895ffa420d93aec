"""Watches whose bytes go from the socket into a cache, past Python: only what matters is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from openclaw._core import Batch, HttpWatch
from openclaw.kube.errors import Unreachable

__all__ = ["Feed"]


class Feed:
    """One such watch, while it is open.

    Args:
        request: what it is called in errors.
        on_batch: called with each batch that has deltas or an error.
    """

    def __init__(self, request: str, on_batch: Callable[[Batch], None]) -> None:
        self._request = request
        self._on_batch = on_batch
        self._watch: HttpWatch | None = None
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begin(self, watch: HttpWatch) -> None:
        """Follow this watch, which is open."""
        self._watch = watch
        watch.begin()

    @property
    def position(self) -> str | None:
        """The newest resourceVersion that the watch told of."""
        return self._watch.position if self._watch is not None else None

    @property
    def silence(self) -> float | None:
        """Seconds since bytes came; None before the first."""
        return self._watch.silence if self._watch is not None else None

    def catch_up(self) -> None:
        """Hand out what was told and not handed out yet, now."""
        if self._watch is None:
            return
        items, ended, failure = self._watch.take()
        error: Exception | None = None
        for batch in items:
            try:
                self._on_batch(batch)
            except Exception as raised:  # noqa: BLE001 - the cache has all of them: none may go unheard
                error = error or raised
        if error is None and failure is not None:
            error = Unreachable(f"{self._request}: {failure}")
        if self._end.done() or not (ended or error):
            return
        if error is None:
            self._end.set_result(None)
        else:
            self._end.set_exception(error)

    async def ended(self) -> None:
        """Wait until the server ends the watch.

        Raises:
            Unreachable: it broke.
            Exception: whatever `on_batch` raised.
        """
        await self._end

    def stop(self) -> None:
        """Let nothing more into the cache, and hand out what went there before."""
        if self._watch is None:
            return
        self._watch.close()
        self.catch_up()
        if not self._end.cancel() and not self._end.cancelled():
            self._end.exception()  # seen: perhaps nobody waits for it any more
