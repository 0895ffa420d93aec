"""The RDS operations that the stand-in knows, each a function of a region and a call's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from openclaw.testing.rds.attributes import ATTRIBUTES
from openclaw.testing.rds.catalogue import engine_versions, orderable_options, page
from openclaw.testing.rds.database import (
    Database,
    being_modified,
    changes_of,
    check_identifier,
    create,
    describe_tags,
    read_tags,
    require,
    through,
)
from openclaw.testing.rds.errors import (
    AWSError,
    instance_not_found,
    invalid_combination,
    invalid_state,
    invalid_value,
    snapshot_not_found,
)
from openclaw.testing.rds.region import Region
from openclaw.testing.rds.wire import parse

Parameters = Mapping[str, Any]
Answer = dict[str, Any]

_INSTANCE: Final = "DBInstanceIdentifier"
_FINAL_SNAPSHOT: Final = "FinalDBSnapshotIdentifier"
_CREATE: Final = frozenset({_INSTANCE, "Tags", *ATTRIBUTES})
_MODIFY: Final = frozenset(
    {_INSTANCE, "ApplyImmediately", "AllowMajorVersionUpgrade", "DBPortNumber", *ATTRIBUTES}
) - {"Port"}
_DELETE: Final = frozenset({_INSTANCE, "SkipFinalSnapshot", _FINAL_SNAPSHOT, "DeleteAutomatedBackups"})
_FILTERS: Final[Mapping[str, Callable[[Database], str]]] = {
    "db-instance-id": lambda database: database.identifier,
    "dbi-resource-id": lambda database: database.resource_id,
    "engine": lambda database: str(database.values["Engine"]),
}
_SNAPSHOT_FROM: Final = frozenset({"available", "storage-full", "storage-optimization"})


def _only(known: frozenset[str], parameters: Parameters) -> None:
    """What would be silently ignored would make a test pass that should not."""
    for name in parameters:
        if name not in known:
            raise invalid_value(f"The stand-in does not know the parameter {name} of this operation")


def _create(region: Region, parameters: Parameters) -> Answer:
    _only(_CREATE, parameters)
    identifier = check_identifier(_INSTANCE, parameters)
    if region.database(identifier) is not None:
        raise AWSError("DBInstanceAlreadyExists", "DB instance already exists")
    if len(region.databases) >= region.behaviour.instance_quota:
        raise AWSError("InstanceQuotaExceeded", "Instance quota exceeded")
    database = create(
        identifier,
        region.arn("db", identifier),
        parameters,
        now=region.clock.now(),
        resource_id=region.new_resource_id(),
    )
    stages = through(database, region.behaviour.timelines.create)
    made = region.plan(identifier, [*stages, (0.0, database.is_("available"))])
    return _described(made)


def _modify(region: Region, parameters: Parameters) -> Answer:
    _only(_MODIFY, parameters)
    database = _find(region, parameters)
    changes = changes_of(database, parameters)
    at_once = parse(parameters.get("ApplyImmediately", "false"), bool, "ApplyImmediately")
    if at_once:
        changes = {**database.pending, **changes}
    waiting = {} if at_once else {name: it for name, it in changes.items() if ATTRIBUTES[name].waits}
    quick = {name: it for name, it in changes.items() if not ATTRIBUTES[name].works}
    work = {name: it for name, it in changes.items() if name not in waiting and name not in quick}
    # Asking for the value that is there takes a pending change back.
    pending = {
        name: it for name, it in {**database.pending, **waiting}.items() if it != database.values[name]
    }
    # Neither what is quick nor what waits disturbs what the instance is going through.
    region.replan(database.identifier, lambda state: replace(state.apply(quick), pending=pending))
    if work:
        now = replace(database.apply(quick), pending=pending)
        region.plan(database.identifier, being_modified(now, work, region.behaviour.timelines))
    return _described(region.database(database.identifier))


def _delete(region: Region, parameters: Parameters) -> Answer:
    _only(_DELETE, parameters)
    skip = parse(parameters.get("SkipFinalSnapshot", "false"), bool, "SkipFinalSnapshot")
    snapshot = parameters.get(_FINAL_SNAPSHOT)
    database = _find(region, parameters)
    if database.values["DeletionProtection"]:
        raise invalid_combination(
            "Cannot delete protected DB Instance, please disable deletion protection and try again."
        )
    if skip and snapshot:
        raise invalid_combination("FinalDBSnapshotIdentifier can not be specified when skipping it.")
    if not skip and not snapshot:
        raise invalid_combination(
            "FinalDBSnapshotIdentifier is required unless SkipFinalSnapshot is specified."
        )
    if database.status == "deleting":
        raise invalid_state(f"Instance {database.identifier} is already being deleted.")
    stages = region.behaviour.timelines.delete
    if snapshot:
        _final_snapshot(region, database, parameters, sum(stage.seconds for stage in stages))
    going = replace(database, pending={}, status="deleting")
    region.plan(database.identifier, [*through(going, stages), (0.0, None)])
    return _described(going)


def _final_snapshot(region: Region, database: Database, parameters: Parameters, seconds: float) -> None:
    identifier = check_identifier(_FINAL_SNAPSHOT, parameters)
    if any(snapshot.identifier == identifier for snapshot in region.snapshots):
        raise AWSError(
            "DBSnapshotAlreadyExists",
            f"Cannot create the snapshot because a snapshot with the identifier {identifier} already exists.",
        )
    if database.status not in _SNAPSHOT_FROM:
        raise invalid_state(
            f"Cannot create a snapshot because the database instance {database.identifier} is not currently "
            "in the available state."
        )
    region.take_snapshot(identifier, database, seconds)


def _describe(region: Region, parameters: Parameters) -> Answer:
    behaviour = region.behaviour
    tests = _filters(parameters)
    if _INSTANCE in parameters:
        identifier = parameters[_INSTANCE].lower()
        database = region.seen(identifier, lag=behaviour.describe_lag)
        if database is None:
            raise instance_not_found(identifier)
        found = [database]
    else:
        found = region.list_seen(lag=behaviour.listing_lag)
        if behaviour.unordered:
            region.chance.shuffle(found)
    found = [database for database in found if all(test(database) for test in tests)]
    shown, marker = page(found, parameters, most=behaviour.listing_page)
    return {"Marker": marker, "DBInstances": [database.describe() for database in shown]}


def _filters(parameters: Parameters) -> list[Callable[[Database], bool]]:
    tests = []
    for asked in parameters.get("Filters") or ():
        value_of = _FILTERS.get(asked["Name"])
        if value_of is None:
            raise invalid_value(f"Unrecognized filter name: {asked['Name']}")
        tests.append(_one_of(value_of, frozenset(asked["Values"])))
    return tests


def _one_of(value_of: Callable[[Database], str], values: frozenset[str]) -> Callable[[Database], bool]:
    return lambda database: value_of(database) in values


def _snapshots(region: Region, parameters: Parameters) -> Answer:
    found = region.snapshots
    identifier = parameters.get("DBSnapshotIdentifier")
    if identifier is not None:
        found = [snapshot for snapshot in found if snapshot.identifier == identifier.lower()]
        if not found:
            raise snapshot_not_found(identifier)
    if _INSTANCE in parameters:
        of = parameters[_INSTANCE].lower()
        found = [snapshot for snapshot in found if snapshot.database.identifier == of]
    shown, marker = page(found, parameters)
    return {"Marker": marker, "DBSnapshots": [snapshot.describe() for snapshot in shown]}


def _list_tags(region: Region, parameters: Parameters) -> Answer:
    return {"TagList": describe_tags(_tagged(region, parameters).tags)}


def _add_tags(region: Region, parameters: Parameters) -> Answer:
    database = _tagged(region, parameters)
    _retag(region, database, {**database.tags, **read_tags(parameters)})
    return {}


def _remove_tags(region: Region, parameters: Parameters) -> Answer:
    database = _tagged(region, parameters)
    gone = set(parameters.get("TagKeys") or ())
    _retag(region, database, {key: value for key, value in database.tags.items() if key not in gone})
    return {}


def _retag(region: Region, database: Database, tags: Mapping[str, str]) -> None:
    region.replan(database.identifier, lambda state: replace(state, tags=tags))


def _tagged(region: Region, parameters: Parameters) -> Database:
    name = require("ResourceName", parameters)
    database = region.database(name.rsplit(":", 1)[-1])
    if database is None or database.arn != name:
        raise instance_not_found(name)
    return database


def _find(region: Region, parameters: Parameters) -> Database:
    identifier = str(require(_INSTANCE, parameters)).lower()
    database = region.database(identifier)
    if database is None:
        raise instance_not_found(identifier)
    return database


def _described(database: Database | None) -> Answer:
    return {"DBInstance": None if database is None else database.describe()}


OPERATIONS: Final[Mapping[str, Callable[[Region, Parameters], Answer]]] = {
    "AddTagsToResource": _add_tags,
    "CreateDBInstance": _create,
    "DeleteDBInstance": _delete,
    "DescribeDBEngineVersions": lambda _, parameters: engine_versions(parameters),
    "DescribeDBInstances": _describe,
    "DescribeDBSnapshots": _snapshots,
    "DescribeOrderableDBInstanceOptions": lambda _, parameters: orderable_options(parameters),
    "ListTagsForResource": _list_tags,
    "ModifyDBInstance": _modify,
    "RemoveTagsFromResource": _remove_tags,
}
READS: Final = frozenset(name for name in OPERATIONS if name.startswith(("Describe", "List")))
