"""The door for other processes: the embedded API server over HTTP or HTTPS, for operators and kubectl."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self
from urllib.parse import parse_qsl

from aiohttp import web

from openclaw.testing.cluster import protobuf
from openclaw.testing.cluster.cluster import FakeCluster
from openclaw.testing.cluster.contracts import User
from openclaw.testing.cluster.faults import ConnectionLost
from openclaw.testing.cluster.request import Answer, Request, failure
from openclaw.testing.cluster.statuses import StatusError, unauthorized
from openclaw.testing.cluster.watching import Watch, WatchBroken
from openclaw.testing.components import Files
from openclaw.testing.credentials import Credentials
from openclaw.testing.kubeconfig import write_kubeconfig

__all__ = ["ClusterServer"]

_LARGEST_BODY: Final = 3 * 2**20
_AUTHENTICATED: Final = "system:authenticated"
_ANONYMOUS: Final = User("system:anonymous", ("system:unauthenticated",))
_ADMINISTRATOR: Final = User()


class ClusterServer:
    """Serves a cluster on loopback. Use it as an async context manager.

    With TLS, clients show a certificate or a token of a service account, as kubeconfigs from here have them.
    Without, everybody is an administrator but who shows a token; kubectl shows none over plain HTTP.

    Args:
        cluster: what is served; it must have been started, and is not stopped.
        tls: speak HTTPS; needs the extra `testing`.
        port: 0 for any that is free.
        folder: where kubeconfigs and certificates are kept; None for one that goes with the server.
    """

    def __init__(
        self, cluster: FakeCluster, *, tls: bool = True, port: int = 0, folder: Path | None = None
    ) -> None:
        self._cluster = cluster
        self._port = port
        self._tls = tls
        self._given = folder
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._credentials: Credentials | None = None
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def folder(self) -> Path:
        """Where kubeconfigs are kept."""
        if self._given is not None:
            return self._given
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="openclaw-cluster-")
        return Path(self._temporary.name)

    @property
    def kubeconfig(self) -> Path:
        """That of an administrator, once started."""
        return self.folder / "admin.kubeconfig"

    async def start(self) -> None:
        """Listen on loopback, and write the administrator's kubeconfig."""
        app = web.Application(client_max_size=_LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        context = await asyncio.to_thread(self._context) if self._tls else None
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, ssl_context=context)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        if self._credentials is not None:
            self._credentials.write_admin(self.url)
        else:
            write_kubeconfig(self.kubeconfig, server=self.url, authority=b"", user={})

    async def stop(self) -> None:
        """Close every connection; kubeconfigs in a folder of the server's own are gone."""
        if self._runner is not None:
            self._cluster.server.watching.end_all(lambda watch: watch.remote)
            await self._runner.cleanup()
            self._runner = None
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    # Who may come in

    def kubeconfig_for(self, user: str, groups: Sequence[str] = (), *, namespace: str = "default") -> Path:
        """Write a kubeconfig that authenticates as `user` by a client certificate; returns its path.

        Raises ValueError without TLS, where nobody is told apart.
        """
        return self._known.write_user(self.url, user, groups, namespace)

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Write a kubeconfig of a service account, which need not be there yet; returns its path.

        Raises ValueError without TLS, where nobody is told apart.
        """
        token = self._cluster.server.extras.issue(namespace, name)
        return self._known.write_token(self.url, name, token, namespace, in_file=False)

    @property
    def _known(self) -> Credentials:
        if self._credentials is None:
            raise ValueError("users are told apart with TLS only: ClusterServer(tls=True), started")
        return self._credentials

    def _context(self) -> ssl.SSLContext:
        # What is in the folder already is used: whoever made it has clients that trust it.
        self._credentials = Credentials(self.folder)
        files = Files(self.folder)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(files.server_certificate, files.server_key)
        context.load_verify_locations(cafile=files.authority)
        context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def _user(self, request: web.Request) -> User:
        """Who asks.

        Raises StatusError (401) for a token that nobody has.
        """
        user = self._authenticated(request)
        wanted = request.headers.get("Impersonate-User")
        if wanted and "system:masters" in user.groups:
            groups = request.headers.getall("Impersonate-Group", [])
            return User(wanted, (*groups, _AUTHENTICATED))
        return user

    def _authenticated(self, request: web.Request) -> User:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            known = self._cluster.server.extras.tokens.get(token.strip())
            if known is None:
                raise unauthorized()
            return known
        if not self._tls:
            return _ADMINISTRATOR
        transport = request.transport
        subject = (transport.get_extra_info("peercert") or {}).get("subject", ()) if transport else ()
        parts = [pair for group in subject for pair in group]
        names = [value for key, value in parts if key == "commonName"]
        if not names:
            return _ANONYMOUS
        groups = tuple(value for key, value in parts if key == "organizationName")
        return User(names[0], (*groups, _AUTHENTICATED))

    # Requests

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            user = self._user(request)
            asked = await self._asked(request, user)
        except StatusError as error:
            return _answered(failure(error))
        try:
            if self._cluster.server.is_watch(asked):
                return await self._watch(request, asked)
            return _answered(await self._cluster.server.handle(asked))
        except StatusError as error:
            return _answered(failure(error))
        except ConnectionLost:
            if request.transport is not None:
                request.transport.close()
            return web.Response(status=500)

    @staticmethod
    async def _asked(request: web.Request, user: User) -> Request:
        body = await request.read()
        content_type = request.headers.get("Content-Type", "").partition(";")[0].strip()
        if content_type == protobuf.CONTENT_TYPE:
            body, content_type = protobuf.to_json(body), "application/json"
        path, _, query = request.raw_path.partition("?")
        return Request(
            method=request.method,
            path=path,
            query=dict(parse_qsl(query, keep_blank_values=True)),
            body=body,
            content_type=content_type,
            accept=", ".join(request.headers.getall("Accept", ["application/json"])),
            user=user,
            user_agent=request.headers.get("User-Agent", ""),
        )

    async def _watch(self, request: web.Request, asked: Request) -> web.StreamResponse:
        server = self._cluster.server
        watch = await server.watch(asked)
        watch.remote = True
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        try:
            await response.prepare(request)
            await self._pump(watch, response)
        except WatchBroken:
            if request.transport is not None:
                request.transport.close()
        except (ConnectionResetError, ConnectionError):
            pass  # The client is gone.
        finally:
            server.watching.close(watch)
        return response

    @staticmethod
    async def _pump(watch: Watch, response: web.StreamResponse) -> None:
        chunks = watch.chunks()
        try:
            async for chunk in chunks:
                await response.write(chunk)
            with suppress(ConnectionResetError):
                await response.write_eof()
        finally:
            await chunks.aclose()


def _answered(answer: Answer) -> web.Response:
    headers = {"Content-Type": answer.content_type}
    if answer.retry_after is not None:
        headers["Retry-After"] = str(answer.retry_after)
    response = web.Response(status=answer.status, body=answer.body, headers=headers)
    for warning in answer.warnings:
        text = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{text}"')
    return response
