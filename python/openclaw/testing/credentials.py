"""The certificates, keys and kubeconfigs of one control plane, in its folder."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from openclaw.testing.certificates import CertificateAuthority, KeyPair, service_account_key, write_private
from openclaw.testing.components import Files
from openclaw.testing.kubeconfig import certificate_user, write_kubeconfig
from openclaw.testing.requests import Requests

ADMIN_GROUP: Final = "system:masters"
"""The group that may do anything, whatever RBAC says."""


class Credentials:
    """Who may speak to the control plane in `folder`; what an earlier one left there is used again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._serial = itertools.count(1)
        files = Files(folder)
        if files.authority_key.exists() and files.authority.exists():
            pair = KeyPair(files.authority.read_bytes(), files.authority_key.read_bytes())
            self._authority = CertificateAuthority.load(pair)
        else:
            self._authority = CertificateAuthority.create()
            pair = self._authority.key_pair()
            write_private(files.authority, pair.certificate)
            write_private(files.authority_key, pair.key)
        if not files.service_account_key.exists():
            write_private(files.service_account_key, service_account_key())
        server = self._authority.server()
        write_private(files.server_certificate, server.certificate)
        write_private(files.server_key, server.key)
        admin = self._authority.client("admin", [ADMIN_GROUP])
        self._admin = certificate_user(admin)
        self._admin_files = (
            write_private(folder / "admin.crt", admin.certificate),
            write_private(folder / "admin.key", admin.key),
        )

    @property
    def admin_kubeconfig(self) -> Path:
        """The administrator's kubeconfig, once `write_admin` was called."""
        return self._folder / "admin.kubeconfig"

    def requests(self, port: int) -> Requests:
        """Requests of the administrator to the server on this port."""
        return Requests(port, Files(self._folder).authority, *self._admin_files)

    def write_admin(self, server: str) -> Path:
        """Write the administrator's kubeconfig."""
        return self._write(self.admin_kubeconfig, server, self._admin, "default")

    def write_user(self, server: str, user: str, groups: Sequence[str], namespace: str) -> Path:
        """Write a kubeconfig with a client certificate for this user."""
        pair = self._authority.client(user, groups)
        return self._write(self._new_file(user), server, certificate_user(pair), namespace)

    def write_token(self, server: str, name: str, token: str, namespace: str, *, in_file: bool) -> Path:
        """Write a kubeconfig that holds a token, or that names a file which does."""
        file = self._new_file(f"{namespace}-{name}")
        user = {"token": token}
        if in_file:
            user = {"tokenFile": str(write_private(file.with_name(f"{file.name}.token"), token.encode()))}
        return self._write(file, server, user, namespace)

    def _new_file(self, name: str) -> Path:
        plain = re.sub(r"[^A-Za-z0-9.-]+", "-", name)
        return self._folder / f"{plain}-{next(self._serial)}.kubeconfig"

    def _write(self, path: Path, server: str, user: dict[str, Any], namespace: str) -> Path:
        authority = self._authority.certificate
        return write_kubeconfig(path, server=server, authority=authority, user=user, namespace=namespace)
