"""Speaking to the API server: transport, list and watch, writes, errors. Knows no controller."""

from openclaw.kube.client import Client
from openclaw.kube.config import Access, ConfigError, ConfigSource
from openclaw.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    ResourceExpired,
    ServerTimeout,
    ServiceUnavailable,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from openclaw.kube.listwatch import ListWatch, WatchState
from openclaw.kube.transport import Response, Transport

__all__ = [
    "Access",
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Client",
    "ConfigError",
    "ConfigSource",
    "Conflict",
    "Forbidden",
    "Invalid",
    "KubeError",
    "ListWatch",
    "NotFound",
    "ResourceExpired",
    "Response",
    "ServerTimeout",
    "ServiceUnavailable",
    "TooManyRequests",
    "Transport",
    "Unauthorized",
    "Unreachable",
    "WatchState",
]
