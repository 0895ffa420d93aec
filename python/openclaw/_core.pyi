"""The hot path of openclaw, in Rust: bytes of a watch stream in, keys to enqueue out.

Threads: every object here may be used from any thread. `Cache.feed`, `feed_list`, `commit_relist`,
`abort_relist`, `begin_relist`, `begin_gain`, `start`, `drop`, `put`, `diff`, `keys`, `keys_in`, `lookup` and
the function `diff` release the GIL while they work. The short reads (`get`, `resource_version`, `slot_of`,
`kept`, `active`, `len`, `stats`) and `stop`, `reset_stream`, `subscribe`, `add_index` keep it, unless another
thread is in the same cache: then they release it while they wait. No lock is ever held while Python code
runs.

Bad input never raises anything but the documented errors, and never panics.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, Self, TypeAlias, final

__all__ = [
    "Batch",
    "Cache",
    "Cool",
    "Drain",
    "Ended",
    "Handover",
    "HttpAnswer",
    "HttpCall",
    "HttpClient",
    "HttpSession",
    "HttpWatch",
    "ListLeases",
    "ListPage",
    "Lost",
    "Report",
    "Ring",
    "ShardRecord",
    "ShardReport",
    "SlotReport",
    "SlotSet",
    "Start",
    "Warm",
    "WriteLease",
    "__version__",
    "build_profile",
    "diff",
    "encode_spans",
    "fnv1a64",
    "keep_less_memory",
    "slot",
]

__version__: str
"""The version of the package."""

build_profile: str
"""`"release"` or `"debug"`. A benchmark should refuse a debug build."""

def fnv1a64(text: str) -> int:
    """The FNV-1a hash, 64 bits, of a text's UTF-8 form, as the API server's sharded list and watch has it."""

def slot(uid: str) -> int:
    """The slot, 0 to 255, of a root object: the top 8 bits of `fnv1a64(uid)`."""

def keep_less_memory() -> None:
    """Has the allocator keep less of what is freed: one arena for all threads, large blocks by themselves.

    For a process that is an operator and nothing else. Does nothing where the allocator is not glibc's.
    """

def encode_spans(spans: list[Any], resource: dict[str, Any]) -> bytes:
    """An OTLP `ExportTraceServiceRequest` of ended spans (`openclaw.telemetry.spans.Span`), in JSON.

    `resource` holds the attributes of this process. An attribute may be a str, bool, int, float, or a tuple
    or list of strs; of anything else, and of an int beyond 64 bits, its text is written. What is no valid
    Unicode becomes `?`. Keeps the GIL: it reads objects of Python all the time.

    Raises AttributeError, TypeError or OverflowError for what is no such span.
    """

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
        """The newest position in this chunk, of events and bookmarks; after a list, where a watch begins."""

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

    **Slots.** A cache of the scope `"roots"` or `"children"` holds the objects of some slots only. A root's
    slot is `slot` of its uid; a child's is `slot` of the uid of the controller in its ownerReferences, or,
    where nothing controls it, its label `openclaw.dev/slot`. Slots are

    - *kept* from the commit of a list of them on, until `drop`. Objects of other slots are counted
      (`events_foreign`, `objects_foreign`) and dropped as soon as their metadata is read;
    - *active* from `start` to `stop`. Objects of slots that are kept but not active are stored and indexed,
      and make no deltas.

    At first no slot is kept. With the scope `"everything"` there are no slots, and the methods that take some
    raise RuntimeError. They take any iterable of numbers from 0 to 255 and raise ValueError for others.

    A name that goes from one slot to another (its object is replaced, a child gets another controller) is
    gone to the one and new to the other.
    """

    def __new__(
        cls,
        *,
        manager: str | None = None,
        scope: Literal["everything", "roots", "children"] | None = None,
    ) -> Cache:
        """An empty cache that keeps the managedFields of this field manager, or none.

        Raises ValueError for an unknown scope.
        """

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

    def begin_relist(self, slots: Iterable[int] | None = None) -> None:
        """Begin to gather a list, beside the present state. A list under way is dropped.

        `slots` are those that the list is of, kept or not; None: all that are kept.
        """

    def begin_gain(self, slots: Iterable[int]) -> None:
        """Begin to gather a list of slots that are not kept yet; those that are kept are left alone.

        Unlike in a relist, `feed` goes on meanwhile for the slots that are kept. A list under way is dropped.
        """

    def feed_list(self, page: bytes) -> ListPage:
        """Take one page of a list response.

        Raises ValueError when it is none (also when an item lacks name or resourceVersion): the list is
        then over, without effect. Raises RuntimeError when no list is under way. Releases the GIL.
        """

    def commit_relist(self) -> Batch:
        """Put the list in the place of the present state, at once, and return deltas for what differs.

        An object of the same resourceVersion is unchanged. What the list lacks is deleted; but a write of
        our own that is newer than the list and not yet confirmed by the stream is kept, by one relist. The
        position becomes the list's, even when that is older.

        A list of slots (`begin_gain`, `begin_relist` with `slots`) does so to these only, and they are kept
        from now on. The batch's `resource_version` is then where the watch is to be begun again, with a
        selector of all kept slots: the older of the list's position and the stream's, so that nothing is
        missed of either part. What of that is known already is not taken again (`events_replayed`). No byte
        of the former watch may be fed after this.

        Raises RuntimeError when no list is under way; when it is incomplete (the last page, or the
        bookmark that ends the initial events, has not been fed); or when it is of a part of the slots, and
        its resourceVersion or the stream's is no number, so that they cannot be compared. The list is then
        over, without effect. Releases the GIL.
        """

    def abort_relist(self) -> None:
        """Drop the list under way, if any."""

    def start(self, slots: Iterable[int]) -> Batch:
        """Make kept slots active; returns an `"added"` delta of each object in them that a predicate passes.

        Slots that are active already are left alone. Raises RuntimeError, and starts none, when one is not
        kept. Releases the GIL.
        """

    def stop(self, slots: Iterable[int]) -> None:
        """Make slots inactive: no more deltas of their objects, which stay and are kept up to date."""

    def drop(self, slots: Iterable[int]) -> None:
        """Forget slots and their objects, without deltas; a list under way goes on without them.

        Releases the GIL.
        """

    @property
    def kept(self) -> frozenset[int]:
        """The slots that are kept; empty where there are no slots."""

    @property
    def active(self) -> frozenset[int]:
        """The slots that are active; empty where there are no slots."""

    def keys_in(self, slots: Iterable[int]) -> list[tuple[str, str]]:
        """(namespace, name) of the objects of these slots, sorted. Releases the GIL."""

    def slot_of(self, namespace: str, name: str) -> int | None:
        """The slot of a stored object. None: there is no such object, or there are no slots."""

    def put(self, body: bytes) -> bool:
        """Store the response to a write of our own, ahead of the stream. Returns whether it was stored.

        Refused (False) when the object is stored at this resourceVersion or a newer one, or the position is
        there: the stream has told already what became of it; also when its slot is not kept. The watch event
        of the same resourceVersion later makes no delta (`events_echo`). What others changed meanwhile still
        does: until then events are compared with the last state that the stream told of.

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
        MODIFIED, DELETED), of which `events_dropped` (no predicate held, or the slot is not active),
        `events_echo` (known already, mostly own writes), `events_stale` (older than what is known, or a
        deletion of something unknown), `events_foreign` (of a slot that is not kept), `events_replayed`
        (told again because a watch began further back for other slots' sake);
        `events_bookmark`, `events_error`, `events_malformed`, `objects_listed`, of which `objects_foreign`;
        `relists`, `gains`, `deltas`, `puts_accepted`, `puts_refused`, `dictionaries_trained`.
        """

