"""What an object refers to: the Secrets, and which versions of them this run has seen."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr

from openclaw._core import fnv1a64
from openclaw.api.builtin import Secret
from openclaw.api.rdsinstance import RDSInstance
from openclaw.providers.credentials.secret import secret_values
from openclaw.runtime import Context

__all__ = ["MasterPassword", "inputs_digest", "master_password", "referenced_secrets"]


@dataclass(frozen=True, slots=True)
class MasterPassword:
    """The master password that the spec refers to.

    Attributes:
        value: the password.
        version: which Secret and which state of it, for comparing and for people.
    """

    value: SecretStr
    version: str


def referenced_secrets(obj: RDSInstance) -> tuple[str, ...]:
    """The names of the Secrets that the spec refers to, each once, in order."""
    spec = obj.spec
    names = [spec.master_password_secret_ref.name]
    if spec.credentials_secret_ref is not None:
        names.append(spec.credentials_secret_ref.name)
    vault = spec.credentials.vault
    if vault is not None and vault.app_role_secret_ref is not None:
        names.append(vault.app_role_secret_ref.name)
    return tuple(sorted(set(names)))


def inputs_digest(ctx: Context, obj: RDSInstance) -> str:
    """A digest of the referenced Secrets' versions: another one as soon as one of them changes."""
    versions = []
    for name in referenced_secrets(obj):
        secret = ctx.get(Secret, name)
        versions.append(f"{name}={_version(secret)}")
    return f"{fnv1a64(' '.join(versions)):016x}"


def master_password(ctx: Context, obj: RDSInstance) -> MasterPassword:
    """The master password.

    Raises:
        ExternalUnauthorised: the Secret or its key is missing or empty.
    """
    reference = obj.spec.master_password_secret_ref
    secret = ctx.get(Secret, reference.name)
    values = secret_values(secret, name=reference.name, required=[reference.key])
    return MasterPassword(
        SecretStr(values[reference.key]), f"{reference.name}/{reference.key} {_version(secret)}"
    )


def _version(secret: Secret | None) -> str:
    return "none" if secret is None else f"{secret.uid}/{secret.resource_version}"
