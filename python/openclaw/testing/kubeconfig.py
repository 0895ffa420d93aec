"""Kubeconfig files that hold all they need, so that they can be copied elsewhere."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from openclaw.testing.certificates import KeyPair, write_private


def write_kubeconfig(
    path: Path, *, server: str, authority: bytes, user: dict[str, Any], namespace: str = "default"
) -> Path:
    """Write a kubeconfig of one cluster, one user and one context; only its owner can read it."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "openclaw",
        "clusters": [
            {
                "name": "openclaw",
                "cluster": {"server": server, "certificate-authority-data": _data(authority)},
            }
        ],
        "users": [{"name": "user", "user": user}],
        "contexts": [
            {"name": "openclaw", "context": {"cluster": "openclaw", "user": "user", "namespace": namespace}}
        ],
    }
    # JSON is YAML, and needs no parser of ours.
    return write_private(path, json.dumps(config, indent=2).encode())


def certificate_user(pair: KeyPair) -> dict[str, Any]:
    """The credentials of a client certificate."""
    return {"client-certificate-data": _data(pair.certificate), "client-key-data": _data(pair.key)}


def _data(content: bytes) -> str:
    return base64.b64encode(content).decode()
