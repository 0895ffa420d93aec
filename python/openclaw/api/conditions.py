"""Conditions in a status, to the Kubernetes API conventions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

ConditionStatus = Literal["True", "False", "Unknown"]

MAX_MESSAGE = 32768
MAX_REASON = 1024
MAX_TYPE = 316

_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_TYPE = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
)


class Condition(BaseModel):
    """One observation about an object.

    Reading is lenient (other controllers' conditions must survive); `Conditions.set` holds ours to the
    conventions.

    Attributes:
        type: what is observed, in CamelCase.
        status: `True`, `False` or `Unknown`.
        reason: why, in one CamelCase word, for programs.
        message: why, for people.
        observed_generation: the `metadata.generation` that the observation speaks of.
        last_transition_time: when `status` last changed: RFC 3339, UTC, whole seconds.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="allow",
        frozen=True,
    )

    type: str
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None
    last_transition_time: str | None = None


class ConditionType(str):
    """The name of a condition, and the way to state it.

    AVAILABLE = ConditionType("Available", true_reason="AllReady", false_reason="NotReady")
    status.conditions.set(AVAILABLE(when=ready == wanted, message=f"{ready} of {wanted} replicas are ready"))
    status.conditions.get(AVAILABLE)
    """

    __slots__ = ("_reasons",)

    _reasons: dict[ConditionStatus, str]

    def __new__(
        cls, name: str, *, true_reason: str, false_reason: str, unknown_reason: str = "Unknown"
    ) -> Self:
        """Name a condition and the reasons that stand when none is given."""
        self = super().__new__(cls, name)
        self._reasons = {"True": true_reason, "False": false_reason, "Unknown": unknown_reason}
        return self

    def __call__(
        self,
        when: bool | None,  # noqa: FBT001 - reads as a sentence: Available(when=…)
        *,
        reason: str | None = None,
        message: str = "",
        observed_generation: int | None = None,
    ) -> Condition:
        """State the condition: True or False as `when` is, Unknown when it is None; each has a reason."""
        status: ConditionStatus = "Unknown" if when is None else "True" if when else "False"
        return Condition(
            type=str(self),
            status=status,
            reason=self._reasons[status] if reason is None else reason,
            message=message,
            observed_generation=observed_generation,
        )


Available = ConditionType("Available", true_reason="Available", false_reason="Unavailable")
Progressing = ConditionType("Progressing", true_reason="Progressing", false_reason="AsExpected")
Degraded = ConditionType("Degraded", true_reason="Degraded", false_reason="AsExpected")


