"""The databases and snapshots of an account in a region, and what a test does to them behind RDS' back."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from openclaw.testing.rds.clock import Clock
from openclaw.testing.rds.database import Database, being_modified, create, through
from openclaw.testing.rds.timeline import History, Stage, Timelines
from openclaw.testing.rds.wire import text

_PASSWORD: Final = "made-by-the-test"  # noqa: S105


@dataclass(slots=True)
class Behaviour:
    """How RDS behaves; change it at any time.

    Attributes:
        timelines: what follows each call that is made from now on.
        describe_lag: seconds that DescribeDBInstances of one instance is behind: what was created is not
            found, what was modified is as it was.
        listing_lag: seconds that listings are behind.
        instance_quota: how many instances an account may have in a region.
        listing_page: most instances in a page of a listing, whatever MaxRecords asks for.
        unordered: listings are in no order, in another one for each page: instances are told twice, or not
            at all, where there is more than one page.
    """

    timelines: Timelines = field(default_factory=Timelines)
    describe_lag: float = 0.0
    listing_lag: float = 0.0
    instance_quota: int = 10_000
    listing_page: int = 100
    unordered: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a database."""

    identifier: str
    status: str
    database: Database
    created: datetime

    def describe(self) -> dict[str, Any]:
        """As DescribeDBSnapshots answers."""
        values = self.database.values
        return {
            "DBSnapshotIdentifier": self.identifier,
            "DBInstanceIdentifier": self.database.identifier,
            "DbiResourceId": self.database.resource_id,
            "SnapshotCreateTime": self.created,
            "Status": self.status,
            "SnapshotType": "manual",
            "PercentProgress": 100 if self.status == "available" else 0,
            **{
                name: values[name]
                for name in ("Engine", "EngineVersion", "AllocatedStorage", "MasterUsername")
            },
        }


class Region:
    """One region of one account.

    Attributes:
        account: the account's number.
        name: such as `eu-central-1`.
        chance: what RDS draws by lot.
    """

    def __init__(
        self, account: str, name: str, clock: Clock, behaviour: Behaviour, chance: random.Random
    ) -> None:
        self.chance = chance
        self.account = account
        self.name = name
        self.clock = clock
        self.behaviour = behaviour
        self._databases: dict[str, History[Database]] = {}
        self._snapshots: dict[str, History[Snapshot]] = {}

    # What is there

    def database(self, identifier: str) -> Database | None:
        """The instance as it really is now, whatever DescribeDBInstances says."""
        return self.seen(identifier, lag=0.0)

    @property
    def databases(self) -> list[Database]:
        """All instances as they really are now, by identifier."""
        return self.list_seen(lag=0.0)

    @property
    def snapshots(self) -> list[Snapshot]:
        """All snapshots, by identifier."""
        now = self.clock.now()
        found = (history.at(now) for _, history in sorted(self._snapshots.items()))
        return [snapshot for snapshot in found if snapshot is not None]

    def seen(self, identifier: str, *, lag: float) -> Database | None:
        """The instance as it was `lag` seconds ago."""
        history = self._databases.get(identifier.lower())
        return history.at(self.clock.now() - lag) if history else None

    def list_seen(self, *, lag: float) -> list[Database]:
        """All instances as they were `lag` seconds ago, by identifier."""
        then = self.clock.now() - lag
        found = (history.at(then) for _, history in sorted(self._databases.items()))
        return [database for database in found if database is not None]

    def states_since(self, identifier: str, seconds: float) -> list[Database | None]:
        """What the instance really was in the last so many seconds, oldest first; None where it was not."""
        history = self._databases.get(identifier.lower())
        now = self.clock.now()
        return history.between(now - seconds, now) if history else [None]

    def new_resource_id(self) -> str:
        """RDS' own name of an instance to be."""
        return f"db-{self.chance.randbytes(13).hex().upper()}"

    def arn(self, kind: str, identifier: str) -> str:
        """The ARN of an instance (`db`) or a snapshot (`snapshot`)."""
        return f"arn:aws:rds:{self.name}:{self.account}:{kind}:{identifier}"

    # Behind RDS' back

    def add(self, identifier: str, *, tags: Mapping[str, str] | None = None, **values: Any) -> Database:
        """An instance that somebody else has made, available; `values` by RDS' names."""
        defaults = {
            "Engine": "postgres",
            "DBInstanceClass": "db.t3.micro",
            "AllocatedStorage": 20,
            "MasterUsername": "master",
            "MasterUserPassword": _PASSWORD,
        }
        now = self.clock.now()
        texts = {
            name: list(value) if isinstance(value, tuple) else text(value)
            for name, value in (defaults | values).items()
        }
        database = create(
            identifier, self.arn("db", identifier), texts, now=now, resource_id=self.new_resource_id()
        )
        database = replace(database, status="available", tags=dict(tags or {}))
        self.plan(identifier, [(0.0, database)])
        return database

    def change(self, identifier: str, **values: Any) -> None:
        """Somebody else changes attributes, by RDS' names; it is done at once."""
        self._existing(identifier)
        self.replan(identifier, lambda state: replace(state, values={**state.values, **values}))

    def tag(self, identifier: str, tags: Mapping[str, str]) -> None:
        """Somebody else sets all tags."""
        self._existing(identifier)
        self.replan(identifier, lambda state: replace(state, tags=dict(tags)))

    def play(self, identifier: str, *stages: Stage, then: str = "available") -> None:
        """Let the instance go through stages of its own, for instance `Stage("storage-full", inf)`."""
        database = self._existing(identifier)
        self.plan(identifier, [*through(database, stages), (0.0, database.is_(then))])

    def maintain(self, identifier: str) -> None:
        """The maintenance window: what is pending is applied now."""
        database = self._existing(identifier)
        self.plan(identifier, being_modified(database, database.pending, self.behaviour.timelines))

    def remove(self, identifier: str) -> None:
        """Somebody else deletes the instance; it is gone at once."""
        self._existing(identifier)
        self.plan(identifier, [(0.0, None)])

    @contextmanager
    def undoing(self) -> Iterator[None]:
        """What is done within the block has not been done after it."""
        databases = {name: history.copy() for name, history in self._databases.items()}
        snapshots = {name: history.copy() for name, history in self._snapshots.items()}
        try:
            yield
        finally:
            self._databases, self._snapshots = databases, snapshots

    # For the operations

    def plan(self, identifier: str, states: Iterable[tuple[float, Database | None]]) -> Database | None:
        """What becomes of an instance from now on (`History.plan`); returns its state now."""
        now = self.clock.now()
        history = self._databases.setdefault(identifier, History())
        history.plan(now, states)
        return history.at(now)

    def replan(self, identifier: str, change: Callable[[Database], Database]) -> None:
        """Change an instance in whatever it is going through, which goes on."""
        self._databases[identifier].replace(self.clock.now(), change)

    def take_snapshot(self, identifier: str, database: Database, seconds: float) -> None:
        """A snapshot that is available after `seconds`."""
        now = self.clock.now()
        snapshot = Snapshot(identifier, "creating", database, datetime.fromtimestamp(now, UTC))
        history = self._snapshots.setdefault(identifier, History())
        history.plan(now, [(seconds, snapshot), (0.0, replace(snapshot, status="available"))])

    def _existing(self, identifier: str) -> Database:
        database = self.database(identifier)
        if database is None:
            msg = f"account {self.account} has no database {identifier} in {self.name}"
            raise LookupError(msg)
        return database