@final
class SlotSet:
    """A set of slots, 0 to 255. Immutable, hashable; `str()` gives its ranges, such as `0-84,90`."""

    def __new__(cls, slots: Iterable[int] | None = None) -> SlotSet:
        """A set of these slots. Raises OverflowError: a number is not 0 to 255."""

    @staticmethod
    def parse(text: str) -> SlotSet:
        """Read ranges, as `str()` gives them. Raises ValueError."""

    @staticmethod
    def from_hex(text: str) -> SlotSet:
        """Read 64 hexadecimal digits, as `hex` gives them. Raises ValueError."""

    @staticmethod
    def all(slots: int = 256) -> SlotSet:
        """The slots 0 to `slots` - 1."""

    def hex(self) -> str:
        """64 hexadecimal digits: the number in which bit n is slot n."""

    def runs(self) -> list[tuple[int, int]]:
        """The runs of neighbouring slots, ascending: (first, last), both in the set."""

    def shard_selector(self, *, slots: int = 256, longest: int = 7168) -> str | None:
        """The API server's `shardSelector` for objects whose uid is in these of `slots` slots (KEP-5866).

        Not yet quoted for a URL. None when the set is empty, which no selector can say, and when the
        selector, quoted, would be longer than `longest` bytes: then the filter of the client has to do alone.
        """

    def label_selector(self, key: str = "openclaw.dev/slot") -> str | None:
        """The selector `key in (0,1,…)`. None when the set is empty, which no selector can say."""

    def issubset(self, other: SlotSet) -> bool:
        """Whether all of these slots are in `other`."""

    def __contains__(self, key: int, /) -> bool: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...
    def __or__(self, value: SlotSet, /) -> SlotSet: ...
    def __ror__(self, value: SlotSet, /) -> SlotSet: ...
    def __and__(self, value: SlotSet, /) -> SlotSet: ...
    def __rand__(self, value: SlotSet, /) -> SlotSet: ...
    def __sub__(self, value: SlotSet, /) -> SlotSet: ...
    def __rsub__(self, value: SlotSet, /) -> SlotSet: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Ring:
    """The assignment of slots to shards: a pure function of the live shards' names. Immutable.

    No shard has more than one slot more than another. For names that differ in their number alone
    (`openclaw-0`, `openclaw-1`, as a StatefulSet has), adding the next, removing the last or losing any one
    moves no slot but those concerned, and a shard's slots are a few runs. With other names more moves (half
    as many again at 16 shards, four times as many at 64), and the slots are scattered.
    """

    def __new__(cls, names: Iterable[str], *, slots: int = 256) -> Ring:
        """The ring of these shards. Their order and repetition do not matter."""

    @property
    def id(self) -> str:
        """Eight hexadecimal digits: the same for the same slots and shards, everywhere."""

    @property
    def names(self) -> list[str]:
        """The shards, sorted."""

    @property
    def owners(self) -> list[str]:
        """The owner of each slot, by slot. Empty when there is no shard."""

    def owner(self, slot: int) -> str | None:
        """The shard that a slot belongs to. None when there is no shard or no such slot."""

    def share(self, name: str) -> SlotSet:
        """The slots of a shard."""

    def __eq__(self, value: object, /) -> bool: ...

