"""`x-kubernetes-validations` of a definition: compiled against the schema, checked for what they may say.

The cost of rules is not estimated.
"""

from __future__ import annotations

from typing import Any, Final

from openclaw.testing.cluster.cel.checker import TypeChecker
from openclaw.testing.cluster.cel.environment import MAXIMUM_LENGTH, ExpressionError, uses_old_self
from openclaw.testing.cluster.schema.node import Compiler
from openclaw.testing.cluster.schema.values import shown
from openclaw.testing.cluster.statuses import Cause

Object = dict[str, Any]

_RULES: Final = "x-kubernetes-validations"
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_MAXIMUM_MESSAGE: Final = 2048


def check_definition_rules(schema: Object, path: str, causes: list[Cause]) -> None:
    """Append what is wrong with the rules of a schema."""
    _walk(schema, path, causes, uncorrelated="", root=True)


def _walk(schema: Object, path: str, causes: list[Cause], *, uncorrelated: str, root: bool = False) -> None:
    rules = schema.get(_RULES) or ()
    if rules:
        embedded = schema.get("x-kubernetes-embedded-resource", False)
        checker = TypeChecker(Compiler().node(schema), root=root or embedded)
        for at, rule in enumerate(rules):
            _rule(rule, schema, checker, f"{path}.{_RULES}[{at}]", causes, uncorrelated=uncorrelated)
    for name, below in (schema.get("properties") or {}).items():
        _walk(below, f"{path}.properties[{name}]", causes, uncorrelated=uncorrelated)
    if isinstance(schema.get("items"), dict):
        # Whether an item is the same as before is only known of list maps.
        known = schema.get("x-kubernetes-list-type") == "map"
        _walk(schema["items"], f"{path}.items", causes, uncorrelated=uncorrelated or ("" if known else path))
    if isinstance(schema.get("additionalProperties"), dict):
        _walk(
            schema["additionalProperties"], f"{path}.additionalProperties", causes, uncorrelated=uncorrelated
        )


def _rule(
    rule: Object, schema: Object, checker: TypeChecker, path: str, causes: list[Cause], *, uncorrelated: str
) -> None:
    text = (rule.get("rule") or "").strip()
    optional = rule.get("optionalOldSelf", False)
    _texts(rule, schema, path, causes)
    if not text:
        causes.append(Cause.of("FieldValueRequired", f"{path}.rule", "rule is not specified"))
        return
    if len(text) > MAXIMUM_LENGTH:
        causes.append(
            Cause.of("FieldValueTooLong", f"{path}.rule", f"may not be more than {MAXIMUM_LENGTH} bytes")
        )
        return
    try:
        result = checker.check(text, optional_old_self=optional)
    except ExpressionError as error:
        _invalid(f"{path}.rule", _go_rule(rule), f"compilation failed: {error}", causes)
    else:
        if result not in {"BOOL", "DYN"}:
            _invalid(f"{path}.rule", _go_rule(rule), "cel expression must evaluate to a bool", causes)
    if uncorrelated and uses_old_self(text):
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
        _invalid(f"{path}.rule", text, detail, causes)
    if expression := rule.get("messageExpression"):
        try:
            result = checker.check(expression, optional_old_self=optional)
        except ExpressionError as error:
            detail = f"messageExpression compilation failed: {error}"
            _invalid(f"{path}.messageExpression", _go_rule(rule), detail, causes)
        else:
            if result not in {"STRING", "DYN"}:
                detail = "messageExpression must evaluate to a string"
                _invalid(f"{path}.messageExpression", _go_rule(rule), detail, causes)


def _texts(rule: Object, schema: Object, path: str, causes: list[Cause]) -> None:
    message = rule.get("message")
    if message:
        if not message.strip():
            _invalid(f"{path}.message", message, "must be non-empty if specified", causes)
        elif "\n" in message:
            _invalid(f"{path}.message", message, "must not contain line breaks", causes)
        elif len(message) > _MAXIMUM_MESSAGE:
            detail = f"may not be more than {_MAXIMUM_MESSAGE} bytes"
            causes.append(Cause.of("FieldValueTooLong", f"{path}.message", detail))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        listed = ", ".join(shown(one) for one in _REASONS)
        causes.append(
            Cause.of("FieldValueNotSupported", f"{path}.reason", f"supported values: {listed}", shown(reason))
        )
    if field := rule.get("fieldPath"):
        node: Any = schema
        for name in field.removeprefix(".").split("."):
            node = (node.get("properties") or {}).get(name) if isinstance(node, dict) else None
        if node is None:
            _invalid(f"{path}.fieldPath", field, "must be a valid path", causes)


def _go_rule(rule: Object) -> Object:
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def _invalid(field: str, value: Any, detail: str, causes: list[Cause]) -> None:
    causes.append(Cause.of("FieldValueInvalid", field, detail, shown(value)))
