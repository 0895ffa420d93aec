"""A small client for tests: objects are plain dicts, waiting is watching."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

import orjson
import yaml

from openclaw.api.kinds import ResourceKind
from openclaw.kube.config import ConfigSource
from openclaw.kube.errors import (
    AlreadyExists,
    NotFound,
    ResourceExpired,
    ServiceUnavailable,
    TooManyRequests,
    Unreachable,
    status_error,
)
from openclaw.kube.paths import collection_path, object_path
from openclaw.kube.transport import Response, Transport
from openclaw.testing.discovery import Discovery, Kind, kind_name, kinds_of
from openclaw.testing.errors import ConditionTimeoutError
from openclaw.testing.objects import describe, key, same, selectors

Object = dict[str, Any]
Objects = list[Object]
Events = list[tuple[str, Object]]
Notes = list[str]

_RETRY: Final = 0.1  # seconds between attempts to reach a server that is away
_WATCH_SECONDS: Final = 300
_IN_PASSING: Final = (Unreachable, ResourceExpired, ServiceUnavailable, TooManyRequests, NotFound)


class HasDict(Protocol):
    """An object of `openclaw.api`."""

    def to_dict(self) -> Object:
        """The object as JSON."""


class Client:
    """Reads and writes objects of any kind. Use it as an async context manager, or call `close`.

    A kind is a class of `openclaw.api`, a ResourceKind, or a name such as `Deployment`, `deployments` or
    `Greeting.demo.example.com`. Objects are dicts, or instances of a class of `openclaw.api`; the namespace
    of cluster-scoped objects is None. Refusals are the errors of `openclaw.kube.errors`.

    Args:
        kubeconfig: where the cluster is; None for the current one.
        transport: how it is reached instead, such as that of a `FakeCluster`; it is closed with the client.
        field_manager: the name under which writes own fields.

    Attributes:
        warnings: the texts of the Warning headers received so far.
    """

    def __init__(
        self,
        kubeconfig: str | PathLike[str] | None = None,
        *,
        transport: Transport | None = None,
        field_manager: str = "openclaw-testing",
    ) -> None:
        self.field_manager = field_manager
        self.transport = transport or Transport(ConfigSource(kubeconfig), user_agent="openclaw-testing")
        self.warnings: list[str] = []
        self._discovery = Discovery(self.transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self.transport.close()

    # One object

    async def get(self, kind: Kind, namespace: str | None, name: str) -> Object:
        """The object as it is now; raises NotFound."""
        resource = await self._discovery.find(kind)
        return await self._send("GET", object_path(resource, namespace, name))

    async def create(self, body: Object | HasDict, *, namespace: str | None = None) -> Object:
        """Create an object (in `namespace`, where it names none); raises AlreadyExists or Invalid."""
        resource, body, namespace = await self._prepare(body, namespace)
        query = {"fieldManager": self.field_manager, "fieldValidation": "Strict"}
        return await self._send("POST", collection_path(resource, namespace), query, body)

    async def apply(
        self,
        body: Object | HasDict,
        *,
        namespace: str | None = None,
        force: bool = True,
        subresource: str = "",
    ) -> Object:
        """Server-side apply: create the object, or make it as stated; returns it as it is then."""
        resource, body, namespace = await self._prepare(body, namespace)
        path = object_path(resource, namespace, body["metadata"]["name"], subresource or None)
        query = {"fieldManager": self.field_manager, "force": str(force).lower(), "fieldValidation": "Strict"}
        return await self._send("PATCH", path, query, body, "application/apply-patch+yaml")

    async def apply_yaml(self, file: str | PathLike[str], *, namespace: str = "default") -> Objects:
        """Apply each document of a YAML file; those that name no namespace go to `namespace`."""
        documents = yaml.safe_load_all(Path(file).read_text())
        return [await self.apply(document, namespace=namespace) for document in documents if document]

    async def install_crds(self, *crds: str | PathLike[str] | Object, timeout: float = 30.0) -> None:
        """Apply CustomResourceDefinitions, or files of them, and wait until their kinds are served.

        A definition that is `Established` may not be served yet: the API server looks at it in turns.

        Raises ConditionTimeoutError after `timeout` seconds.
        """
        definitions: Objects = []
        for crd in crds:
            if isinstance(crd, dict):
                definitions.append(await self.apply(crd))
            else:
                definitions += await self.apply_yaml(crd)
        awaited = [kind for crd in definitions for kind in kinds_of(crd)]
        try:
            async with asyncio.timeout(timeout):
                while awaited:
                    if await self._discovery.serves(awaited[0]):
                        del awaited[0]
                    else:
                        await asyncio.sleep(_RETRY)
        except TimeoutError:
            raise ConditionTimeoutError(f"{awaited[0]} is not served within {timeout:g} s") from None

    async def patch(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        change: Mapping[str, Any] | Sequence[Any],
        *,
        subresource: str | None = None,
    ) -> Object:
        """Change an object by a JSON merge patch (a mapping) or a JSON patch (a list of operations)."""
        resource = await self._discovery.find(kind)
        flavour = "merge-patch" if isinstance(change, Mapping) else "json-patch"
        path = object_path(resource, namespace, name, subresource)
        query = {"fieldManager": self.field_manager, "fieldValidation": "Strict"}
        return await self._send("PATCH", path, query, change, f"application/{flavour}+json")

    async def delete(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        *,
        propagation: str = "Background",
        grace_period: int | None = None,
        uid: str | None = None,
    ) -> None:
        """Ask for the deletion of an object, `grace_period` in seconds; raises NotFound.

        With `uid` only if it is that very object; raises Conflict when it is another one.
        """
        resource = await self._discovery.find(kind)
        options: Object = {"propagationPolicy": propagation}
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        await self._send("DELETE", object_path(resource, namespace, name), None, options)

    async def create_subresource(
        self, kind: Kind, namespace: str | None, name: str, subresource: str, body: Object
    ) -> Object:
        """POST to a subresource that makes something, such as `binding`, `eviction` or `token`."""
        resource = await self._discovery.find(kind)
        path = object_path(resource, namespace, name, subresource)
        return await self._send("POST", path, {"fieldManager": self.field_manager}, body)

    # Several

    async def list(
        self, kind: Kind, namespace: str | None = None, *, label_selector: str = "", field_selector: str = ""
    ) -> Objects:
        """The objects of one namespace, or (None) of all; each with its apiVersion and kind."""
        resource = await self._discovery.find(kind)
        items, _ = await self._list(resource, namespace, selectors(label_selector, field_selector))
        return items

    async def follow(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncGenerator[Events]:
        """Every change from now on, for ever, in batches of (ADDED, MODIFIED or DELETED, object).

        The first batch holds what is there, as ADDED. After a broken watch, or while the server is away, this
        lists again: what is there comes as ADDED once more, what has gone as DELETED. Close it (`aclosing`).
        """
        resource = await self._discovery.find(kind)
        query = selectors(label_selector, field_selector)
        async with aclosing(self._follow(resource, namespace, query, [])) as following:
            async for events, _ in following:
                yield events

    async def watch(
        self, kind: Kind, namespace: str | None = None, *, resource_version: str, label_selector: str = ""
    ) -> AsyncGenerator[tuple[str, Object]]:
        """The changes after `resource_version`: ADDED, MODIFIED or DELETED and the object.

        Ends when the server ends the watch (within some minutes); raises ResourceExpired when it no longer
        knows `resource_version`. Close it (`aclosing`).
        """
        resource = await self._discovery.find(kind)
        query = {**selectors(label_selector, ""), "resourceVersion": resource_version}
        async with aclosing(self._events(resource, namespace, query)) as batches:
            async for events in batches:
                for event in events:
                    yield event

    # Waiting

    async def wait_for(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        condition: Callable[[Object], Any],
        timeout: float = 30.0,
    ) -> Object:
        """Wait until the object exists and `condition` of it is true; returns it as it was then.

        A condition that raises LookupError, TypeError or AttributeError is not met (yet): it may read
        fields that are not there before they are set. While the server is away this goes on waiting.

        Raises ConditionTimeoutError after `timeout` seconds, with the object's last state.
        """
        return (
            await self._wait(
                kind,
                namespace,
                {"fieldSelector": f"metadata.name={name}"},
                lambda found: bool(found) and condition(found[0]),
                f"{kind_name(kind)} {namespace}/{name} did not come to the state waited for",
                timeout=timeout,
            )
        )[0]

    async def wait_gone(self, kind: Kind, namespace: str | None, name: str, timeout: float = 30.0) -> None:
        """Wait until there is no such object; raises ConditionTimeoutError after `timeout` seconds."""
        query = {"fieldSelector": f"metadata.name={name}"}
        text = f"{kind_name(kind)} {namespace}/{name} is still there"
        await self._wait(kind, namespace, query, lambda found: not found, text, timeout=timeout)

    async def wait_list(
        self,
        kind: Kind,
        namespace: str | None,
        condition: Callable[[Objects], Any],
        timeout: float = 30.0,
        *,
        label_selector: str = "",
    ) -> Objects:
        """Wait until `condition` of the list of all objects is true, as `wait_for` does; returns it."""
        text = f"the list of {kind_name(kind)} in {namespace or 'all namespaces'} is not as waited for"
        return await self._wait(
            kind, namespace, selectors(label_selector, ""), condition, text, timeout=timeout
        )

    @asynccontextmanager
    async def namespace(
        self, prefix: str = "test", *, labels: Mapping[str, str] | None = None
    ) -> AsyncIterator[str]:
        """A namespace of a unique name with its service account `default`; deleted (unawaited) at the end."""
        name = f"{prefix}-{uuid.uuid4().hex[:10]}"
        metadata = {"name": name, "labels": dict(labels or {})}
        await self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        with suppress(AlreadyExists):  # The controller manager may be faster.
            await self.create(account, namespace=name)
        try:
            yield name
        finally:
            with suppress(NotFound):
                await self.delete("Namespace", None, name)

    # Parts

    async def _prepare(
        self, body: Object | HasDict, namespace: str | None
    ) -> tuple[ResourceKind, Object, str | None]:
        content = body if isinstance(body, dict) else body.to_dict()
        resource = await self._discovery.find_of(content)
        placed = (content["metadata"].get("namespace") or namespace) if resource.namespaced else None
        return resource, content, placed

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Object:
        content = None if body is None else orjson.dumps(body)
        answer = await self.transport.request(
            method, path, query=query, body=content, content_type=content_type
        )
        self._take_warnings(answer)
        parsed: Object = orjson.loads(answer.body)
        return parsed

    def _take_warnings(self, answer: Response) -> None:
        # 299 - "text"
        self.warnings += [header.split('"', 1)[-1].rstrip('"') for header in answer.warnings]

    async def _list(
        self, resource: ResourceKind, namespace: str | None, query: Mapping[str, str]
    ) -> tuple[Objects, str]:
        answer = await self._send("GET", collection_path(resource, namespace), query)
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        return [{**kind, **item} for item in answer["items"]], answer["metadata"]["resourceVersion"]

    async def _events(
        self, resource: ResourceKind, namespace: str | None, query: Mapping[str, str]
    ) -> AsyncGenerator[Events]:
        """The events of a watch, as they arrive together."""
        path = collection_path(resource, namespace)
        query = {**query, "watch": "true", "timeoutSeconds": str(_WATCH_SECONDS)}
        rest = b""
        async with self.transport.stream(path, query=query, idle_timeout=_WATCH_SECONDS + 30) as chunks:
            async for chunk in chunks:
                *lines, rest = (rest + chunk).split(b"\n")
                events = [orjson.loads(line) for line in lines]
                for event in events:
                    if event["type"] == "ERROR":
                        raise status_error(event["object"], request=f"WATCH {path}")
                if events:
                    yield [(event["type"], event["object"]) for event in events]

    async def _follow(
        self, resource: ResourceKind, namespace: str | None, query: Mapping[str, str], notes: Notes
    ) -> AsyncGenerator[tuple[Events, Objects]]:
        """Changes and the objects after them, for ever; `notes` tells the latest trouble."""
        known: dict[tuple[str, str], Object] = {}
        while True:
            try:
                items, version = await self._list(resource, namespace, query)
                before, known = known, {key(item): item for item in items}
                gone = [("DELETED", item) for key, item in before.items() if not same(item, known.get(key))]
                yield [*gone, *(("ADDED", item) for item in items)], list(known.values())
                since = {**query, "resourceVersion": version}
                async with aclosing(self._events(resource, namespace, since)) as batches:
                    async for events in batches:
                        for kind, item in events:
                            known.pop(key(item), None)
                            if kind != "DELETED":
                                known[key(item)] = item
                        yield events, list(known.values())
            except _IN_PASSING as error:
                notes[:] = [str(error)]
                await asyncio.sleep(_RETRY)

    async def _wait(
        self,
        kind: Kind,
        namespace: str | None,
        query: Mapping[str, str],
        condition: Callable[[Objects], Any],
        text: str,
        *,
        timeout: float,
    ) -> Objects:
        resource = await self._discovery.find(kind)
        last: Objects | None = None
        note: Notes = []
        try:
            following = self._follow(resource, namespace, query, note)
            async with asyncio.timeout(timeout), aclosing(following):
                async for _, last in following:
                    note.clear()
                    try:
                        if condition(last):
                            return last
                    except (LookupError, TypeError, AttributeError) as error:
                        note.append(f"the condition raised {error!r}")
        except TimeoutError:
            pass
        raise ConditionTimeoutError(f"{text} within {timeout:g} s; {describe(last, note)}")