@final
class WriteLease:
    """Write the own Lease, then answer `written`, `write_conflict` or `write_failed` with the `id`.

    Create the Lease when `resource_version` is None; else replace it on condition of that
    `metadata.resourceVersion`. `record` is the text to publish in it.
    """

    __match_args__: Final = ("id", "resource_version", "record")
    @property
    def id(self) -> int: ...
    @property
    def resource_version(self) -> str | None: ...
    @property
    def record(self) -> str: ...

@final
class ListLeases:
    """List all Leases of the set, then answer `listed` or `list_failed` with the `id`.

    The request must be sent after this action came, and be answered from etcd: no `resourceVersion`
    parameter (a quorum read).
    """

    __match_args__: Final = ("id",)
    @property
    def id(self) -> int: ...

@final
class Warm:
    """List and watch these slots, then answer `warmed` with the `ticket`, at once or bit by bit."""

    __match_args__: Final = ("ticket", "slots")
    @property
    def ticket(self) -> int: ...
    @property
    def slots(self) -> SlotSet: ...

@final
class Cool:
    """Forget the objects of these slots; a `Warm` of them that is under way is cancelled. No answer."""

    __match_args__: Final = ("slots",)
    @property
    def slots(self) -> SlotSet: ...

@final
class Start:
    """Act on these slots from now on, until `Drain` or `Lost`. They are warm. No answer."""

    __match_args__: Final = ("slots",)
    @property
    def slots(self) -> SlotSet: ...

@final
class Drain:
    """Take no more keys of these slots and let runs in flight finish, within a bound of the host's own.

    Then answer `drained` with the `ticket`, at once or bit by bit. Until then the slots may be acted on. The
    objects stay until `Cool`: the slots may come back.
    """

    __match_args__: Final = ("ticket", "slots")
    @property
    def ticket(self) -> int: ...
    @property
    def slots(self) -> SlotSet: ...

