"""The applier against a cache that is fed by hand and an API server that answers as told."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from openclaw._core import Cache
from openclaw.api.builtin import ConfigMap
from openclaw.api.openclaw import OpenClaw
from openclaw.kube.client import Client
from openclaw.kube.errors import Conflict, NotFound
from openclaw.kube.transport import Response, Transport
from openclaw.runtime.apply import Applier
from openclaw.runtime.errors import NotControlled
from openclaw.runtime.informer import Informer, Scope
from openclaw.runtime.ownership import SLOT_LABEL, owner_reference
from openclaw.runtime.predicates import ContentChanged
from openclaw.runtime.queue import Key, Priority

KIND = ConfigMap.resource
ROOT = OpenClaw.from_dict(
    {
        "metadata": {"name": "web", "namespace": "shop", "uid": "11111111-2222-3333-4444-555555555555"},
        "spec": {"frontend": {"image": "a"}, "worker": {"image": "b", "queue": "c:1"}},
    }
)


class Server(Transport):
    """Answers a server-side apply with the intent as an object, a merge patch with the object as patched."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.version = 100
        self.drops: set[str] = set()
        self.before_answer: Callable[[], None] = lambda: None
        self.live: dict[str, Any] = {}
        self.gone = False
        self.refuses = False
        self.root: dict[str, Any] = {"metadata": {"name": "web", "namespace": "shop", "uid": ROOT.uid}}

    async def request(  # type: ignore[override]
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: bytes = b"",
        content_type: str | None = None,
        timeout: float = 0,
    ) -> Response:
        given = orjson.loads(body or b"{}")
        self.sent.append((method, query or {}, given))
        if "/openclaws/" in path:
            if not self.root:
                raise NotFound(404, "NotFound")
            return Response(200, orjson.dumps(self.root))
        if self.gone or (method == "GET" and not self.live):
            raise NotFound(404, "NotFound")
        if method == "GET":
            return Response(200, orjson.dumps(self.live))
        if given.get("metadata", {}).get("resourceVersion") == "1" and (self.live or self.refuses):
            raise Conflict(409, "Conflict")
        self.version += 1
        if content_type == "application/merge-patch+json":
            data = {**self.live["data"], **given["data"]}
            self.live = {
                **self.live,
                "data": {key: value for key, value in data.items() if value is not None},
            }
            (managed,) = self.live["metadata"]["managedFields"]
            for key in data.keys() - self.live["data"].keys():
                managed["fieldsV1"]["f:data"].pop(f"f:{key}", None)  # nobody owns what is not there
        elif method == "PATCH":
            self.live = as_live(given, version=self.version, drops=self.drops)
        self.live.get("metadata", {})["resourceVersion"] = str(self.version)
        answer = orjson.dumps(self.live)
        self.before_answer()
        return Response(200, answer)


