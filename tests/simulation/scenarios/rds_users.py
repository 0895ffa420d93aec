"""What users, and others in the AWS account, do with RDSInstances and their databases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from openclaw.api.rdsinstance import RDSInstance
from openclaw.kube.errors import AlreadyExists, Invalid
from openclaw.testing.rds.external import REGION, SimulatedRDS
from openclaw.testing.rds.timeline import Stage
from openclaw.testing.simulation.contracts import World
from tests.simulation.scenarios.rds_expected import INSTANCES, database_of
from tests.simulation.scenarios.refusals import refusals

Object = dict[str, Any]

NAMESPACE: Final = "default"
CREDENTIALS: Final = "aws"
PASSWORDS: Final = ("correct-horse-battery", "staple-of-the-day", "purple-monkey-dishes", "only-when-adopted")
"""Every master password that there is in these scenarios."""
_FIELDS: Final[Mapping[str, Sequence[Any]]] = {
    "dbInstanceClass": ("db.t3.micro", "db.t3.small", "db.m6g.large"),
    "storageType": ("gp2", "gp3", None),
    "multiAZ": (True, False, None),
    "publiclyAccessible": (True, False),
    "vpcSecurityGroupIDs": (["sg-1"], ["sg-2", "sg-1"], []),
    "dbParameterGroupName": ("mine", "yours", None),
    "backupRetentionPeriod": (1, 7),
    "preferredBackupWindow": ("01:00-02:00", "03:00-04:00"),
    "preferredMaintenanceWindow": ("mon:01:00-mon:02:00", "tue:01:00-tue:02:00"),
    "autoMinorVersionUpgrade": (True, False),
    "applyImmediately": (True, True, False),
    "deletionProtection": (True, False, None),
    "deletionPolicy": ("Delete", "Snapshot", "Orphan"),
    "port": (5432, 6000),
    "tags": ({"team": "shop"}, {"team": "lab", "cost": "42"}),
    "engineVersion": ("16", "16.8", "16.9"),
}
_REFUSED: Final[Sequence[Mapping[str, Any]]] = (
    {"engineVersion": "99.1"},
    {"dbInstanceClass": "db.nobody.huge"},
)
"""What RDS refuses, when an instance is made and when it is changed."""


class Users:
    """Users of some RDSInstances in one namespace.

    Args:
        world: where they live; all chance is `world.chance`.
        names: the RDSInstances that they have to do with, which need not exist.

    Attributes:
        lost: the uids of objects whose database somebody has deleted, or broken for good.
    """

    def __init__(self, world: World, names: Sequence[str]) -> None:
        self.world = world
        self.names = names
        self.rds: SimulatedRDS = world.external
        self.lost: set[str] = set()
        self._chance = world.chance

    def name(self) -> str:
        """One of the names."""
        return self._chance.choice(self.names)

    def live(self, name: str) -> Object | None:
        """The object as it is now."""
        return self.world.cluster.get(INSTANCES, NAMESPACE, name)

    async def pause(self, longest: float = 80.0) -> None:
        """Let a while pass: none, a moment, or about as long as RDS takes for something."""
        chance = self._chance
        seconds = chance.choice((0.0, chance.random(), chance.random() * 20, chance.random() * longest))
        await self.world.sleep(seconds)

    # Secrets

    async def _secret(self, name: str, **content: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "stringData": content,
        }
        try:
            await self.world.user.create(body)
        except AlreadyExists:
            await self.world.user.patch("Secret", NAMESPACE, name, {"stringData": content})

    async def credentials(self) -> None:
        """The Secret with the credentials is there, and good."""
        key = self.rds.key
        await self._secret(CREDENTIALS, AWS_ACCESS_KEY_ID=key.id, AWS_SECRET_ACCESS_KEY=key.secret)

    async def password(self, name: str, value: str | None = None) -> None:
        """The Secret with the master password is there; with another password, unless it is given."""
        await self._secret(f"{name}-master", password=value or self._chance.choice(PASSWORDS[:-1]))

    async def lose_credentials(self, name: str) -> None:
        """The credentials are gone, or wrong, for a while."""
        if self._chance.random() < 0.5:
            with refusals(Invalid):
                await self.world.user.delete("Secret", NAMESPACE, CREDENTIALS)
        else:
            await self._secret(CREDENTIALS, AWS_ACCESS_KEY_ID=self.rds.key.id, AWS_SECRET_ACCESS_KEY="wrong")
        await self.pause()
        await self.credentials()

    async def change_password(self, name: str) -> None:
        """The master password is another one, perhaps twice, perhaps the former one again."""
        for _ in range(self._chance.choice((1, 1, 2))):
            await self.password(name)
            await self.pause(10.0)

    async def lose_password(self, name: str) -> None:
        """The Secret is deleted, and made again after a while."""
        with refusals(Invalid):
            await self.world.user.delete("Secret", NAMESPACE, f"{name}-master")
        await self.pause()
        await self.password(name)

    # Objects

    async def create(self, name: str, annotations: Mapping[str, str] | None = None, **spec: Any) -> None:
        """Make an object; by chance with more than it must have."""
        drawn = {
            field: self._chance.choice(_FIELDS[field])
            for field in self._chance.sample(sorted(_FIELDS), self._chance.randint(0, 4))
        }
        whole = {
            "region": REGION,
            "credentialsSecretRef": {"name": CREDENTIALS},
            "engine": "postgres",
            "engineVersion": "16.8",
            "dbInstanceClass": "db.t3.micro",
            "allocatedStorage": 20,
            "masterUsername": "shop",
            "masterPasswordSecretRef": {"name": f"{name}-master", "key": "password"},
            "dbName": "shop",
            "applyImmediately": True,
            "deletionPolicy": self._chance.choice(("Delete", "Snapshot")),
            **drawn,
            **spec,
        }
        body = {
            "apiVersion": "database.openclaw.dev/v1alpha1",
            "kind": "RDSInstance",
            "metadata": {"name": name, "namespace": NAMESPACE, "annotations": dict(annotations or {})},
            "spec": {field: value for field, value in whole.items() if value is not None},
        }
        with refusals(Invalid):
            await self.world.user.create(body)

    async def set(self, name: str, **spec: Any) -> None:
        """Put values into a spec; None takes a field away."""
        with refusals(Invalid):
            await self.world.user.patch(RDSInstance, NAMESPACE, name, {"spec": spec})

    async def annotate(self, name: str, **annotations: str | None) -> None:
        """Annotations by their last part: `paused`, `reconcile_now`, `orphan`, `poll_interval`."""
        groups = {"orphan": "database.openclaw.dev", "adopt": "database.openclaw.dev"}
        found = {
            f"{groups.get(key, 'openclaw.dev')}/{key.replace('_', '-')}": value
            for key, value in annotations.items()
        }
        with refusals(Invalid):
            await self.world.user.patch(RDSInstance, NAMESPACE, name, {"metadata": {"annotations": found}})

    async def change(self, name: str) -> None:
        """Change one field."""
        field = self._chance.choice((*sorted(_FIELDS), "allocatedStorage", "upgrade"))
        if field == "upgrade":
            await self.set(name, engineVersion="17", allowMajorVersionUpgrade=True)
        elif field == "allocatedStorage":
            there = (self.live(name) or {"spec": {"allocatedStorage": 20}})["spec"]["allocatedStorage"]
            await self.set(name, allocatedStorage=there + self._chance.choice((1, 10, 80)))
        else:
            await self.set(name, **{field: self._chance.choice(_FIELDS[field])})

    async def ask_the_impossible(self, name: str) -> None:
        """Ask for what RDS refuses, for a while."""
        live = self.live(name)
        if live is None:
            await self.create(name, **self._chance.choice(_REFUSED))
            await self.pause()
        else:
            await self.set(name, **self._chance.choice(_REFUSED))
            await self.pause()
        await self.set(name, engineVersion="16.8", dbInstanceClass="db.t3.micro")

    async def delete(self, name: str) -> None:
        """Delete an object."""
        with refusals(Invalid):
            await self.world.user.delete(RDSInstance, NAMESPACE, name)

    async def recreate(self, name: str) -> None:
        """Delete an object, and make one of the same name as soon as it is gone."""
        await self.set(name, deletionProtection=False)
        await self.delete(name)
        for _ in range(self._chance.choice((1, 60))):
            if self.live(name) is None:
                break
            await self.world.sleep(self._chance.random() * 5)
        await self.create(name)

    async def orphan(self, name: str) -> None:
        """Delete an object, and have the instance left, said before or while it goes."""
        if self._chance.random() < 0.5:
            await self.annotate(name, orphan="true")
            await self.delete(name)
        else:
            await self.delete(name)
            await self.pause(20.0)
            await self.annotate(name, orphan="true")

    async def rest(self, name: str) -> None:
        """Have nothing done for a while."""
        await self.annotate(name, paused="true")
        await self.pause()
        await self.annotate(name, paused=None)

    async def ask(self, name: str) -> None:
        """Have it looked at now."""
        await self.annotate(name, reconcile_now=str(self._chance.getrandbits(32)))

    # In AWS

    def settled(self, name: str) -> Object | None:
        """The object, where it knows that its database is there and nothing is under way.

        Who undoes a change of the operator's within `RDSSettings.settle` makes it one without effect, which
        is sent again only when somebody asks.
        """
        live = self.live(name)
        if live is None or "external.openclaw.dev/create-succeeded" not in (
            live["metadata"].get("annotations") or {}
        ):
            return None
        if ((live.get("status") or {}).get("lastUpdate") or {}).get("sentAt"):
            return None
        database = database_of(self.rds, live)
        return live if database is not None and database.status == "available" else None

    async def delete_by_hand(self, name: str) -> None:
        """Somebody deletes the database in AWS."""
        live = self.settled(name)
        if live is not None and "deletionTimestamp" not in live["metadata"]:
            database = database_of(self.rds, live)
            assert database is not None
            self.lost.add(live["metadata"]["uid"])
            self.rds.region.remove(database.identifier)

    async def break_by_hand(self, name: str) -> None:
        """The database fails for good."""
        live = self.settled(name)
        if live is not None and "deletionTimestamp" not in live["metadata"]:
            database = database_of(self.rds, live)
            assert database is not None
            self.lost.add(live["metadata"]["uid"])
            self.rds.region.play(database.identifier, Stage("failed", float("inf")), then="failed")

    async def untag(self, name: str) -> None:
        """Somebody takes all tags off."""
        live = self.settled(name)
        if live is not None:
            database = database_of(self.rds, live)
            assert database is not None
            self.rds.region.tag(database.identifier, {})

    async def change_by_hand(self, name: str) -> None:
        """Somebody changes the database in AWS."""
        live = self.settled(name)
        if live is not None:
            database = database_of(self.rds, live)
            assert database is not None
            changes = ({"MultiAZ": True}, {"DBInstanceClass": "db.r6g.large"}, {"BackupRetentionPeriod": 3})
            self.rds.region.change(database.identifier, **self._chance.choice(changes))

    async def maintain(self, name: str) -> None:
        """The maintenance window comes."""
        live = self.settled(name)
        if live is not None:
            database = database_of(self.rds, live)
            assert database is not None
            self.rds.region.maintain(database.identifier)

    # The end

    async def finish(self) -> None:
        """Put right what only users can: Secrets, pauses, what keeps a deletion from its end."""
        await self.credentials()
        for name in self.names:
            live = self.live(name)
            if self.world.cluster.get("secrets", NAMESPACE, f"{name}-master") is None:
                await self.password(name)
            if live is None:
                continue
            await self.annotate(name, paused=None)
            if "deletionTimestamp" in live["metadata"]:
                broken = live["metadata"]["uid"] in self.lost
                await self.set(
                    name, deletionProtection=False, **({"deletionPolicy": "Delete"} if broken else {})
                )


Deed = Callable[[str], Any]
