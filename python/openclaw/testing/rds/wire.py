"""The AWS query protocol: forms in, XML out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from xml.etree import ElementTree as ET

from openclaw.testing.rds.errors import AWSError, invalid_value

NAMESPACES: Final = {
    "rds": "http://rds.amazonaws.com/doc/2014-10-31/",
    "sts": "https://sts.amazonaws.com/doc/2011-06-15/",
}
# A list's elements are named by RDS' service model, not by a rule.
_MEMBERS: Final = {
    "AvailabilityZones": "AvailabilityZone",
    "DBEngineVersions": "DBEngineVersion",
    "DBInstances": "DBInstance",
    "DBParameterGroups": "DBParameterGroup",
    "DBSnapshots": "DBSnapshot",
    "OrderableDBInstanceOptions": "OrderableDBInstanceOption",
    "TagList": "Tag",
    "ValidUpgradeTarget": "UpgradeTarget",
    "VpcSecurityGroups": "VpcSecurityGroupMembership",
}


def decode(form: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The parameters of a call: `Tags.Tag.1.Key=a` becomes `{"Tags": [{"Key": "a"}]}`.

    Raises AWSError when a name is given twice, or is both a value and a structure.
    """
    tree: dict[str, Any] = {}
    for name, value in form:
        *path, last = name.split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise AWSError("MalformedInput", f"{name} is both a value and a structure")
        if last in place:
            raise AWSError("MalformedInput", f"{name} is given twice")
        place[last] = value
    return {name: _collapse(value) for name, value in tree.items()}


def _collapse(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (items,) = value.values()
        if isinstance(items, dict) and items and all(number.isdigit() for number in items):
            return [_collapse(items[number]) for number in sorted(items, key=int)]
    return {name: _collapse(item) for name, item in value.items()}


def encode(action: str, result: Mapping[str, Any], *, service: str, request_id: str) -> bytes:
    """The body of an answer."""
    root = ET.Element(f"{action}Response", xmlns=NAMESPACES[service])
    _fill(ET.SubElement(root, f"{action}Result"), result)
    ET.SubElement(ET.SubElement(root, "ResponseMetadata"), "RequestId").text = request_id
    return _bytes(root)


def encode_error(error: AWSError, *, service: str, request_id: str) -> bytes:
    """The body of a refusal."""
    root = ET.Element("ErrorResponse", xmlns=NAMESPACES[service])
    side = "Receiver" if error.status >= 500 else "Sender"  # noqa: PLR2004
    _fill(ET.SubElement(root, "Error"), {"Type": side, "Code": error.code, "Message": error.message})
    ET.SubElement(root, "RequestId").text = request_id
    return _bytes(root)


def _bytes(root: ET.Element) -> bytes:
    body: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return body


def _fill(element: ET.Element, content: Mapping[str, Any]) -> None:
    for name, value in content.items():
        if value is None:
            continue
        child = ET.SubElement(element, name)
        if isinstance(value, Mapping):
            _fill(child, value)
        elif isinstance(value, list | tuple):
            for item in value:
                member = ET.SubElement(child, _MEMBERS[name])
                if isinstance(item, Mapping):
                    _fill(member, item)
                else:
                    member.text = text(item)
        else:
            child.text = text(value)


def text(value: Any) -> str:
    """A plain value as it is written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return str(value)


def parse(value: Any, kind: type, name: str) -> Any:
    """A parameter as an int, a bool, a str, or a tuple of texts for `list`.

    Raises AWSError when it is none.
    """
    if kind is bool and value in ("true", "false"):
        return value == "true"
    if kind is int:
        try:
            return int(value)
        except (TypeError, ValueError):
            pass
    if kind is str and isinstance(value, str):
        return value
    if kind is list and isinstance(value, list):
        return tuple(map(str, value))
    raise invalid_value(f"Invalid value for parameter {name}: {kind.__name__} expected")