@final
class Lost:
    """The fence has ended: stop all runs of these slots at once. No answer.

    What was warm stays warm. Drains under way are void. Slots that are still owned come with a new `Start`.
    """

    __match_args__: Final = ("slots", "reason")
    @property
    def slots(self) -> SlotSet: ...
    @property
    def reason(self) -> str: ...

@final
class Ended:
    """Nothing will come any more: the stop is done (`graceful`), or another process has this shard's name."""

    __match_args__: Final = ("graceful", "reason")
    @property
    def graceful(self) -> bool: ...
    @property
    def reason(self) -> str: ...

_Actions: TypeAlias = list[WriteLease | ListLeases | Warm | Cool | Start | Drain | Lost | Ended]

@final
class Handover:
    """One shard's side of the hand-over, and its fence. What happened goes in; what to do comes out.

    A state machine without IO: it reads no clock and draws no random number. All times are seconds of one
    monotonic clock that goes on while the machine sleeps (`CLOCK_BOOTTIME` on Linux). Do the returned actions
    in their order; requests may run beside each other. There is at most one write and one list under way.

    Call `tick` once to begin, then whenever `wake` has come. Bound each request yourself: after `timeout` its
    answer is not waited for any more (a late `written` still counts).

    The rules are those of the Rust module `handover`: a shard acts until `fence` seconds after it sent its
    last successful renewal; it starts on a slot only after it has published that it holds it and a list asked
    for after that shows no other that does, but Leases unchanged for longer than their duration. They keep
    two shards apart as long as clocks run within a tenth of each other.
    """

    def __new__(
        cls,
        name: str,
        incarnation: str,
        *,
        slots: int = 256,
        duration: float = 15.0,
        renew: float = 5.0,
        fence: float = 10.0,
        relist: float = 5.0,
        retry: float = 0.5,
        timeout: float = 3.0,
        patience: float = 10.0,
        longest_hold: float = 120.0,
    ) -> Handover:
        """A shard that has done nothing yet.

        `name` is unique in the set and the same after a restart (a StatefulSet's pod name); `incarnation` is
        random for each process. `slots` is a power of two up to 256, the same for the whole set, as are:
        `duration`, for which a Lease counts that is not renewed; `renew`, how often it is; `fence`, at most
        four fifths of `duration`. `relist`: the longest time between lists. `retry`: the pause after a
        failed request. `patience`: for how long a shard that leaves waits for successors to be ready.
        `longest_hold`: for how long a restarting shard's slots wait for it at most.

        Raises ValueError: times that cannot keep shards apart, slots that are no power of two.
        """

    def tick(self, now: float) -> _Actions:
        """Time has passed."""

    def written(self, now: float, id: int, resource_version: str) -> _Actions:
        """The write was applied, as this `metadata.resourceVersion`. Raises ValueError: it is no number."""

    def write_conflict(self, now: float, id: int) -> _Actions:
        """The write was refused: 409 (another version, or it exists already) or 404 (it is gone)."""

    def write_failed(self, now: float, id: int) -> _Actions:
        """The write failed, or its outcome is not known."""

    def listed(self, now: float, id: int, leases: Sequence[tuple[str, str, str | None]]) -> _Actions:
        """All Leases of the set: (shard name, resourceVersion, record or None when it carries none).

        Raises ValueError: a resourceVersion is no number.
        """

    def list_failed(self, now: float, id: int) -> _Actions:
        """The list failed."""

    def observed(self, now: float, name: str, resource_version: str, record: str | None) -> _Actions:
        """A watch showed a Lease, added or modified. Events may come late, twice or never.

        Raises ValueError: the resourceVersion is no number.
        """

    def hint(self, now: float) -> _Actions:
        """Something happened that `observed` cannot say: a Lease was deleted, the watch broke off."""

    def warmed(self, now: float, ticket: int, slots: SlotSet) -> _Actions:
        """These slots of a `Warm` are listed and watched. Slots that it no longer waits for are ignored."""

    def drained(self, now: float, ticket: int, slots: SlotSet) -> _Actions:
        """No run of these slots of a `Drain` is left. Slots that it no longer waits for are ignored."""

    def stop(self, now: float, *, hold: float | None = None) -> _Actions:
        """Stop; `Ended` comes when all is drained and published.

        Without `hold` for good: the ring counts this shard no more, and its slots are handed over one by one
        as their new owners become ready, for `patience` seconds at most. With `hold`: to be back under this
        name within so many seconds, for which the slots wait. May be called again to change the way.
        """

    @property
    def wake(self) -> float | None:
        """When to call `tick` at the latest. None after `Ended`."""

    @property
    def fence(self) -> float | None:
        """Until when this shard may act. None: it may not."""

    @property
    def term(self) -> int:
        """Counts the ends of the fence. What began in an earlier term must not write in a later one."""

    @property
    def acting(self) -> SlotSet:
        """The slots that may be acted on while the fence lasts: those started, and those draining."""

    @property
    def ring(self) -> Ring:
        """The ring that this shard follows. Of no shard before the first list."""

    def may_act(self, now: float, slot: int) -> bool:
        """Whether a write for this slot may be sent now. To be asked right before each write."""

    def report(self) -> Report:
        """What this shard knows of the set, for readiness, metrics and people."""

