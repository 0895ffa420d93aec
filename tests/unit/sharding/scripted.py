"""A transport that answers from a script, and notes what was asked."""

from __future__ import annotations

from typing import Any

import orjson

from openclaw.kube.transport import Response, Transport


class Scripted(Transport):
    """Gives the next of `answers` to each request; an exception is raised.

    Attributes:
        asked: method, path, query and parsed body of each request.
    """

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[tuple[str, str, dict[str, str], Any]] = []

    async def request(  # type: ignore[override]
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 0,
    ) -> Response:
        self.asked.append((method, path, query or {}, orjson.loads(body) if body else None))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Response(200, answer if isinstance(answer, bytes) else orjson.dumps(answer))
