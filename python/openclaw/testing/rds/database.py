"""One database instance, and what CreateDBInstance and ModifyDBInstance make of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Self

from openclaw.testing.rds.attributes import ATTRIBUTES, SECRET, read, shown
from openclaw.testing.rds.catalogue import check, engine_of
from openclaw.testing.rds.errors import AWSError, invalid_combination, invalid_state, invalid_value
from openclaw.testing.rds.timeline import Stage, Timelines
from openclaw.testing.rds.wire import parse

_IDENTIFIER: Final = re.compile(r"(?!.*--)[a-z](?:[a-z0-9-]*[a-z0-9])?")
_LONGEST: Final = {"DBInstanceIdentifier": 63}
_LONGEST_OTHERWISE: Final = 255  # of snapshots
_SHORTEST_PASSWORD: Final = 8
_PASSWORD: Final = re.compile(r"[\x21-\x7e]+")
_GROWTH: Final = 10  # percent; the least that RDS grows storage by
_MODIFIABLE: Final = frozenset(
    {
        "available",
        "incompatible-parameters",
        "storage-full",
        "storage-optimization",
        "incompatible-credentials",
    }
)
_HAS_NO_ENDPOINT: Final = frozenset({"creating"})
_REQUIRED: Final = ("AllocatedStorage", "DBInstanceClass", "Engine", "MasterUsername", SECRET)


@dataclass(frozen=True)
class Database:
    """An instance at one time.

    Attributes:
        values: its attributes, by RDS' names (`attributes`).
        pending: changes that were asked for and are not there yet.
        tags: by key.
    """

    identifier: str
    resource_id: str
    arn: str
    created: datetime
    status: str
    values: Mapping[str, Any] = field(repr=False)  # with the password
    pending: Mapping[str, Any] = field(default_factory=dict, repr=False)
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def password(self) -> str:
        """The master password that the database takes now."""
        password: str = self.values[SECRET]
        return password

    @property
    def endpoint(self) -> tuple[str, int]:
        """Address and port."""
        region, account = self.arn.split(":")[3:5]
        return f"{self.identifier}.c{account}.{region}.rds.amazonaws.com", self.values["Port"]

    def is_(self, status: str) -> Self:
        """The same instance in another status."""
        return replace(self, status=status)

    def apply(self, changes: Mapping[str, Any]) -> Self:
        """With the changes there, and no longer pending."""
        left = {name: value for name, value in self.pending.items() if name not in changes}
        return replace(self, values={**self.values, **changes}, pending=left)

    def describe(self) -> dict[str, Any]:
        """As DescribeDBInstances answers."""
        address, port = self.endpoint
        pending = {name: "****" if name == SECRET else value for name, value in self.pending.items()}
        return {
            "DBInstanceIdentifier": self.identifier,
            "DBInstanceStatus": self.status,
            **shown(self.values),
            "Endpoint": None if self.status in _HAS_NO_ENDPOINT else {"Address": address, "Port": port},
            "InstanceCreateTime": None if self.status in _HAS_NO_ENDPOINT else self.created,
            "PendingModifiedValues": pending,
            "DbiResourceId": self.resource_id,
            "DBInstanceArn": self.arn,
            "TagList": describe_tags(self.tags),
        }


def describe_tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Tags as answers hold them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def read_tags(parameters: Mapping[str, Any]) -> dict[str, str]:
    """The tags of a call's parameters."""
    return {tag["Key"]: tag.get("Value", "") for tag in parameters.get("Tags") or ()}


def check_identifier(name: str, parameters: Mapping[str, Any]) -> str:
    """The identifier in a parameter, in lower case as RDS keeps it.

    Raises AWSError when it is missing or not allowed.
    """
    identifier = str(require(name, parameters)).lower()
    longest = _LONGEST.get(name, _LONGEST_OTHERWISE)
    if not _IDENTIFIER.fullmatch(identifier) or len(identifier) > longest:
        raise invalid_value(
            f"The parameter {name} is not a valid identifier. Identifiers must begin with a letter; must "
            "contain only ASCII letters, digits, and hyphens; and must not end with a hyphen or contain two "
            "consecutive hyphens."
        )
    return identifier


def require(name: str, parameters: Mapping[str, Any]) -> Any:
    """A parameter that must be there."""
    if name not in parameters:
        raise AWSError("MissingParameter", f"The request must contain the parameter {name}")
    return parameters[name]