def as_live(intent: dict[str, Any], *, version: int, drops: set[str] = frozenset()) -> dict[str, Any]:  # type: ignore[assignment]
    """What a server makes of an intent: its fields, their owner, its bookkeeping; it may drop some data."""
    data = {key: value for key, value in intent["data"].items() if key not in drops}
    fields = {
        "f:data": {f"f:{key}": {} for key in intent["data"]},
        "f:metadata": {
            "f:labels": {f"f:{key}": {} for key in intent["metadata"]["labels"]},
            "f:ownerReferences": {
                f'k:{{"uid":"{item["uid"]}"}}': {} for item in intent["metadata"]["ownerReferences"]
            },
        },
    }
    managed = {"manager": "openclaw", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields}
    metadata = {
        **intent["metadata"],
        "uid": "99999999-2222-3333-4444-555555555555",
        "resourceVersion": str(version),
        "managedFields": [managed],
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


class Bench:
    """An applier, its server and its cache."""

    def __init__(self, scope: Scope = "everything") -> None:
        self.server = Server()
        client = Client(self.server)
        self.informer = Informer(self.server, KIND, field_manager="openclaw", scope=scope)
        self.deltas: list[str] = []
        owner = b'{"owner":{"group":"apps.openclaw.dev","kind":"OpenClaw"}}'
        number = self.informer.subscribe(
            ContentChanged(), owner, Priority.CHILD, lambda delta: self.deltas.append(delta.reason)
        )
        self.applier = Applier(client, {KIND: self.informer}, {KIND: number})

    @property
    def cache(self) -> Cache:
        return self.informer.cache

    @property
    def methods(self) -> list[str]:
        return [method for method, _, _ in self.server.sent]

    def event(self, kind: str, obj: dict[str, Any]) -> None:
        self.server.version += 1
        metadata = {**obj["metadata"], "resourceVersion": str(self.server.version)}
        event = {"type": kind, "object": {**obj, "metadata": metadata}}
        self.feed(event)

    def feed(self, event: dict[str, Any]) -> None:
        self.informer._dispatch(self.cache.feed(orjson.dumps(event) + b"\n"), False)

    async def apply(self, data: dict[str, str], **options: Any) -> Any:
        intent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-page"}, "data": data}
        return await self.applier.apply(ROOT, KIND, intent, **options)


@pytest.fixture
async def bench() -> Bench:
    return Bench()


async def test_a_new_child_is_created_without_force_and_seen_by_the_next_run(bench: Bench) -> None:
    assert (await bench.apply({"a": "1"})).outcome == "created"
    method, query, body = bench.server.sent[0]
    assert (method, query["force"], query["fieldValidation"]) == ("PATCH", "false", "Strict")
    assert body["metadata"]["ownerReferences"] == [owner_reference(ROOT)]
    assert body["metadata"]["namespace"] == "shop"
    assert SLOT_LABEL in body["metadata"]["labels"]
    assert (await bench.apply({"a": "1"})).outcome == "unchanged"
    assert bench.methods == ["PATCH"]


async def test_a_name_that_somebody_took_unseen_is_not_written_to(bench: Bench) -> None:
    theirs = {"name": "web-page", "namespace": "shop", "uid": "theirs", "resourceVersion": "7"}
    bench.server.live = {"metadata": theirs, "data": {"their": "1"}}
    with pytest.raises(NotControlled, match="ConfigMap shop/web-page exists and was not made by this"):
        await bench.apply({"our": "1"})
    assert bench.methods == ["PATCH", "GET"]
    assert bench.server.live["data"] == {"their": "1"}


async def test_a_child_that_the_watch_does_not_see_is_put_right(bench: Bench) -> None:
    made = await bench.apply({"a": "1"})
    bench.event("DELETED", made.live)  # for a watch by label, one that lost its label is gone
    del bench.server.live["metadata"]["labels"]["openclaw.dev/slot"]
    bench.server.sent.clear()
    applied = await bench.apply({"a": "1"})
    assert applied.outcome == "updated"
    assert bench.methods == ["GET", "PATCH", "GET", "PATCH"], "the first one is of the root"
    _, query, sent = bench.server.sent[-1]
    assert query["force"] == "true"
    assert sent["metadata"]["uid"] == made.live["metadata"]["uid"]
    assert "openclaw.dev/slot" in bench.server.live["metadata"]["labels"]


async def test_a_name_that_was_taken_and_is_free_again_is_tried_anew(bench: Bench) -> None:
    bench.server.refuses = True
    with pytest.raises(Conflict, match="ConfigMap shop/web-page was there and is gone again"):
        await bench.apply({"a": "1"})


async def test_a_changed_intent_is_applied_with_force_and_says_what_changed(bench: Bench) -> None:
    await bench.apply({"a": "1"})
    applied = await bench.apply({"a": "2"})
    assert (applied.outcome, applied.paths) == ("updated", ("~ data.a",))
    assert bench.server.sent[1][1]["force"] == "true"
    assert bench.server.sent[1][2]["metadata"]["uid"] == applied.live["metadata"]["uid"], "nobody else's"


async def test_what_the_intent_no_longer_has_is_applied_away(bench: Bench) -> None:
    await bench.apply({"a": "1", "b": "2"})
    applied = await bench.apply({"a": "1"})
    assert (applied.outcome, applied.paths) == ("updated", ("- data.b",))


async def test_what_others_put_beside_ours_stays_unless_the_map_is_wholly_ours(bench: Bench) -> None:
    await bench.apply({"a": "1"})
    bench.server.live["data"]["stray"] = "x"
    bench.event("MODIFIED", bench.server.live)
    assert (await bench.apply({"a": "1"})).outcome == "unchanged"
    applied = await bench.apply({"a": "1"}, exact=("data",))
    assert (applied.outcome, applied.paths, applied.live["data"]) == (
        "updated",
        ("- data.stray",),
        {"a": "1"},
    )
    assert bench.server.sent[-1][2]["data"] == {"stray": None}
    assert (await bench.apply({"a": "1"}, exact=("data",))).outcome == "unchanged"


async def test_what_the_intent_no_longer_has_in_a_map_that_is_wholly_ours_goes_by_one_write(
    bench: Bench,
) -> None:
    await bench.apply({"a": "1", "b": "2"}, exact=("data",))
    applied = await bench.apply({"a": "1"}, exact=("data",))
    assert (applied.outcome, applied.live["data"]) == ("updated", {"a": "1"})
    assert bench.methods == ["PATCH", "PATCH"]


async def test_an_intent_that_the_server_keeps_otherwise_is_not_applied_for_ever(bench: Bench) -> None:
    bench.server.drops = {"b"}
    await bench.apply({"a": "1", "b": "2"})
    assert (await bench.apply({"a": "1", "b": "2"})).outcome == "unchanged"
    assert bench.methods == ["PATCH"]
    await bench.apply({"a": "1", "b": "3"})
    assert bench.methods == ["PATCH", "PATCH"], "another intent is worth a try"
    bench.server.live["data"]["a"] = "drifted"
    bench.event("MODIFIED", bench.server.live)
    assert (await bench.apply({"a": "1", "b": "3"})).outcome == "updated", "and so is another live object"


async def test_a_root_that_is_gone_is_forgotten_and_no_other(bench: Bench) -> None:
    bench.server.drops = {"b"}
    await bench.apply({"a": "1", "b": "2"})
    bench.applier.forget(Key("shop", "we"))  # whose name begins as ours does
    assert (await bench.apply({"a": "1", "b": "2"})).outcome == "unchanged"
    bench.applier.forget(Key("shop", "web"))
    assert (await bench.apply({"a": "1", "b": "2"})).outcome == "updated"


@pytest.mark.parametrize(("scope", "unheard"), [("children", True), ("everything", False)])
async def test_a_former_roots_child_is_left_to_go_and_a_shard_may_not_hear_of_it(
    scope: Scope, unheard: bool
) -> None:
    bench = Bench(scope)
    owner = {**owner_reference(ROOT), "uid": "of-the-former-one"}
    metadata = {"name": "web-page", "namespace": "shop", "uid": "u", "resourceVersion": "7"}
    bench.server.live = {"metadata": {**metadata, "ownerReferences": [owner]}, "data": {}}
    key = Key("shop", "web")
    assert not bench.applier.waits_unheard(key)
    assert (await bench.apply({"a": "1"})).outcome == "terminating"
    assert bench.applier.waits_unheard(key) is unheard
    assert not bench.applier.waits_unheard(key)  # said once
    bench.server.live = {}
    assert (await bench.apply({"a": "1"})).outcome == "created"
    assert not bench.applier.waits_unheard(key)


async def test_a_child_that_is_being_deleted_is_left_to_go(bench: Bench) -> None:
    await bench.apply({"a": "1"})
    bench.server.live["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    bench.event("MODIFIED", bench.server.live)
    assert (await bench.apply({"a": "2"})).outcome == "terminating"
    assert bench.methods == ["PATCH"]


async def test_a_name_that_is_taken_is_refused_and_remembered_until_it_is_free(bench: Bench) -> None:
    metadata = {"name": "web-page", "namespace": "shop", "uid": "77777777-2222-3333-4444-555555555555"}
    bench.event("ADDED", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}})
    with pytest.raises(
        NotControlled, match="ConfigMap shop/web-page exists and was not made by this controller"
    ):
        await bench.apply({"a": "1"})
    assert bench.server.sent == []
    assert bench.applier.released(KIND, "shop", "web-page") == {Key("shop", "web")}
    assert bench.applier.released(KIND, "shop", "web-page") == set()


