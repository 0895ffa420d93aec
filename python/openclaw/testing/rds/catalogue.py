"""The engines, versions, classes and storage sizes that the stand-in offers: a small part of RDS' own."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from openclaw.testing.rds.errors import invalid_combination, invalid_value
from openclaw.testing.rds.wire import parse

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine: its versions, oldest first, its port, and how many parts of a version are its major one."""

    name: str
    port: int
    versions: tuple[str, ...]
    major_parts: int

    def major(self, version: str) -> str:
        """The major part of a version."""
        return ".".join(version.split(".")[: self.major_parts])

    def resolve(self, version: str | None) -> str:
        """The version meant: the newest one of a major version, or of all.

        Raises AWSError when there is none such.
        """
        prefix = "" if version is None else f"{version}."
        for known in reversed(self.versions):
            if known == version or known.startswith(prefix):
                return known
        raise invalid_combination(f"Cannot find version {version} for {self.name}")

    def upgrades(self, version: str) -> tuple[str, ...]:
        """The versions that one may be upgraded to."""
        return self.versions[self.versions.index(version) + 1 :]


ENGINES: Final[Mapping[str, Engine]] = {
    engine.name: engine
    for engine in (
        Engine("mariadb", 3306, ("10.11.9", "10.11.11", "11.4.4", "11.4.5"), 2),
        Engine("mysql", 3306, ("8.0.40", "8.0.42", "8.4.4", "8.4.5"), 2),
        Engine("postgres", 5432, ("15.12", "15.13", "16.8", "16.9", "17.4", "17.5"), 1),
    )
}
CLASSES: Final = tuple(
    f"db.{family}.{size}"
    for family, sizes in (
        ("t3", ("micro", "small", "medium", "large")),
        ("t4g", ("micro", "small", "medium", "large")),
        ("m5", ("large", "xlarge")),
        ("m6g", ("large", "xlarge")),
        ("m7g", ("large", "xlarge")),
        ("r6g", ("large", "xlarge")),
        ("r7g", ("large", "xlarge")),
    )
    for size in sizes
)
STORAGE_SIZES: Final[Mapping[str, range]] = {
    "gp2": range(20, 65537),
    "gp3": range(20, 65537),
    "io1": range(100, 65537),
    "io2": range(100, 65537),
    "standard": range(5, 3073),
}
_PAGE: Final = range(20, 101)


def engine_of(name: str) -> Engine:
    """The engine of that name; raises AWSError when there is none."""
    if name not in ENGINES:
        raise invalid_value(f"Invalid DB engine: {name}")
    return ENGINES[name]


def check(engine: Engine, values: Mapping[str, Any]) -> None:
    """Raise AWSError when class, storage type and size are not offered together."""
    if values["DBInstanceClass"] not in CLASSES:
        raise invalid_combination(
            "RDS does not support creating a DB instance with the following combination: "
            f"DBInstanceClass={values['DBInstanceClass']}, Engine={engine.name}, "
            f"EngineVersion={values['EngineVersion']}. For supported combinations of instance class and "
            "database engine version, see the documentation."
        )
    sizes = STORAGE_SIZES.get(values["StorageType"])
    if sizes is None:
        raise invalid_value(f"Invalid storage type: {values['StorageType']}")
    if values["AllocatedStorage"] not in sizes:
        raise invalid_value(
            f"Invalid storage size for engine name {engine.name} and storage type {values['StorageType']}: "
            f"{values['AllocatedStorage']}"
        )


def engine_versions(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeDBEngineVersions."""
    wanted = parameters.get("EngineVersion")
    found = [
        (engine, version)
        for engine in ENGINES.values()
        for version in engine.versions
        if parameters.get("Engine") in (None, engine.name)
        and (wanted is None or version == wanted or version.startswith(f"{wanted}."))
        and (parameters.get("DefaultOnly") != "true" or version == engine.resolve(None))
    ]
    shown, marker = page(found, parameters)
    return {"Marker": marker, "DBEngineVersions": [_version(engine, version) for engine, version in shown]}


def _version(engine: Engine, version: str) -> dict[str, Any]:
    return {
        "Engine": engine.name,
        "EngineVersion": version,
        "MajorEngineVersion": engine.major(version),
        "DBParameterGroupFamily": f"{engine.name}{engine.major(version)}",
        "Status": "available",
        "ValidUpgradeTarget": [
            {
                "Engine": engine.name,
                "EngineVersion": target,
                "AutoUpgrade": False,
                "IsMajorVersionUpgrade": engine.major(target) != engine.major(version),
            }
            for target in engine.upgrades(version)
        ],
    }


def orderable_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeOrderableDBInstanceOptions."""
    engine = engine_of(parameters["Engine"])
    wanted = {name: parameters.get(name) for name in ("EngineVersion", "DBInstanceClass")}
    found = [
        (version, instance_class, storage)
        for version in engine.versions
        for instance_class in CLASSES
        for storage in STORAGE_SIZES
        if wanted["EngineVersion"] in (None, version) and wanted["DBInstanceClass"] in (None, instance_class)
    ]
    shown, marker = page(found, parameters)
    return {
        "Marker": marker,
        "OrderableDBInstanceOptions": [
            {
                "Engine": engine.name,
                "EngineVersion": version,
                "DBInstanceClass": instance_class,
                "MultiAZCapable": True,
                "StorageType": storage,
                "MinStorageSize": STORAGE_SIZES[storage].start,
                "MaxStorageSize": STORAGE_SIZES[storage].stop - 1,
            }
            for version, instance_class, storage in shown
        ],
    }


def page(
    items: Sequence[Item], parameters: Mapping[str, Any], *, most: int = 100
) -> tuple[Sequence[Item], str | None]:
    """The page that MaxRecords and Marker ask for, and the marker of the next one.

    Raises AWSError when MaxRecords is not within 20 to 100, or the marker is none of ours.
    """
    size = parse(parameters.get("MaxRecords", "100"), int, "MaxRecords")
    if size not in _PAGE:
        raise invalid_value(
            f"Invalid value {size} for MaxRecords. Must be between {_PAGE.start} and {_PAGE.stop - 1}"
        )
    try:
        start = int(base64.b64decode(parameters.get("Marker", ""), validate=True) or b"0")
    except ValueError:
        raise invalid_value("Invalid value for Marker") from None
    end = start + min(size, most)
    more = end < len(items)
    return items[start:end], base64.b64encode(str(end).encode()).decode() if more else None
