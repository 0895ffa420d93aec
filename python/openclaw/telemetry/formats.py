"""How a log record looks: a JSON object a line for machines, a coloured line for people.

Both print what `extra={…}` and the context gave to the record, without secrets.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import Any

import orjson

from openclaw.telemetry.context import current_fields
from openclaw.telemetry.redact import redact_text, redact_value
from openclaw.telemetry.spans import current_span

__all__ = ["JsonFormatter", "TextFormatter"]

# The attributes that every record has; all others came with `extra`.
_STANDARD = frozenset(
    {
        *logging.makeLogRecord({}).__dict__,
        "message",
        "asctime",
        "taskName",
        "stack_info",
        "exc_text",
        "color_message",
    }
)
_COLOURS = {10: "\033[2m", 20: "\033[32m", 30: "\033[33m", 40: "\033[31m", 50: "\033[1;31m"}
_SHORT = {"WARNING": "WARN", "CRITICAL": "FATAL"}
_ENVELOPE = frozenset({"time", "level", "logger", "message"})
_OF_AN_EXCEPTION = frozenset({"error", "stacktrace"})


class _Formatter(logging.Formatter):
    """What the two have in common: the parts of a record."""

    def fields(self, record: logging.LogRecord) -> tuple[dict[str, Any], dict[str, Any]]:
        """The context's fields and the record's own, without secrets.

        A field of the record's own that would hide one of the context's, or a key of the envelope, is
        prefixed with `field.`: which object a line is about must not change. `error` and `stacktrace` are
        such keys of a record with an exception only.
        """
        taken = _ENVELOPE | _OF_AN_EXCEPTION if record.exc_info or record.stack_info else _ENVELOPE
        current = {**current_fields(), **current_span().ids}
        context = {f"field.{key}" if key in taken else key: value for key, value in current.items()}
        given = {key: value for key, value in record.__dict__.items() if key not in _STANDARD}
        # Where `Log` puts its keyword arguments.
        nested = given.pop("fields", None)
        if isinstance(nested, Mapping):
            given.update(nested)
        elif nested is not None:
            given["fields"] = nested
        own = {}
        for key, value in given.items():
            if key in taken or (key in context and context[key] != value):
                own[f"field.{key}"] = redact_value(value, key)
            elif key not in context:
                own[key] = redact_value(value, key)
        return {key: redact_value(value, key) for key, value in context.items()}, own

    def text(self, record: logging.LogRecord) -> str:
        """The message with its arguments; a message whose arguments do not fit it loses nothing else."""
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - a bad format string must not lose the record
            message = f"{record.msg} {record.args!r}"
        return redact_text(message)

    def error(self, record: logging.LogRecord) -> tuple[str, str] | None:
        """The exception in a line, and its traceback."""
        if not record.exc_info or record.exc_info[1] is None:
            return None
        exception = record.exc_info[1]
        # An exception whose own text cannot be had must not lose the record either.
        try:
            text = str(exception)
        except Exception:  # noqa: BLE001
            text = "(its message cannot be read)"
        summary = f"{type(exception).__name__}: {text}" if text else type(exception).__name__
        return redact_text(summary), redact_text(self.formatException(record.exc_info))


class JsonFormatter(_Formatter):
    """One JSON object a record.

    Keys: `time` (RFC 3339, UTC, milliseconds), `level`, `logger`, `message`, the context's fields, the
    record's own, and with an exception `error` and `stacktrace`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON, without a line break."""
        context, own = self.fields(record)
        entry: dict[str, Any] = {
            "time": _rfc3339(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.text(record),
            **context,
            **own,
        }
        if (error := self.error(record)) is not None:
            entry["error"], entry["stacktrace"] = error
        elif record.stack_info:
            entry["stacktrace"] = redact_text(record.stack_info)
        try:
            return orjson.dumps(entry, default=_text_of, option=orjson.OPT_NON_STR_KEYS).decode()
        except TypeError:
            # What orjson refuses: integers above 64 bits, half of a surrogate pair.
            return json.dumps(entry, default=_text_of, skipkeys=True)


class TextFormatter(_Formatter):
    """A line for people: time, level, object, message, fields; a traceback below it.

    Args:
        colour: use ANSI colours.
    """

    # Said in the object's own place, or of use to machines only.
    _IN_PREFIX = frozenset({"kind", "namespace", "name"})
    _LEFT_OUT = frozenset(
        {"resourceVersion", "reconcileID", "generation", "controller", "trace_id", "span_id"}
    )

    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line, with more lines for an exception."""
        context, own = self.fields(record)
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        parts = [
            self._paint("\033[2m", f"{clock}.{int(record.msecs):03d}"),
            self._paint(
                _COLOURS.get(record.levelno, ""), f"{_SHORT.get(record.levelname, record.levelname):<5}"
            ),
        ]
        left_out = self._LEFT_OUT
        # The object has a place of its own when the context names one: `OpenClaw shop/storefront`.
        if "name" in context and "kind" in context:
            namespace = context.get("namespace")
            name = f"{namespace}/{context['name']}" if namespace else str(context["name"])
            parts.append(self._paint("\033[1m", f"{context['kind']} {name}"))
            left_out |= self._IN_PREFIX
        parts.append(self.text(record))
        shown = {key: value for key, value in context.items() if key not in left_out} | own
        error = self.error(record)
        if error is not None:
            shown["error"] = error[0]
        parts += [self._paint("\033[2m", f"{key}=") + _shown(value) for key, value in shown.items()]
        line = " ".join(parts)
        if error is not None:
            line = f"{line}\n{error[1]}"
        elif record.stack_info:
            line = f"{line}\n{redact_text(record.stack_info)}"
        return line

    def _paint(self, colour: str, text: str) -> str:
        return f"{colour}{text}\033[0m" if self._colour and colour else text


def _rfc3339(seconds: float) -> str:
    whole = int(seconds)
    millis = int((seconds - whole) * 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{millis:03d}Z"


def _shown(value: Any) -> str:
    """A text as it is, quoted where it would run into its neighbours; anything else as JSON."""
    if not isinstance(value, str):
        return json.dumps(value, default=_text_of, ensure_ascii=False, skipkeys=True)
    return json.dumps(value, ensure_ascii=False) if not value or any(c in value for c in ' "\n\t=') else value


def _text_of(value: Any) -> str:
    """Any other object by its own text, which may fail and may hold a secret."""
    try:
        return redact_text(str(value))
    except Exception:  # noqa: BLE001 - a log call must not raise for the object that it names
        return f"<{type(value).__name__}>"
