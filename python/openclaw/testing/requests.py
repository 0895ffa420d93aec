"""Blocking requests of the control plane itself: health checks, tokens, the first objects.

The standard library's HTTP client does, so that a control plane starts without an event loop.
"""

from __future__ import annotations

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

from openclaw.testing.errors import ControlPlaneError


class RequestError(ControlPlaneError):
    """The server answered with a failure; `code` is the HTTP status."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Requests:
    """Requests to one server on loopback, authenticated by a client certificate."""

    def __init__(self, port: int, authority: Path, certificate: Path, key: Path) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=str(authority))
        self._context.load_cert_chain(certificate, key)

    def send(self, method: str, path: str, body: Any = None, *, timeout: float = 10.0) -> Any:
        """Send one request; returns the parsed answer (text, when it is not JSON).

        Raises RequestError when the server refuses, OSError or http.client.HTTPException when no answer
        comes within `timeout` seconds.
        """
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, context=self._context, timeout=timeout
        )
        try:
            payload = None if body is None else json.dumps(body)
            connection.request(method, path, payload, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read().decode()
        finally:
            connection.close()
        if answer.status >= http.client.MULTIPLE_CHOICES:
            raise RequestError(f"{method} {path}: {answer.status} {content}", answer.status)
        try:
            return json.loads(content)
        except ValueError:
            return content

    def healthy(self, path: str) -> str | None:
        """None when the health check at `path` passes, else what it said."""
        try:
            self.send("GET", path, timeout=5)
        except (RequestError, OSError, http.client.HTTPException) as error:
            return str(error) or type(error).__name__
        return None

    def create(self, path: str, body: Any) -> bool:
        """Create an object; False when there is one of that name."""
        try:
            self.send("POST", path, body)
        except RequestError as error:
            if error.code == http.client.CONFLICT:
                return False
            raise
        return True
