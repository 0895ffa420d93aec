"""The span of a run: what led to it, which object it is about, how it ended.

The root of each trace is a CONSUMER span named by controller and kind, as KEP-5915 has it: it has no parent
but links, to whatever changed the object, a child of it, or asked for the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson

from openclaw._core import slot
from openclaw.api.kinds import ResourceKind
from openclaw.api.resource import CustomResource
from openclaw.runtime.errors import ErrorClass
from openclaw.runtime.informer import OWNER_INDEX, Delta, Informer
from openclaw.runtime.queue import Priority, Work
from openclaw.sharding.fence import Fence
from openclaw.telemetry.spans import (
    TRACEPARENT_ANNOTATION,
    Attribute,
    Link,
    NoSpan,
    Span,
    SpanContext,
    SpanKind,
    current_span,
    parse_traceparent,
)
from openclaw.telemetry.tracing import Tracer

__all__ = ["Cause", "RunSpans", "asked_by_this_run"]

_CHILDREN_SEARCHED: Final = 64
_HAND_OVER: Final = "hand-over"
_ANNOTATED: Final = "annotation"
_ANNOTATION: Final = TRACEPARENT_ANNOTATION.encode()
_CONSUMER: Final = SpanKind.CONSUMER
_PRIORITIES: Final = {priority: priority.name.lower() for priority in Priority}
_NOT_FAILURES: Final = frozenset(
    {ErrorClass.CONFLICT, ErrorClass.THROTTLED, ErrorClass.GONE, ErrorClass.FENCED}
)


class Cause(NamedTuple):
    """Why a key was enqueued.

    Attributes:
        reason: in words, `Deployment updated`.
        kind: of the object that changed, and `uid` which one; None where no object did.
        place: its namespace and name, where they are known.
        origin: the span that asked for the run, the list in which the object was found, or the hand-over that
            brought it here.
        link: what `origin` did, where that is not the reason: `hand-over`.
    """

    reason: str
    kind: ResourceKind | None = None
    uid: str = ""
    place: tuple[str, str] | None = None
    origin: SpanContext | None = None
    link: str = ""


def asked_by_this_run(reason: str, delay: float | None = None) -> Cause | None:
    """The cause of a run that the current one asks for; None where that would lead nowhere."""
    root = current_span().root
    if not isinstance(root, Span):
        return None
    if delay is not None:
        root.set("openclaw.requeue_delay", round(delay, 6))
    if not root.sampled and root.error is None:
        return None  # most likely it is not kept
    return Cause(reason, origin=root.context)


class RunSpans:
    """Begins and completes the spans of one controller's runs.

    Args:
        tracer: records them, or not.
        controller: its name.
        root: the kind of its roots.
        informers: the caches of the kinds that it reads.
        fence: of the shard; None where there are no shards.
    """

    def __init__(
        self,
        tracer: Tracer,
        controller: str,
        root: ResourceKind,
        informers: Mapping[ResourceKind, Informer],
        fence: Fence | None = None,
    ) -> None:
        self._fence = fence
        self.tracer = tracer
        self._root = root
        self._informers = informers
        self._name = f"reconcile {controller}/{root.kind}"
        self._attributes: dict[str, Attribute] = {
            "openclaw.controller": controller,
            "openclaw.object.group": root.group,
            "openclaw.object.version": root.version,
            "openclaw.object.kind": root.kind,
        }

    def cause(self, delta: Delta, reason: str, kind: ResourceKind, *, named: bool = False) -> Cause | None:
        """The cause that a delta is; `named` where its key is that of the object that changed."""
        if not self.tracer.enabled:
            return None
        span = current_span()
        origin, link = None, ""
        root = span.root
        # In a run, what the watches have told meanwhile is handed out too: that is none of its doing.
        if (
            isinstance(span, Span)
            and span.sampled
            and isinstance(root, Span)
            and root.kind != SpanKind.CONSUMER
        ):
            origin = span.context
            # A slot that is started on hands out its objects as added, which they were long ago.
            link = _HAND_OVER if span.name.startswith(_HAND_OVER) else ""
        place = (delta.key.namespace, delta.key.name) if named else None
        return Cause(reason, kind, delta.uid, place, origin, link)

    def begin(self, work: Work) -> Span | NoSpan:
        """The span of a run that begins now, linked to the spans of this process that led to it."""
        span = self.tracer.start(self._name, _CONSUMER)
        if isinstance(span, Span):
            known: set[Link] | None = None
            for cause in work.causes:
                if not isinstance(cause, Cause) or cause.origin is None:
                    continue
                link = Link(cause.origin, cause.link or cause.reason)
                # The children of an object come with it in one list or hand-over.
                known = set() if known is None else known
                if link not in known:
                    known.add(link)
                    span.link(*link)
        return span

    def found(self, work: Work, uid: str, annotations: Mapping[str, str] | None) -> None:
        """Link the current run to whoever changed its object, or another one that it is caused by.

        Call it before the run changes anything, with the uid and annotations of its object as it was read.
        """
        span = current_span()
        if not isinstance(span, Span) or not span.sampled:
            return  # of those that are kept all the same, only the object's own is known, see `complete`
        causes = [cause for cause in work.causes if isinstance(cause, Cause)]
        stamp = annotations.get(TRACEPARENT_ANNOTATION) if annotations else None
        if stamp is not None:
            own = next((cause.reason for cause in causes if cause.kind == self._root), _ANNOTATED)
            self._link_once(span, stamp, own)
        for cause in causes:
            kind = cause.kind
            if kind is not None and kind is not self._root and kind != self._root:
                self._link_once(span, self._traceparent_of(cause, uid), cause.reason)

    def failed(self, span: Span | NoSpan, error: Exception, kind: ErrorClass) -> None:
        """Record the error that ended the run; what is tried again by design does not fail the span."""
        if not isinstance(span, Span):
            return
        span.set("openclaw.error_class", kind.value)
        if kind in _NOT_FAILURES:
            span.set("error.type", type(error).__name__)
        else:
            span.fail(error)

    def complete(self, span: Span | NoSpan, work: Work, *, attempt: int, result: str) -> None:
        """Say all that is known at the end, if anybody will ever see it."""
        if not isinstance(span, Span) or not span.settle():
            return
        namespace, name = work.key
        attributes: dict[str, Attribute] = {
            **self._attributes,
            "openclaw.object.namespace": namespace,
            "openclaw.object.name": name,
            "openclaw.attempt": attempt,
            "openclaw.reasons": work.reasons,
            "openclaw.priority": _PRIORITIES[work.priority],
            "openclaw.queue_wait": int(work.waited * 1e6) / 1e6,
            "openclaw.result": result,
        }
        obj, span.subject = span.subject, None  # which waits with it for the exporter
        if isinstance(obj, CustomResource):
            metadata = obj.metadata
            uid = metadata.uid or ""
            attributes["openclaw.object.uid"] = uid
            attributes["openclaw.object.resource_version"] = metadata.resource_version or ""
            if metadata.generation is not None:
                attributes["openclaw.object.generation"] = metadata.generation
            attributes["openclaw.slot"] = slot(uid)
            if self._fence is not None:
                attributes["openclaw.shard"] = self._fence.shard
                attributes["openclaw.ring"] = self._fence.ring
            if not span.sampled and metadata.annotations:
                # Sampled ones were linked before the run could change anything.
                self._link_once(span, metadata.annotations.get(TRACEPARENT_ANNOTATION), _ANNOTATED)
        if span.attributes:
            attributes.update(span.attributes)
        span.attributes = attributes

    def _traceparent_of(self, cause: Cause, root_uid: str) -> str | None:
        """What the object that changed says of who changed it last."""
        informer = self._informers.get(cause.kind) if cause.kind is not None else None
        if informer is None:
            return None
        for metadata in _candidates(informer, cause, root_uid):
            if metadata.get("uid") == cause.uid:
                return _annotation(metadata)
        return None

    @staticmethod
    def _link_once(span: Span, traceparent: str | None, cause: str) -> None:
        context = parse_traceparent(traceparent) if traceparent else None
        if context is None or not context.sampled:
            return  # nobody has recorded it
        if all(link.context != context for link in span.links or ()):
            span.link(context, cause)


def _candidates(informer: Informer, cause: Cause, root_uid: str) -> Iterator[dict[str, Any]]:
    if cause.place is not None:
        places = [cause.place]
    else:
        places = informer.cache.lookup(OWNER_INDEX, root_uid)[:_CHILDREN_SEARCHED]
    uid = cause.uid.encode()
    for namespace, name in places:
        stored = informer.cache.get(namespace, name)
        if stored is not None and uid in stored and _ANNOTATION in stored:
            yield orjson.loads(stored)["metadata"]


def _annotation(metadata: Mapping[str, Any]) -> str | None:
    value = (metadata.get("annotations") or {}).get(TRACEPARENT_ANNOTATION)
    return value if isinstance(value, str) else None