async def test_a_child_is_deleted_once_by_its_uid(bench: Bench) -> None:
    assert await bench.applier.delete(ROOT, KIND, "shop", "web-page") == "none"
    await bench.apply({"a": "1"})
    assert await bench.applier.delete(ROOT, KIND, "shop", "web-page") == "sent"
    assert await bench.applier.delete(ROOT, KIND, "shop", "web-page") == "going", "the watch has not told yet"
    assert bench.methods == ["PATCH", "DELETE"]
    assert bench.server.sent[1][2]["preconditions"] == {"uid": "99999999-2222-3333-4444-555555555555"}


async def test_a_child_that_went_by_itself_is_no_error(bench: Bench) -> None:
    await bench.apply({"a": "1"})
    bench.server.gone = True
    assert await bench.applier.delete(ROOT, KIND, "shop", "web-page") == "none"


async def test_what_others_control_is_not_deleted(bench: Bench) -> None:
    other = {**owner_reference(ROOT), "name": "other", "uid": "88888888-2222-3333-4444-555555555555"}
    metadata = {
        "name": "web-page",
        "namespace": "shop",
        "uid": "77777777-2222-3333-4444-555555555555",
        "ownerReferences": [other],
    }
    bench.event("ADDED", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    assert await bench.applier.delete(ROOT, KIND, "shop", "web-page") == "none"
    assert bench.server.sent == []


async def test_the_event_of_a_write_that_overtakes_its_answer_runs_nobody(bench: Bench) -> None:
    bench.server.before_answer = lambda: bench.feed({"type": "ADDED", "object": bench.server.live})
    await bench.apply({"a": "1"})
    assert bench.deltas == []


async def test_what_changed_after_the_write_and_before_its_answer_is_told(bench: Bench) -> None:
    def changed() -> None:
        bench.feed({"type": "ADDED", "object": bench.server.live})
        bench.event("MODIFIED", {**bench.server.live, "data": {"a": "drifted"}})

    bench.server.before_answer = changed
    await bench.apply({"a": "1"})
    assert bench.deltas[-1] == "updated"


async def test_a_child_that_is_gone_before_the_answer_is_told(bench: Bench) -> None:
    def deleted() -> None:
        bench.feed({"type": "ADDED", "object": bench.server.live})
        bench.event("DELETED", bench.server.live)

    bench.server.before_answer = deleted
    await bench.apply({"a": "1"})
    assert bench.deltas[-1] == "deleted"
    bench.server.before_answer = lambda: None
    bench.server.live = {}
    assert (await bench.apply({"a": "1"})).outcome == "created"


@pytest.mark.parametrize(
    "root", [{}, {"uid": "another"}, {"uid": ROOT.uid, "deletionTimestamp": "2026-01-01T00:00:00Z"}]
)
async def test_a_child_is_made_again_only_if_its_root_is_still_there(
    bench: Bench, root: dict[str, Any]
) -> None:
    """A root's watch that lags would have us race the garbage collector, as fast as both can."""
    made = await bench.apply({"a": "1"})
    bench.event("DELETED", made.live)
    bench.server.live = {}
    there, bench.server.root = bench.server.root, {"metadata": root} if root else {}
    bench.server.sent.clear()
    with pytest.raises(Conflict, match="OpenClaw shop/web is gone or being deleted: it gets no ConfigMap"):
        await bench.apply({"a": "1"})
    assert bench.methods == ["GET"]
    bench.server.root = there
    assert (await bench.apply({"a": "1"})).outcome == "created"
    bench.event("DELETED", bench.server.live)
    bench.server.live, bench.server.root = {}, {}
    bench.applier.forget(Key("shop", "web"))
    assert (await bench.apply({"a": "1"})).outcome == "created", "nothing is known of it any more"


async def test_another_child_that_changes_meanwhile_is_told(bench: Bench) -> None:
    other = {
        "name": "web-other",
        "namespace": "shop",
        "uid": "77777777-2222-3333-4444-555555555555",
        "ownerReferences": [owner_reference(ROOT)],
    }
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": other, "data": {"a": "1"}}
    bench.server.before_answer = lambda: bench.event("ADDED", obj)
    await bench.apply({"a": "1"})
    assert bench.deltas == ["added"]