class Conditions:
    """The conditions of an object, in the order in which they came, one of each type.

    A status field of this type is a `map` list by `type` in the CRD, so each controller owns its own
    conditions.
    """

    __slots__ = ("_conditions", "_generation")

    def __init__(self, conditions: Iterable[Condition] = ()) -> None:
        self._generation: int | None = None
        self._conditions: dict[str, Condition] = {condition.type: condition for condition in conditions}

    def set(self, condition: Condition, *, now: datetime | None = None) -> bool:
        """State a condition; true when anything changed.

        `last_transition_time` is kept unless `status` changes; then it is the condition's own, or else `now`,
        or else the present. A message longer than the API admits is cut at its end.

        Raises:
            ValueError: type or reason is not in the form that the API admits.
        """
        generation = condition.observed_generation
        if generation is None:
            generation = self._generation
        before = self._conditions.get(condition.type)
        if (
            before is not None
            and before.status == condition.status
            and before.reason == condition.reason
            and before.message == condition.message
            and before.observed_generation == generation
            and before.last_transition_time
        ):
            return False  # the usual case, and the cheap one
        _check(condition)
        if before is not None and before.status == condition.status and before.last_transition_time:
            since = before.last_transition_time
        else:
            since = condition.last_transition_time or _timestamp(now)
        after = condition.model_copy(
            update={
                "last_transition_time": since,
                "message": _shortened(condition.message),
                "observed_generation": generation,
            }
        )
        self._conditions[condition.type] = after
        return after != before

    def speak_of(self, generation: int) -> None:
        """Give conditions that are set from here on, and name no generation, this `observed_generation`."""
        self._generation = generation

    def get(self, condition_type: str) -> Condition | None:
        """The condition of that type, or None."""
        return self._conditions.get(condition_type)

    def remove(self, condition_type: str) -> bool:
        """Take a condition away; true when it was there."""
        return self._conditions.pop(condition_type, None) is not None

    def is_true(self, condition_type: str) -> bool:
        """Whether the condition is there and its status is True."""
        condition = self._conditions.get(condition_type)
        return condition is not None and condition.status == "True"

    def is_false(self, condition_type: str) -> bool:
        """Whether the condition is there and its status is False."""
        condition = self._conditions.get(condition_type)
        return condition is not None and condition.status == "False"

    def __iter__(self) -> Iterator[Condition]:
        return iter(self._conditions.values())

    def __len__(self) -> int:
        return len(self._conditions)

    def __contains__(self, condition_type: object) -> bool:
        return condition_type in self._conditions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conditions) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> Conditions:
        return Conditions(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Conditions:
        return Conditions(self)  # conditions are frozen, so they can be shared

    def __repr__(self) -> str:
        return f"Conditions({', '.join(f'{c.type}={c.status}' for c in self)})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        condition_list = core_schema.list_schema(handler.generate_schema(Condition))
        from_list = core_schema.no_info_after_validator_function(cls, condition_list)
        return core_schema.json_or_python_schema(
            json_schema=from_list,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), from_list]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                list, return_schema=core_schema.list_schema(handler.generate_schema(Condition))
            ),
        )

    @classmethod
    def __structural_schema__(cls) -> dict[str, Any]:
        """The schema of `[]metav1.Condition`."""
        return {
            "description": "What was observed about the object, one entry for each type.",
            "type": "array",
            "items": _CONDITION_SCHEMA,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        }


def _check(condition: Condition) -> None:
    if len(condition.type) > MAX_TYPE or not _TYPE.fullmatch(condition.type):
        raise ValueError(
            f"condition type {condition.type!r}: must be CamelCase such as Available, or prefixed such as "
            f"example.com/Available, at most {MAX_TYPE} characters"
        )
    if len(condition.reason) > MAX_REASON or not _REASON.fullmatch(condition.reason):
        raise ValueError(
            f"condition {condition.type}: reason {condition.reason!r} must be one CamelCase word such as "
            f"RolloutFailed (letters, digits, '_', ',' and ':'), at most {MAX_REASON} characters"
        )


def _shortened(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 1] + "…"


def _timestamp(now: datetime | None) -> str:
    moment = datetime.now(UTC) if now is None else now.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


_CONDITION_SCHEMA: dict[str, Any] = {
    "description": "One observation about the object.",
    "type": "object",
    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
    "properties": {
        "type": {
            "description": "What is observed, in CamelCase or in foo.example.com/CamelCase.",
            "type": "string",
            "maxLength": MAX_TYPE,
            "pattern": f"^{_TYPE.pattern}$",
        },
        "status": {
            "description": "Whether it holds: True, False or Unknown.",
            "type": "string",
            "enum": ["True", "False", "Unknown"],
        },
        "observedGeneration": {
            "description": "The metadata.generation of which the observation speaks.",
            "type": "integer",
            "format": "int64",
            "minimum": 0,
        },
        "lastTransitionTime": {
            "description": "When the status last changed from one value to another.",
            "type": "string",
            "format": "date-time",
        },
        "reason": {
            "description": "Why the status is as it is, in one CamelCase word, for programs.",
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_REASON,
            "pattern": f"^{_REASON.pattern}$",
        },
        "message": {
            "description": "Why the status is as it is, for people; may be empty.",
            "type": "string",
            "maxLength": MAX_MESSAGE,
        },
    },
}
