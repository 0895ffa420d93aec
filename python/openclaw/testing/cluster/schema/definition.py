"""What is wrong with a CustomResourceDefinition: names, versions, subresources, columns, conversion."""

from __future__ import annotations

import re
from typing import Any, Final

from openclaw.testing.cluster.schema.names import long_name_faults, service_name_faults
from openclaw.testing.cluster.schema.structure_check import check_structure
from openclaw.testing.cluster.schema.values import shown
from openclaw.testing.cluster.statuses import Cause

Object = dict[str, Any]

_SCOPES: Final = ("Cluster", "Namespaced")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_ONE_OF_TYPES: Final = f"must be one of {','.join(_COLUMN_TYPES)}"
_PATH: Final = re.compile(r"(\.[^.\[\]]+(\[[^\]]*\])*)+|\.")
_HTTPS: Final = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
_IMMUTABLE: Final = "field is immutable"


def check_definition(definition: Object, old: Object | None) -> list[Cause]:
    """The causes of a 422."""
    causes: list[Cause] = []
    spec = definition.get("spec") or {}
    names = spec.get("names") or {}
    group = spec.get("group") or ""
    name = definition["metadata"].get("name", "")
    if old is None and name != f"{names.get('plural', '')}.{group}":
        _invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group', causes)
    _group(group, causes)
    scope = spec.get("scope")
    if not scope:
        causes.append(Cause.of("FieldValueRequired", "spec.scope"))
    elif scope not in _SCOPES:
        _unsupported("spec.scope", scope, _SCOPES, causes)
    if spec.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        _invalid("spec.preserveUnknownFields", value=True, detail=detail, causes=causes)
    _names(names, causes)
    _versions(definition, spec, causes)
    _conversion(spec.get("conversion") or {}, causes)
    if old is not None:
        _update(spec, old.get("spec") or {}, causes)
    return causes


def _group(group: str, causes: list[Cause]) -> None:
    if not group:
        causes.append(Cause.of("FieldValueRequired", "spec.group"))
        return
    for fault in long_name_faults(group):
        _invalid("spec.group", group, fault, causes)
    if "." not in group:
        _invalid("spec.group", group, "should be a domain with at least one dot", causes)


def _names(names: Object, causes: list[Cause]) -> None:
    for key in ("plural", "singular", "kind", "listKind"):
        value = names.get(key, "")
        if not value:
            causes.append(Cause.of("FieldValueRequired", f"spec.names.{key}"))
            continue
        mixed = key in {"kind", "listKind"}
        for fault in service_name_faults(value.lower() if mixed else value):
            text = f"may have mixed case, but should otherwise match: {fault}" if mixed else fault
            _invalid(f"spec.names.{key}", value, text, causes)
    for key in ("shortNames", "categories"):
        for at, value in enumerate(names.get(key) or ()):
            for fault in service_name_faults(value):
                _invalid(f"spec.names.{key}[{at}]", value, fault, causes)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        _invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same", causes)


def _versions(definition: Object, spec: Object, causes: list[Cause]) -> None:
    versions = spec.get("versions") or []
    listed = _go_versions(versions)
    storage = [one for one in versions if one.get("storage")]
    if len(storage) != 1:
        detail = "must have exactly one version marked as storage version"
        causes.append(Cause.of("FieldValueInvalid", "spec.versions", detail, listed))
    if len({one.get("name") for one in versions}) < len(versions):
        causes.append(
            Cause.of("FieldValueInvalid", "spec.versions", "must contain unique version names", listed)
        )
    _stored_versions(definition, versions, storage, causes)
    # Of one version alone, messages speak as of the definition's.
    alone = len(versions) == 1
    for at, version in enumerate(versions):
        place = f"spec.versions[{at}]"
        for fault in service_name_faults(version.get("name") or ""):
            _invalid(f"{place}.name", version.get("name"), fault, causes)
            if alone:
                _invalid("spec.version", version.get("name"), fault, causes)
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            causes.append(Cause.of("FieldValueRequired", f"{place}.schema.openAPIV3Schema"))
        else:
            check_structure(
                schema, f"{'spec.validation' if alone else f'{place}.schema'}.openAPIV3Schema", causes
            )
        _subresources(version.get("subresources") or {}, "spec" if alone else place, causes)
        _columns(version.get("additionalPrinterColumns") or [], "spec" if alone else place, causes)
        _selectable(version.get("selectableFields") or [], schema or {}, "spec" if alone else place, causes)


def _stored_versions(
    definition: Object, versions: list[Object], storage: list[Object], causes: list[Cause]
) -> None:
    field = "status.storedVersions"
    stored = (definition.get("status") or {}).get("storedVersions") or []
    if len(storage) > 1:
        # The first of them was taken for stored.
        detail = f"must have the storage version {storage[-1].get('name')}"
        _invalid(field, [storage[0].get("name")], detail, causes)
        return
    if not stored and not storage:
        _invalid(field, None, "must have at least one stored version", causes)
        return
    names = [one.get("name") for one in versions]
    for at, name in enumerate(stored):
        if name not in names:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                "spec.versions until a storage migration ensures no data remains persisted in "
                f"{name} and removes {name} from status.storedVersions"
            )
            _invalid(f"{field}[{at}]", name, detail, causes)


