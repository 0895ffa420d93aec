"""The connections to one API server that share TLS material; replaced whole when that changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from openclaw._core import HttpSession
from openclaw.kube.config import Access, ConfigError

__all__ = ["Session"]


class Session:
    """An HTTP session that ends when it was retired and the last request on it is done.

    Reads the files that `access` names.

    Args:
        access: where the server is, and with what to speak to it.
        user_agent: sent with each request.
        connections: most connections open at once, watches included.

    Raises:
        ConfigError: a certificate or key cannot be read, or is none; an address cannot be used.
    """

    def __init__(self, access: Access, *, user_agent: str, connections: int) -> None:
        tls = access.tls_material()
        try:
            self._http = HttpSession(
                access.server,
                user_agent=user_agent,
                connections=connections,
                authority=tls.authority,
                certificate=tls.certificate,
                key=tls.key,
                verify=tls.verify,
                server_name=access.tls_server_name,
                proxy=access.proxy,
            )
        except ValueError as error:
            raise ConfigError(f"{access.origin}: {error} (server {access.server})") from error
        self._users = 0
        self._retired = False

    @property
    def closed(self) -> bool:
        """Whether it is retired and nothing goes on there."""
        return self._retired and not self._users

    @contextmanager
    def borrowed(self) -> Iterator[HttpSession]:
        """Use it for a request or for a whole watch."""
        self._users += 1
        try:
            yield self._http
        finally:
            self._users -= 1

    def retire(self) -> None:
        """Take no more requests; those in flight, and watches, go on to their end."""
        self._retired = True
        self._http.retire()
