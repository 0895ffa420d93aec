"""The provider of things behind any JSON API that a few declared requests describe."""

from openclaw.providers.http.api import HTTPApi, HTTPRequest
from openclaw.providers.http.hosts import AllowedHosts
from openclaw.providers.http.provider import HTTPObserved, HTTPProvider, HTTPProviderFactory, HTTPWanted

__all__ = [
    "AllowedHosts",
    "HTTPApi",
    "HTTPObserved",
    "HTTPProvider",
    "HTTPProviderFactory",
    "HTTPRequest",
    "HTTPWanted",
]
