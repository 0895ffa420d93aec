"""Who asked for what: the last requests, for tests that count them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from openclaw.testing.cluster.request import Request
from openclaw.testing.cluster.routing import Target

__all__ = ["Asked", "Audit"]

_KEPT: Final = 100_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was answered.

    Attributes:
        resource: plural and group, with the subresource: `deployments.apps/status`.
        code: of the answer.
    """

    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int


class Audit:
    """The last requests, oldest first.

    Args:
        log: a file that gets each as a line, as kube-apiserver's audit log has it; None for no file.
    """

    def __init__(self, log: Path | None = None) -> None:
        self._asked: deque[Asked] = deque(maxlen=_KEPT)
        self._number = 0
        self._log = log

    def record(self, target: Target, request: Request, verb: str, code: int) -> None:
        """Keep a request."""
        resource = target.resource.qualified
        if target.subresource:
            resource = f"{resource}/{target.subresource}"
        user = request.user.name
        self._asked.append(Asked(user, verb, resource, target.namespace, target.name, code))
        if self._log is not None:
            self._write(self._log, target, request, verb, code)

    def _write(self, log: Path, target: Target, request: Request, verb: str, code: int) -> None:
        self._number += 1
        reference = {
            "apiGroup": target.resource.group,
            "apiVersion": target.version.name,
            "resource": target.resource.plural,
            "subresource": target.subresource,
            "namespace": target.namespace,
            "name": target.name,
        }
        event = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": str(self._number),
            "stage": "ResponseStarted" if verb == "watch" else "ResponseComplete",
            "requestURI": request.path,
            "verb": "patch" if verb == "apply" else verb,
            "user": {"username": request.user.name, "groups": list(request.user.groups)},
            "userAgent": request.user_agent,
            "objectRef": {key: value for key, value in reference.items() if value},
            "responseStatus": {"metadata": {}, "code": code},
        }
        with log.open("ab") as lines:
            lines.write(orjson.dumps(event) + b"\n")

    def __iter__(self) -> Iterator[Asked]:
        return iter(list(self._asked))

    def __len__(self) -> int:
        return len(self._asked)

    def counts(self, user: str | None = None) -> Counter[tuple[str, str]]:
        """How often each (verb, resource) was asked for, by one user or by all."""
        return Counter((one.verb, one.resource) for one in self._asked if user in {None, one.user})

    def clear(self) -> None:
        """Forget them."""
        self._asked.clear()
