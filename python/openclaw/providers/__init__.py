"""Things outside of the cluster: the protocol of a provider, and what is around every one.

What a provider of one's own needs is here. What a controller needs besides is in `lifecycle`, `marks`,
`connections` and `credentials`.
"""

from openclaw.providers.credentials.source import Credentials, CredentialSource
from openclaw.providers.descriptors import (
    Difference,
    Drift,
    ObservedDescriptor,
    Owner,
    Page,
    SecretStr,
    Target,
    WantedDescriptor,
)
from openclaw.providers.errors import (
    ExternalAlreadyExists,
    ExternalConflict,
    ExternalInvalid,
    ExternalNotFound,
    ExternalTaken,
    ExternalTerminal,
    ExternalThrottled,
    ExternalTransient,
    ExternalUnauthorised,
    ProviderError,
)
from openclaw.providers.protocol import Finder, Lister, Provider, ProviderFactory

__all__ = [
    "CredentialSource",
    "Credentials",
    "Difference",
    "Drift",
    "ExternalAlreadyExists",
    "ExternalConflict",
    "ExternalInvalid",
    "ExternalNotFound",
    "ExternalTaken",
    "ExternalTerminal",
    "ExternalThrottled",
    "ExternalTransient",
    "ExternalUnauthorised",
    "Finder",
    "Lister",
    "ObservedDescriptor",
    "Owner",
    "Page",
    "Provider",
    "ProviderError",
    "ProviderFactory",
    "SecretStr",
    "Target",
    "WantedDescriptor",
]
