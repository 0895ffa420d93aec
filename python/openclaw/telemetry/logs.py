"""Logging set up for an operator, on the standard library's own.

`configure` gives the root logger one handler; loggers are used as everywhere:
`logging.getLogger(__name__)`, with fields as `extra={…}`. `Log` is for those who write reconcilers: fields
are keyword arguments, and words such as `name`, which the standard library keeps for itself, are free.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Any, Literal, TextIO, get_args

from openclaw.telemetry.formats import JsonFormatter, TextFormatter

__all__ = [
    "LOG_FORMATS",
    "LOG_LEVELS",
    "Log",
    "LogFormat",
    "LogHandler",
    "LogLevel",
    "change_level",
    "configure",
    "set_level",
]

LogFormat = Literal["auto", "json", "text"]
"""`auto`: text on a terminal, JSON elsewhere."""
LogLevel = Literal["debug", "info", "warning", "error"]

LOG_FORMATS: tuple[LogFormat, ...] = get_args(LogFormat)
LOG_LEVELS: tuple[LogLevel, ...] = get_args(LogLevel)

# At "debug" these print whole answers of the API server, Secrets among them.
_NEVER_DEBUG = ("kubernetes_asyncio", "aiohttp", "botocore", "aiobotocore")


def configure(
    *, level: LogLevel = "info", format: LogFormat = "auto", stream: TextIO | None = None
) -> LogHandler:
    """Send all log records to `stream`; called again, it replaces what it did before.

    Args:
        level: the least important level that is printed.
        format: `json`, `text`, or `auto`: text where `stream` is a terminal. Colours are for terminals,
            and NO_COLOR in the environment turns them off.
        stream: standard error by default.

    Returns:
        The root logger's handler.
    """
    stream = sys.stderr if stream is None else stream
    terminal = _is_terminal(stream)
    handler = LogHandler(stream)
    if format == "json" or (format == "auto" and not terminal):
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(TextFormatter(colour=terminal and not os.environ.get("NO_COLOR")))
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old, LogHandler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    set_level(level)
    logging.captureWarnings(capture=True)
    return handler


def set_level(level: LogLevel) -> None:
    """Print records of this level and above from now on."""
    root = logging.getLogger()
    root.setLevel(level.upper())
    for name in _NEVER_DEBUG:
        logging.getLogger(name).setLevel(max(root.level, logging.INFO))


def change_level(step: int) -> LogLevel:
    """Be more verbose by a level (-1) or less (1); returns the level from now on. `error` is the last one."""
    effective = logging.getLogger().getEffectiveLevel()
    at = sum(logging.getLevelNamesMapping()[level.upper()] < effective for level in LOG_LEVELS)
    level = LOG_LEVELS[min(max(at + step, 0), len(LOG_LEVELS) - 1)]
    set_level(level)
    return level


class Log:
    """A logger whose fields are keyword arguments: `log.info("scaled", name="web", replicas=3)`.

    A call below the logger's level costs a comparison. `bind` gives a logger with fields of its own.
    """

    __slots__ = ("_fields", "_logger")

    def __init__(self, logger: logging.Logger | str, **fields: Any) -> None:
        self._logger = logging.getLogger(logger) if isinstance(logger, str) else logger
        self._fields = fields

    def bind(self, **fields: Any) -> Log:
        """A logger that adds these fields to each record."""
        return Log(self._logger, **{**self._fields, **fields})

    def debug(self, message: str, /, **fields: Any) -> None:
        """Of use when looking for a fault."""
        if self._logger.isEnabledFor(logging.DEBUG):
            self._write(logging.DEBUG, message, fields)

    def info(self, message: str, /, **fields: Any) -> None:
        """What an operator's owner wants to know."""
        if self._logger.isEnabledFor(logging.INFO):
            self._write(logging.INFO, message, fields)

    def warning(self, message: str, /, **fields: Any) -> None:
        """Not as it should be, and handled."""
        if self._logger.isEnabledFor(logging.WARNING):
            self._write(logging.WARNING, message, fields)

    def error(self, message: str, /, **fields: Any) -> None:
        """Failed."""
        if self._logger.isEnabledFor(logging.ERROR):
            self._write(logging.ERROR, message, fields)

    def exception(self, message: str, /, **fields: Any) -> None:
        """Failed, with the exception being handled."""
        if self._logger.isEnabledFor(logging.ERROR):
            self._write(logging.ERROR, message, fields, exception=sys.exception())

    def _write(
        self, level: int, message: str, fields: dict[str, Any], exception: BaseException | None = None
    ) -> None:
        exc_info = None if exception is None else (type(exception), exception, exception.__traceback__)
        record = self._logger.makeRecord(self._logger.name, level, "", 0, message, (), exc_info)
        # Straight into the record: through `extra`, a field called `name` would be an error.
        record.fields = {**self._fields, **fields}
        self._logger.handle(record)


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes lines; whatever goes wrong with writing one stays here.

    A full disk or a closed pipe must not stop an operator: the record is lost.

    Attributes:
        dropped: records that could not be written.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record in one piece, so that lines of two processes on one pipe do not mix."""
        try:
            self.stream.write(self.format(record) + "\n")
            self.stream.flush()
        except Exception:  # noqa: BLE001 - see the class
            self.dropped += 1


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False
