"""The connection Secret: what an application needs to reach the database."""

from __future__ import annotations

import base64
import re
from typing import Final
from urllib.parse import quote

from openclaw._core import fnv1a64
from openclaw.api.builtin import Secret
from openclaw.api.rdsinstance import RDSInstance

__all__ = ["connection_secret", "connection_uri", "secret_name"]

_SUFFIX: Final = "-connection"
_LONGEST: Final = 253
_SCHEMES: Final = {"postgres": "postgresql", "mysql": "mysql", "mariadb": "mysql"}


def secret_name(root: str) -> str:
    """The Secret's name; of a root whose name is too long, cut, with a hash of it."""
    if len(root) + len(_SUFFIX) <= _LONGEST:
        return root + _SUFFIX
    digest = f"-{fnv1a64(root):016x}"
    return root[: _LONGEST - len(_SUFFIX) - len(digest)].rstrip("-.") + digest + _SUFFIX


def connection_uri(obj: RDSInstance, password: str) -> str:
    """A URI with the password, each part percent-encoded; the scheme is the driver's, else the engine's."""
    spec, status = obj.spec, obj.status
    scheme = _SCHEMES.get(spec.engine) or re.split("-", spec.engine)[0]
    user, secret = quote(spec.master_username, safe=""), quote(password, safe="")
    database = f"/{quote(spec.db_name, safe='')}" if spec.db_name else ""
    return f"{scheme}://{user}:{secret}@{status.endpoint}:{status.port}{database}"


def connection_secret(obj: RDSInstance, password: str) -> Secret:
    """The intent; the status must have the endpoint."""
    spec, status = obj.spec, obj.status
    values = {
        "username": spec.master_username,
        "password": password,
        "endpoint": status.endpoint or "",
        "port": str(status.port),
        "dbName": spec.db_name or "",
        "uri": connection_uri(obj, password),
    }
    return Secret(
        name=secret_name(obj.name),
        namespace=obj.namespace,
        labels={
            "app.kubernetes.io/name": "rdsinstance",
            "app.kubernetes.io/managed-by": "openclaw",
        },
        type="Opaque",
        data={key: base64.b64encode(value.encode()).decode() for key, value in values.items()},
    )