def create(
    identifier: str, arn: str, parameters: Mapping[str, Any], *, now: float, resource_id: str
) -> Database:
    """The instance that CreateDBInstance makes; raises AWSError when its parameters are not right."""
    for name in _REQUIRED:
        require(name, parameters)
    asked = read(parameters)
    engine = engine_of(asked["Engine"])
    values = {name: attribute.default for name, attribute in ATTRIBUTES.items()}
    values |= {"Port": engine.port, "AvailabilityZone": f"{arn.split(':')[3]}a"}
    version = engine.resolve(asked.get("EngineVersion"))
    values["DBParameterGroupName"] = f"default.{engine.name}{engine.major(version)}"
    values |= asked | {"EngineVersion": version}
    check(engine, values)
    _check_password(values[SECRET])
    return Database(
        identifier=identifier,
        resource_id=resource_id,
        arn=arn,
        created=datetime.fromtimestamp(now, UTC),
        status="creating",
        values=values,
        tags=read_tags(parameters),
    )


def _check_password(password: str) -> None:
    if len(password) < _SHORTEST_PASSWORD:
        raise invalid_value(
            "The parameter MasterUserPassword is not a valid password because it is shorter than "
            f"{_SHORTEST_PASSWORD} characters."
        )
    if not _PASSWORD.fullmatch(password) or set(password) & set('/@"'):
        raise invalid_value(
            "The parameter MasterUserPassword is not a valid password. Only printable ASCII characters "
            "besides '/', '@', '\"', ' ' may be used."
        )


def changes_of(database: Database, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What ModifyDBInstance is to change, as it will be; raises AWSError when it may not."""
    asked = dict(parameters)
    if "DBPortNumber" in asked:
        asked["Port"] = asked.pop("DBPortNumber")
    changes = read(asked)
    if not changes:
        raise invalid_combination("No modifications were requested")
    for name in changes:
        if not ATTRIBUTES[name].modifiable:
            raise invalid_value(f"{name} cannot be modified")
    if database.status not in _MODIFIABLE:
        raise invalid_state(
            f"Database instance is not in available state: {database.identifier} is {database.status}"
        )
    _check_storage(database, changes)
    _check_upgrade(database, changes, parameters)
    if SECRET in changes:
        _check_password(changes[SECRET])
    engine = engine_of(database.values["Engine"])
    check(engine, {**database.values, **changes})
    return {
        name: value
        for name, value in changes.items()
        if name == SECRET or value != database.pending.get(name, database.values[name])
    }


def _check_storage(database: Database, changes: dict[str, Any]) -> None:
    wanted, now = changes.get("AllocatedStorage"), database.values["AllocatedStorage"]
    if wanted is None or wanted == now:
        return
    if wanted < now:
        raise invalid_combination(
            f"Invalid storage size for {database.identifier}: allocated storage cannot be reduced from {now} "
            f"to {wanted}"
        )
    if database.status == "storage-optimization":
        raise invalid_combination(
            "You can't currently modify the storage of this DB instance because the previous storage change "
            "is being optimized."
        )
    # RDS rounds a growth by less up, says its reference of AllocatedStorage.
    changes["AllocatedStorage"] = max(wanted, -(-now * (100 + _GROWTH) // 100))


def _check_upgrade(database: Database, changes: dict[str, Any], parameters: Mapping[str, Any]) -> None:
    if "EngineVersion" not in changes:
        return
    engine, now = engine_of(database.values["Engine"]), database.values["EngineVersion"]
    wanted = changes["EngineVersion"] = engine.resolve(changes["EngineVersion"])
    if wanted == now:
        return
    if wanted not in engine.upgrades(now):
        raise invalid_combination(f"Cannot upgrade {engine.name} from {now} to {wanted}")
    allowed = parse(parameters.get("AllowMajorVersionUpgrade", "false"), bool, "AllowMajorVersionUpgrade")
    if engine.major(wanted) != engine.major(now) and not allowed:
        raise invalid_combination(
            "The AllowMajorVersionUpgrade flag must be present when upgrading to a new major version."
        )


def being_modified(
    database: Database, work: Mapping[str, Any], timelines: Timelines
) -> Iterator[tuple[float, Database]]:
    """The states of an instance to which changes are applied now: each, and for how many seconds."""
    yield from through(replace(database, pending={**database.pending, **work}), _stages_of(work, timelines))
    database = database.apply(work)
    yield from through(database, timelines.storage if "AllocatedStorage" in work else ())
    yield 0.0, database.is_("available")


def _stages_of(work: Mapping[str, Any], timelines: Timelines) -> tuple[Stage, ...]:
    if "EngineVersion" in work:
        return timelines.upgrade
    return timelines.password if work.keys() == {SECRET} else timelines.modify


def through(database: Database, stages: tuple[Stage, ...]) -> Iterator[tuple[float, Database]]:
    """The instance in each of the stages."""
    for stage in stages:
        yield stage.seconds, database.is_(stage.status)
