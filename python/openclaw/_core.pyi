"""The hot path of openclaw, in Rust: bytes of a watch stream in, keys to enqueue out.

Threads: every object here may be used from any thread. `Cache.feed`, `feed_list`, `commit_relist`,
`abort_relist`, `begin_relist`, `put`, `diff`, `keys`, `lookup` and the function `diff` release the GIL
while they work. The short reads (`get`, `resource_version`, `len`, `stats`, `reset_stream`, `subscribe`,
`add_index`) keep it, unless another thread is in the same cache: then they release it while they wait. No
lock is ever held while Python code runs.

Bad input never raises anything but the documented errors, and never panics.
"""

from typing import Literal, final

__all__ = ["Batch", "Cache", "ListPage", "__version__", "build_profile", "diff", "fnv1a64", "slot"]

__version__: str
"""The version of the package."""

build_profile: str
"""`"release"` or `"debug"`. A benchmark should refuse a debug build."""

def fnv1a64(text: str) -> int:
    """The FNV-1a hash, 64 bits, of a text's UTF-8 form, as the API server's sharded list and watch has it."""

def slot(uid: str) -> int:
    """The slot, 0 to 255, of a root object: the top 8 bits of `fnv1a64(uid)`."""

def diff(intent: bytes, live: bytes, manager: str) -> list[str]:
    """Say what a server-side apply of `intent` by `manager` would change. Empty: nothing.

    `intent` is the object as it would be sent. `live` is the object as `Cache.get` returns it: its
    `managedFields` must hold the manager's own entry (operation Apply, no subresource). Each line is a
    sign, a blank and a path:

    ====  =================================================================================
    `+`   the intent has it, the live object lacks it
    `~`   the live object has another value
    `-`   our entry owns it, the intent has it no more: an apply removes it
    `@`   the live object has the wanted value, but our entry does not own it yet
    ====  =================================================================================

    Paths look like `spec.template.spec.containers[name=web].image`,
    `metadata.labels["app.kubernetes.io/name"]`, `metadata.finalizers["example.com/a"]`, `spec.steps[0]`;
    the topmost path that differs is named, not every leaf below. When the live object has no entry of the
    manager at all, the only line is `metadata.managedFields[manager=…]`.

    Lists are meant as our entry says: `k:` children make a list map (order does not matter; a key that the
    intent omits may have been filled in by the server), `v:` children a set, `i:` children a list by place;
    what is owned as a leaf is compared as a whole. Null and absent are alike. An empty map or list that the
    live object lacks is no difference: the server drops it. Inside an atomic value, fields that the server
    itself adds (such as a port's `protocol: TCP`) are no difference. 1 equals 1.0. Where Kubernetes has
    quantities (values under `limits`, `requests`, `capacity`, `hard`, `allocatable`, in a LimitRange also
    under `default`, `defaultRequest`, `max`, `min`, `maxLimitRequestRatio`, and fields named `sizeLimit`,
    `divisor`, `storage`, `averageValue`) amounts are compared: `"1"` equals `"1000m"` and 1. A
    Secret's `stringData` is compared with what `data` holds. Ignored in the intent: `apiVersion`, `kind`,
    `status`, and the identity in `metadata`.

    Raises ValueError: a document is no JSON object (at most 127 levels deep), or the field set cannot be
    read.

    Releases the GIL.
    """

@final
class Batch:
    """What a chunk of watch bytes, or a committed relist, came to. Immutable."""

    @property
    def deltas(self) -> list[tuple[int, str, str, Literal["added", "updated", "deleted"], str]]:
        """The keys to enqueue: (subscription, namespace, name, reason, uid of the object that caused it).

        Each key appears once a subscription, at its first place, with the last reason and uid; but gone and
        then there again is `"updated"`. The key is that of the mapping, so with an owner mapping the uid is
        the child's.
        """

    @property
    def resource_version(self) -> str | None:
        """The newest position in this chunk, of events and bookmarks; after a relist, the list's."""

    @property
    def error(self) -> bytes | None:
        """The Status object, JSON, of the chunk's last ERROR event, if any."""

    @property
    def initial_events_end(self) -> bool:
        """The bookmark that ends the initial events of a streamed list was in this chunk."""

    @property
    def events(self) -> int:
        """How many well-formed events were in this chunk, of any type."""

@final
class ListPage:
    """What a page of a list response says besides its items. Immutable."""

    @property
    def resource_version(self) -> str:
        """The position of the list."""

    @property
    def continue_token(self) -> str:
        """Where the next page begins. Empty on the last page."""

    @property
    def remaining(self) -> int | None:
        """How many items come after this page. None when the server does not say."""

    @property
    def items(self) -> int:
        """How many items are on this page."""

