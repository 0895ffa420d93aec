"""No write when nothing changes."""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson

from openclaw.testing.simulation.contracts import Invariant, Request, Violation, World, Write
from openclaw.testing.simulation.invariants.declared import Declared

__all__ = ["NoNeedlessWrites"]

_WRITES: Final = frozenset({"create", "update", "patch", "apply", "delete"})
_QUIET_SECONDS: Final = 30.0
_UNDER_WAY_SECONDS: Final = 5.0
"""How long a request may be on its way. One that comes after its run has failed has nobody to answer to."""
_MANY: Final = 60
_MANY_SECONDS: Final = 10.0
# After these a process knows less than before: it has begun, it has other slots, or a run of it has failed
# and what became of its writes is not known.
_FORGETS: Final = frozenset({"connecting to the API server", "slots gained", "reconcile failed"})
_PASSING: Final = ("waiting as asked", "conflict, running again", "the status could not be written")

_Place = tuple[str, str, str]


class NoNeedlessWrites(Invariant):
    """A shard sends no write that changes nothing, where it can know; and none at all at rest.

    A write that changes nothing is needless where it meets the object as the shard's own last write of it,
    which changed something or not, has left it: the answer has told the shard how the object is, whatever a
    watch that lags tells of before. That holds until the shard has reason to know less: somebody else changes
    the object, the shard starts, gains slots, or a run of it fails, whose writes may have got there or not.
    The status of a child, which others write, is no part of its state.

    Nor does a shard write one object sixty times within ten seconds, whatever changes by it: that is a fight,
    or a run that brings about itself.

    At rest, for half a minute, nothing but Leases is written, unless somebody else has changed something.
    """

    name: Final = "no-needless-writes"

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._met: defaultdict[str, dict[_Place, bytes]] = defaultdict(dict)
        self._forgot: defaultdict[str, float] = defaultdict(float)
        self._times: defaultdict[tuple[str, _Place], deque[float]] = defaultdict(lambda: deque(maxlen=_MANY))
        self._last: Request | None = None
        self._disturbed = float("-inf")

    def on_log(self, world: World, shard: str, record: Mapping[str, Any]) -> None:
        """Learn what a shard can no longer know."""
        message = record.get("message")
        if message in _FORGETS or message in _PASSING:
            self._met[shard].clear()
            self._forgot[shard] = world.now()

    def on_write(self, world: World, write: Write) -> None:
        """Remember when others changed something, and what."""
        if not write.subresource or self._declared.is_root(write.resource):
            for shard in self._met.keys() - {write.actor}:
                self._met[shard].pop((write.resource, write.namespace, write.name), None)
        if not write.resource.startswith(("leases.", "events")) and not self._declared.by_shard(world, write):
            self._disturbed = write.at

    def on_request(self, world: World, request: Request) -> None:
        """Look at a write that has changed nothing; remember how a write has left the object."""
        if request.verb not in _WRITES or request.resource.startswith("leases."):
            return
        self._last = request
        self._count(request)
        if not HTTPStatus.OK <= request.code < HTTPStatus.MULTIPLE_CHOICES:
            return
        live = world.cluster.get(request.resource, request.namespace, request.name)
        if live is None:
            return
        place = request.resource, request.namespace, request.name
        state = self._state(request.resource, live)
        if not request.changed and self._met[request.actor].get(place) == state:
            raise Violation(
                self.name,
                f"{request.actor}: {request.verb} of {'/'.join(place)} changed nothing, "
                "and the shard has been told how the object is",
            )
        if not request.changed or request.at - self._forgot[request.actor] > _UNDER_WAY_SECONDS:
            self._met[request.actor][place] = state

    def _count(self, request: Request) -> None:
        if not request.name:
            return  # Events, which have a name only once they are made
        times = self._times[request.actor, (request.resource, request.namespace, request.name)]
        times.append(request.at)
        if len(times) == _MANY and request.at - times[0] < _MANY_SECONDS:
            raise Violation(
                self.name,
                f"{request.actor} wrote {request.resource} {request.namespace}/{request.name} {_MANY} times "
                f"within {request.at - times[0]:.1f} s, the last time by {request.verb}",
            )

    def _state(self, resource: str, live: Mapping[str, Any]) -> bytes:
        kept = {key: it for key, it in live.items() if key != "status" or self._declared.is_root(resource)}
        kept["metadata"] = {
            key: it
            for key, it in live["metadata"].items()
            if key not in {"managedFields", "resourceVersion", "generation"}
        }
        return hashlib.blake2b(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()

    def at_rest(self, world: World) -> None:
        """Nobody has written for a while."""
        last, now = self._last, world.now()
        if last is None or now - last.at > _QUIET_SECONDS or now - self._disturbed <= _QUIET_SECONDS:
            return
        raise Violation(
            self.name,
            f"{last.actor} still writes at rest: {last.verb} of {last.resource} "
            f"{last.namespace}/{last.name}, {now - last.at:.1f} s ago",
        )
