"""`x-kubernetes-validations` held against an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from openclaw.testing.cluster.cel.environment import Expression, ExpressionError, expression
from openclaw.testing.cluster.cel.values import cel_value
from openclaw.testing.cluster.schema.node import Node, path_of
from openclaw.testing.cluster.schema.structural import MISSING
from openclaw.testing.cluster.schema.uniqueness import item_key
from openclaw.testing.cluster.schema.values import shown, type_of
from openclaw.testing.cluster.statuses import Cause

_ROOT_METADATA: Final = ("name", "generateName")


def check_rules(
    node: Node, value: Any, old: Any, causes: list[Cause], path: str = "", *, root: bool = False
) -> None:
    """Append what the rules at and below `node` say of `value`; `old` is MISSING when it is new."""
    if not node.ruled or value is None:
        return
    if node.rules:
        _check(node, value, old, causes, path, root=root or node.embedded)
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for key, below in value.items():
            child = node.properties.get(key) or node.additional
            if child is not None and child.ruled:
                check_rules(child, below, before.get(key, MISSING), causes, path_of(path, key))
    elif isinstance(value, list) and node.items is not None and node.items.ruled:
        # Only items with a key are known to be the same as before.
        known: dict[bytes, Any] = {}
        if node.list_kind == "map" and isinstance(old, list):
            known = {item_key(node, item): item for item in old if isinstance(item, dict)}
        for at, item in enumerate(value):
            before_item = MISSING
            if known and isinstance(item, dict):
                before_item = known.get(item_key(node, item), MISSING)
            check_rules(node.items, item, before_item, causes, f"{path}[{at}]")


def _check(node: Node, value: Any, old: Any, causes: list[Cause], path: str, *, root: bool) -> None:
    unchanged = old is not MISSING and old == value
    variables: dict[str, Any] | None = None
    for rule in node.rules:
        text = rule["rule"]
        optional = rule.get("optionalOldSelf", False)
        try:
            program = expression(text, old is not MISSING if optional else None)
        except ExpressionError as error:
            causes.append(_failed(rule, path, value, f"rule compile error: {error}"))
            continue
        if program.transition:
            if old is MISSING and not optional:
                continue
        elif unchanged:
            continue  # Ratcheting.
        if variables is None:
            variables = {"self": _visible(node, value, root=root)}
            variables["oldSelf"] = None if old is MISSING else _visible(node, old, root=root)
        _evaluate(rule, program, variables, value, causes, path)


def _visible(node: Node, value: Any, *, root: bool) -> Any:
    if not root or not isinstance(value, dict):
        return cel_value(node, value)
    seen = cel_value(node, {key: it for key, it in value.items() if key != "metadata"})
    own = {key: value[key] for key in ("apiVersion", "kind") if key in value}
    metadata = value.get("metadata") or {}
    return {**seen, **own, "metadata": {key: metadata[key] for key in _ROOT_METADATA if key in metadata}}


def _evaluate(  # noqa: PLR0917  One place of an object.
    rule: Mapping[str, Any],
    program: Expression,
    variables: Mapping[str, Any],
    value: Any,
    causes: list[Cause],
    path: str,
) -> None:
    try:
        if program.evaluate(variables) is True:
            return
    except ExpressionError as error:
        causes.append(_failed(rule, path, value, str(error)))
        return
    reason = rule.get("reason") or "FieldValueInvalid"
    field = path_of(path, rule["fieldPath"].removeprefix(".")) if rule.get("fieldPath") else path
    field = field or "<nil>"
    message = _message(rule, variables)
    # Go shows the values of scalars only.
    scalar = not isinstance(value, dict | list) and reason in {"FieldValueInvalid", "FieldValueDuplicate"}
    causes.append(Cause.of(reason, field, message, shown(value) if scalar else None))


def _message(rule: Mapping[str, Any], variables: Mapping[str, Any]) -> str:
    if text := rule.get("messageExpression"):
        try:
            message = expression(
                text, variables["oldSelf"] is not None if rule.get("optionalOldSelf") else None
            )
            said = message.evaluate(variables)
        except ExpressionError:
            said = None  # The server logs it and takes the plain message.
        if isinstance(said, str) and said.strip() and "\n" not in said:
            return said.strip()
    return rule.get("message") or f"failed rule: {rule['rule'].strip()}"


def _failed(rule: Mapping[str, Any], path: str, value: Any, error: str) -> Cause:
    named = rule.get("message") or rule["rule"].strip()
    return Cause.of(
        "FieldValueInvalid", path or "<nil>", f"{error} evaluating rule: {named}", f'"{type_of(value)}"'
    )
