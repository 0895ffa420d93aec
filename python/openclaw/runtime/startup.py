"""What a manager says while it begins: when the caches are there, and whether its namespace exists."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw.api.builtin import Namespace
from openclaw.kube.access import may
from openclaw.kube.client import Client
from openclaw.kube.errors import KubeError, NotFound
from openclaw.runtime.informer import Informer
from openclaw.telemetry.logs import Log

__all__ = ["look_for", "tell_when_synced"]

log = Log(__name__)


async def tell_when_synced(informers: Sequence[Informer], client: Client, namespace: str | None) -> None:
    """Wait for every first list, and log how many objects there are of each kind.

    Args:
        informers: of all kinds.
        client: asks for the namespace, see below.
        namespace: the only one that is watched, or None for all. A list in a namespace that does not exist
            is empty, not an error, so where all of them are empty, the namespace is asked for.
    """
    for informer in informers:
        await informer.listwatch.synced.wait()
    counts = [(informer.kind, informer.cache.stats()["objects"]) for informer in informers]
    kinds = [kind.kind for kind, _ in counts]
    log.info(
        "caches synced",
        objects={
            kind.kind if kinds.count(kind.kind) == 1 else kind.qualified: count for kind, count in counts
        },
    )
    if namespace is not None and not any(count for kind, count in counts if kind.namespaced):
        await look_for(namespace, client)


async def look_for(namespace: str, client: Client) -> None:
    """Warn when there is no such namespace; it may come later, so nothing else follows."""
    try:
        # The generated role does not allow this read, and need not.
        if not await may(client, "get", "namespaces", name=namespace):
            return
        await client.get(Namespace.resource, None, namespace)
    except NotFound:
        log.warning(
            "the namespace that is watched does not exist",
            watched=namespace,
            hint="is it spelt right? Once somebody creates it, what is in it is reconciled",
        )
    except (KubeError, ValueError, AttributeError) as error:
        # A proxy may answer anything; this is a courtesy.
        log.debug("whether the namespace exists is not known", watched=namespace, error=str(error))
