"""Whole lists of one collection, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from openclaw.kube.calls import traced_request
from openclaw.kube.selection import Select, Selected
from openclaw.kube.serverfilter import ServerFilter
from openclaw.kube.sink import Sink
from openclaw.kube.transport import Transport

__all__ = ["Lister"]

_TIMEOUT_SECONDS: Final = 120.0


class Lister:
    """Reads lists into a sink.

    Args:
        transport: how the API server is reached.
        path: of the collection.
        sink: gets the pages.
        selectors: query parameters of each request.
        select: what a request says besides for the objects of some slots; None where everything is read.
        page_size: objects a page.
    """

    def __init__(
        self,
        transport: Transport,
        path: str,
        sink: Sink,
        *,
        selectors: Mapping[str, str],
        select: Select | None,
        page_size: int,
    ) -> None:
        self._transport = transport
        self._path = path
        self._sink = sink
        self._selectors = dict(selectors)
        self._select = select
        self._page_size = page_size
        self.server_filter = ServerFilter(sink.stats)

    def selected(self, slots: frozenset[int]) -> Selected:
        """What a list or watch of these slots says, other selectors included."""
        if self._select is None:
            return Selected(self._selectors)
        selected = self._select(slots)
        query = dict(self._selectors)
        for name, value in selected.query.items():
            query[name] = f"{query[name]},{value}" if name in query else value
        return Selected(query, selected.exact)

    async def read(self, slots: frozenset[int]) -> str:
        """Feed all pages of one consistent list; the resourceVersion that they stand for.

        Raises:
            KubeError: a page could not be read.
            ValueError: a page is none.
        """
        selected = self.selected(slots)
        token = ""
        with self.server_filter.listing(exact=selected.exact):
            while True:
                query = {**selected.query, "limit": str(self._page_size)}
                if token:
                    query["continue"] = token
                response = await traced_request(
                    self._transport, "GET", self._path, query=query, timeout=_TIMEOUT_SECONDS
                )
                page = self._sink.feed_list(response.body)
                token = page.continue_token
                if not token:
                    return page.resource_version