@final
class ShardRecord:
    """What a shard publishes in its Lease. Immutable."""

    def __new__(cls, text: str) -> ShardRecord:
        """Read a record. Raises ValueError: it cannot be read, or its version is a newer one."""

    @property
    def incarnation(self) -> str:
        """Which process wrote it."""

    @property
    def sequence(self) -> int:
        """The number of the write, counted by that process."""

    @property
    def slots(self) -> int:
        """How many slots there are."""

    @property
    def duration(self) -> float:
        """For how many seconds the Lease counts when it is not renewed."""

    @property
    def state(self) -> Literal["active", "leaving", "restarting", "released"]:
        """What the shard is up to."""

    @property
    def hold(self) -> float | None:
        """For how many seconds the slots wait while it is restarting."""

    @property
    def ring(self) -> str:
        """The id of the ring that it follows. Empty before it knows one."""

    @property
    def holds(self) -> SlotSet:
        """The slots that it acts on or claims: nobody else may start on them."""

    @property
    def ready(self) -> SlotSet:
        """The slots of its share that it has warmed and waits for."""

    @property
    def acts(self) -> SlotSet:
        """The slots that it acts on."""

@final
class Report:
    """What a shard knows of the set. Immutable."""

    @property
    def ring(self) -> str:
        """The id of the ring that this shard follows."""

    @property
    def shards(self) -> list[ShardReport]:
        """All shards, this one among them, by name."""

    @property
    def slots(self) -> list[SlotReport]:
        """All slots, in order."""

    @property
    def problems(self) -> list[str]:
        """What keeps this shard from starting on anything: Leases that count but cannot be read."""

    @property
    def unowned(self) -> int:
        """How many slots nobody acts on, whatever the reason."""

    @property
    def contested(self) -> int:
        """How many slots several shards claim while none acts, or several say that they act on."""