@final
class Cache:
    """One watched collection of one kind: the objects, their indexes, and what to enqueue when they change.

    An object is stored as its JSON without top-level `apiVersion` and `kind`, without the annotation
    `kubectl.kubernetes.io/last-applied-configuration`, and without `metadata.managedFields` except the
    entries of `manager` with operation Apply and no subresource.

    Once there are a few hundred objects, stored forms are compressed against a dictionary of what the objects
    of this cache have in common; it is trained in a thread of its own, and another takes its place, bit by
    bit, when it saves clearly less than it did. What changed lately is kept uncompressed, up to 8 MiB.

    The stream's *position* is the largest resourceVersion seen in events, bookmarks and lists.
    """

    def __new__(cls, *, manager: str | None = None) -> Cache:
        """An empty cache that keeps the managedFields of this field manager, or none."""

    def subscribe(self, predicate: bytes, mapping: bytes) -> int:
        """Ask for deltas: when `predicate` holds for a change, enqueue the key that `mapping` leads to.

        Returns the subscription's number, from 0 up. Both arguments are JSON.

        Predicates: `{"always":{}}`; `{"generation":{}}`, `{"resourceVersion":{}}`, `{"labels":{}}`,
        `{"annotations":{}}`, `{"finalizers":{}}`, `{"owners":{}}`, `{"status":{}}`, `{"spec":{}}`: that
        part changed; `{"content":{}}`: anything of the stored form besides resourceVersion and generation
        changed; `{"label":"key"}`, `{"annotation":"key"}`, `{"changed":"field path"}`: that one changed;
        `{"deletion":{}}`: deletionTimestamp appeared. All these also hold for an object that is new, gone,
        or another one (by uid) under the same name. `{"equals":["field path", value]}`: some value at the
        path equals it now (for a deletion: last). `{"any":[…]}`, `{"all":[…]}`, `{"not":predicate}`.

        Mappings: `{"self":{}}`; `{"owner":{"group":"apps","kind":"Deployment"}}`: the controller
        ownerReference of this group (any version) and kind, in the object's namespace, or without one with
        `"clusterScoped":true`. An object without such an owner leads nowhere; one whose owner changes leads
        to both.

        Field paths: `spec.worker.queue`, `spec.items[*].name`, `spec.items[0]`,
        `metadata.labels["example.com/a"]`; `[*]` on a map means its values, `@keys` at the end its keys.

        Raises ValueError naming what is wrong; RuntimeError when the cache has been fed already.
        """

    def add_index(self, name: str, path: str) -> None:
        """Index the objects by the scalars at a field path.

        Strings are indexed as they are, numbers as written, booleans as `true` and `false`. Null, maps and
        lists are not indexed. Raises ValueError for a bad path or a name in use; RuntimeError when the
        cache has been fed already.
        """

    def feed(self, chunk: bytes) -> Batch:
        """Take bytes of the watch stream, cut anywhere. Half a line is kept for the next chunk.

        Malformed lines (no JSON, no UTF-8, an unknown type, an object without name or resourceVersion,
        nesting over 127 levels, more than 64 MiB) are counted in `stats` and skipped. During a relist,
        events go to the list under way (a streamed list, `sendInitialEvents`) and make no deltas. Never
        raises for input. Releases the GIL.
        """

    def reset_stream(self) -> int:
        """A watch ended: forget half a line. Returns its length in bytes."""

    def begin_relist(self) -> None:
        """Begin to gather a list, beside the present state. A relist under way is dropped."""

    def feed_list(self, page: bytes) -> ListPage:
        """Take one page of a list response.

        Raises ValueError when it is none (also when an item lacks name or resourceVersion): the relist is
        then over, without effect. Raises RuntimeError when no relist is under way. Releases the GIL.
        """

    def commit_relist(self) -> Batch:
        """Put the list in the place of the present state, at once, and return deltas for what differs.

        An object of the same resourceVersion is unchanged. What the list lacks is deleted; but a write of
        our own that is newer than the list and not yet confirmed by the stream is kept, by one relist. The
        position becomes the list's, even when that is older.

        Raises RuntimeError when no relist is under way, or when it is incomplete (the last page, or the
        bookmark that ends the initial events, has not been fed): the relist is then over, without effect.
        Releases the GIL.
        """

    def abort_relist(self) -> None:
        """Drop the relist under way, if any."""

    def put(self, body: bytes) -> bool:
        """Store the response to a write of our own, ahead of the stream. Returns whether it was stored.

        Refused (False) when the object is stored at this resourceVersion or a newer one, or the position is
        there: the stream has told already what became of it. The watch event of the same resourceVersion
        later makes no delta (`events_echo`). What others changed meanwhile still does: until then events
        are compared with the last state that the stream told of.

        Raises ValueError when the body is no object with name and resourceVersion. Releases the GIL.
        """

    def get(self, namespace: str, name: str) -> bytes | None:
        """The stored form, JSON. Cluster-scoped objects have the namespace `""`."""

    def diff(self, namespace: str, name: str, intent: bytes) -> list[str] | None:
        """Say what a server-side apply of `intent` by the cache's manager would change; None: no such object.

        The same as the function `diff` of this module with what `get` returns. Where nothing would change,
        that is remembered until the object changes: for the same bytes the answer is then there at once.

        Raises ValueError as the function does; RuntimeError when the cache has no manager. Releases the GIL.
        """

    def resource_version(self, namespace: str, name: str) -> str | None:
        """The resourceVersion of the stored object."""

    def keys(self) -> list[tuple[str, str]]:
        """(namespace, name) of all objects, sorted."""

    def lookup(self, index: str, value: str) -> list[tuple[str, str]]:
        """The keys of the objects that have this value in the index, sorted.

        Raises ValueError for an unknown index.
        """

    def __len__(self) -> int:
        """How many objects are stored."""

    def stats(self) -> dict[str, int]:
        """Gauges and counters.

        Gauges: `objects`; `bytes`, memory of objects, indexes and dictionaries, as allocated;
        `staged_bytes`, of a relist under way; `raw_bytes`, length of all stored forms before compression;
        `objects_compressed`; `dictionary_bytes`, of dictionaries and what it takes to work with them;
        `unconfirmed`, own writes that the stream has not told of. Counters: `events_received` (ADDED,
        MODIFIED, DELETED), of which `events_dropped` (no predicate held), `events_echo` (known already,
        mostly own writes), `events_stale` (older than what is known, or a deletion of something unknown);
        `events_bookmark`, `events_error`, `events_malformed`, `objects_listed`, `relists`, `deltas`,
        `puts_accepted`, `puts_refused`, `dictionaries_trained`.
        """
