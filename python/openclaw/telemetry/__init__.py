"""What an operator tells about itself: logs, metrics, health."""

from openclaw.telemetry.context import bind, current_fields, log_context
from openclaw.telemetry.health import CheckResult, Health, HealthCheck, HealthChecks, HealthReport
from openclaw.telemetry.listener import Address, BindError
from openclaw.telemetry.logs import (
    LOG_FORMATS,
    LOG_LEVELS,
    Log,
    LogFormat,
    LogHandler,
    LogLevel,
    configure,
)
from openclaw.telemetry.metrics import CacheStats, ControllerMetrics, Metrics, Outcome, Run, WatchMetrics
from openclaw.telemetry.redact import REDACTED, redact_text, redact_value

__all__ = [
    "LOG_FORMATS",
    "LOG_LEVELS",
    "REDACTED",
    "Address",
    "BindError",
    "CacheStats",
    "CheckResult",
    "ControllerMetrics",
    "Health",
    "HealthCheck",
    "HealthChecks",
    "HealthReport",
    "Log",
    "LogFormat",
    "LogHandler",
    "LogLevel",
    "Metrics",
    "Outcome",
    "Run",
    "WatchMetrics",
    "bind",
    "configure",
    "current_fields",
    "log_context",
    "redact_text",
    "redact_value",
]