@final
class ShardReport:
    """One shard in a `Report`. Immutable."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> Literal["active", "leaving", "restarting", "released"] | None:
        """What it is up to. None when its Lease cannot be read."""

    @property
    def void(self) -> bool:
        """Its Lease has not been renewed for longer than its duration."""

    @property
    def live(self) -> bool:
        """The ring counts it."""

    @property
    def ring(self) -> str:
        """The id of the ring that it says it follows."""

    @property
    def holds(self) -> SlotSet:
        """The slots that it holds. Empty when void."""

    @property
    def acts(self) -> SlotSet:
        """The slots that it says it acts on. Empty when void."""

    @property
    def seen(self) -> float:
        """When this version of its Lease was first seen, or of the own one sent, by the clock of `now`."""

@final
class SlotReport:
    """One slot in a `Report`. Immutable."""

    @property
    def slot(self) -> int: ...
    @property
    def owner(self) -> str | None:
        """The shard that the ring names."""

    @property
    def holders(self) -> list[str]:
        """The shards that hold it, sorted."""

    @property
    def state(self) -> Literal["unowned", "contested", "warming", "claiming", "acting", "draining"]:
        """How it stands. `warming` and `draining` are of the reporting shard itself."""

    @property
    def since(self) -> float:
        """Since when it is so in the reporting shard itself, by the clock of `now`. 0: since its start."""

@final
class HttpSession:
    """One API server with what it takes to speak to it, and the connections that are open there."""

    def __new__(
        cls,
        server: str,
        *,
        user_agent: str,
        connections: int,
        authority: bytes | None = None,
        certificate: bytes | None = None,
        key: bytes | None = None,
        verify: bool = True,
        server_name: str | None = None,
        proxy: str | None = None,
    ) -> Self:
        """A session; connects nowhere yet.

        `server` is a base URL, `https:` or `http:`; its path goes before that of each request. `connections`
        bounds those that are open at once, watches included. `authority`, `certificate` and `key` are PEM:
        the authorities to trust (the system's by default), the client's certificate chain, its unencrypted
        key as PKCS#8, PKCS#1 or SEC1. `server_name` is the name or IP address that the server's certificate
        must have, where it is not that of `server`. `proxy` is the URL of an HTTP proxy; the user in it is
        sent as basic authentication.

        Raises ValueError naming what cannot be used; without keys or passwords. Releases the GIL.
        """

    def retire(self) -> None:
        """Keep no connection from now on; what is under way goes on to its end."""

@final
class HttpAnswer:
    """What the server said, whatever its status. Immutable."""

    @property
    def status(self) -> int:
        """The HTTP status code. Redirects are not followed."""

    @property
    def body(self) -> bytes:
        """The whole body."""

    @property
    def warnings(self) -> list[str]:
        """The `Warning` headers."""

    @property
    def retry_after(self) -> str | None:
        """The `Retry-After` header."""

@final
class HttpCall:
    """A request under way."""

    @property
    def number(self) -> int:
        """Under which its outcome comes."""

    def cancel(self) -> None:
        """Give it up and close its connection. Its outcome may be on its way already."""

@final
class HttpWatch:
    """A watch under way. The thread feeds its cache, where it has one; what matters waits to be taken.

    When more than some thousand deltas or a MiB of bytes wait, nothing more is read from the socket.
    """

    @property
    def number(self) -> int:
        """Under which news of it comes."""

    def begin(self) -> None:
        """Let it be read, once it is open; until then nothing of it is."""

    def take(self) -> tuple[list[Any], bool, str | None]:
        """What came since the last call, whether that is all, and why it broke, if it did.

        With a cache, each item is a `Batch` that has deltas or an error, its `resource_version` left out (see
        `position`); without one, bytes.
        """

    def close(self, failure: str | None = None) -> None:
        """Close its connection. Nothing goes into the cache after this; what came before can be taken.

        With a failure, `take` tells that from now on, unless the watch has ended by itself. Releases the GIL.
        """

    @property
    def position(self) -> str | None:
        """The newest resourceVersion that the stream told of, to a cache."""

    @property
    def chunks(self) -> int:
        """How many pieces came."""

    @property
    def silence(self) -> float | None:
        """Seconds since the last piece came; None before the first."""

@final
class HttpClient:
    """A thread that speaks HTTP/1.1. It takes no GIL, and ends with `close` or with this object."""

    def __new__(cls) -> Self:
        """Start the thread. Raises OSError when there can be none."""

    def fileno(self) -> int:
        """A descriptor that is readable while there are news to take."""

    def take(self) -> list[tuple[int, HttpAnswer | str | None]]:
        """All news: (number, what it is about).

        None: a watch is open, or has something to take; a str: why there is no answer. News of watches come
        first, so that deltas are known before the answers to the writes that caused them.
        """

    def request(
        self,
        session: HttpSession,
        method: str,
        target: str,
        *,
        timeout: float,
        body: bytes | None = None,
        content_type: str | None = None,
        authorization: str | None = None,
        traceparent: str | None = None,
    ) -> HttpCall:
        """Send a request.

        `target` is path and query, encoded; within `timeout` seconds the whole answer must be there. What was
        not written yet when a kept connection turns out to be closed is sent on another, and so is a GET;
        nothing else is sent twice.
        """

    def watch(
        self,
        session: HttpSession,
        target: str,
        *,
        idle_timeout: float,
        authorization: str | None = None,
        cache: Cache | None = None,
    ) -> HttpWatch:
        """Open a watch. It counts as broken when nothing comes for `idle_timeout` seconds."""

    def close(self) -> None:
        """End the thread, and with it every connection; there are no news after that. Releases the GIL."""