def _subresources(subresources: Object, place: str, causes: list[Cause]) -> None:
    scale = subresources.get("scale")
    if scale is None:
        return
    field = f"{place}.subresources.scale"
    for key, root in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        path = scale.get(key)
        if not path:
            causes.append(Cause.of("FieldValueRequired", f"{field}.{key}"))
        elif not path.startswith(f"{root}."):
            _invalid(f"{field}.{key}", path, f"should be a json path under {root}", causes)
    selector = scale.get("labelSelectorPath")
    if selector and not selector.startswith((".spec.", ".status.")):
        detail = "should be a json path under either .spec or .status"
        _invalid(f"{field}.labelSelectorPath", selector, detail, causes)


def _columns(columns: list[Object], place: str, causes: list[Cause]) -> None:
    for at, column in enumerate(columns):
        field = f"{place}.additionalPrinterColumns[{at}]"
        if not column.get("name"):
            causes.append(Cause.of("FieldValueRequired", f"{field}.name"))
        if not column.get("type"):
            causes.append(Cause.of("FieldValueRequired", f"{field}.type", _ONE_OF_TYPES))
        elif column["type"] not in _COLUMN_TYPES:
            _invalid(f"{field}.type", column["type"], _ONE_OF_TYPES, causes)
        path = column.get("jsonPath")
        if not path:
            causes.append(Cause.of("FieldValueRequired", f"{field}.JSONPath"))
        elif not path.startswith("."):
            _invalid(f"{field}.JSONPath", path, "must be a simple json path starting with .", causes)


def _selectable(fields: list[Object], schema: Object, place: str, causes: list[Cause]) -> None:
    for at, one in enumerate(fields):
        path = one.get("jsonPath") or ""
        node: Any = schema
        for name in path.removeprefix(".").split("."):
            node = (node.get("properties") or {}).get(name) if isinstance(node, dict) else None
        if not path:
            causes.append(Cause.of("FieldValueRequired", f"{place}.selectableFields[{at}].jsonPath"))
        elif node is None:
            detail = "is an invalid path: does not refer to a valid field"
            _invalid(f"{place}.selectableFields[{at}].jsonPath", path, detail, causes)


def _conversion(conversion: Object, causes: list[Cause]) -> None:
    strategy = conversion.get("strategy")
    if strategy not in {"None", "Webhook"}:
        if strategy:
            _unsupported("spec.conversion.strategy", strategy, ("None", "Webhook"), causes)
        return
    if strategy == "None":
        return
    webhook = conversion.get("webhook") or {}
    config = webhook.get("clientConfig")
    if not config:
        detail = "required when strategy is set to Webhook"
        causes.append(Cause.of("FieldValueRequired", "spec.conversion.webhookClientConfig", detail))
    elif config.get("url") and not config["url"].startswith("https://"):
        _invalid("spec.conversion.webhookClientConfig.url", config["url"].partition("://")[0], _HTTPS, causes)
    if not webhook.get("conversionReviewVersions"):
        causes.append(Cause.of("FieldValueRequired", "spec.conversion.conversionReviewVersions"))


def _update(spec: Object, old: Object, causes: list[Cause]) -> None:
    for key in ("group", "scope"):
        if spec.get(key) != old.get(key):
            _invalid(f"spec.{key}", spec.get(key), _IMMUTABLE, causes)
    names, before = spec.get("names") or {}, old.get("names") or {}
    for key in ("plural", "kind"):
        if names.get(key) != before.get(key):
            _invalid(f"spec.names.{key}", names.get(key), _IMMUTABLE, causes)


def _go_versions(versions: list[Object]) -> str:
    empty = {"Schema": None, "Subresources": None, "AdditionalPrinterColumns": None, "SelectableFields": None}
    return shown(
        [
            {
                "Name": one.get("name", ""),
                "Served": one.get("served", False),
                "Storage": one.get("storage", False),
                "Deprecated": one.get("deprecated", False),
                "DeprecationWarning": one.get("deprecationWarning"),
                **empty,
            }
            for one in versions
        ]
    )


def _invalid(field: str, value: Any, detail: str, causes: list[Cause]) -> None:
    causes.append(Cause.of("FieldValueInvalid", field, detail, shown(value)))


def _unsupported(field: str, value: Any, allowed: tuple[str, ...], causes: list[Cause]) -> None:
    listed = ", ".join(shown(one) for one in allowed)
    causes.append(Cause.of("FieldValueNotSupported", field, f"supported values: {listed}", shown(value)))
