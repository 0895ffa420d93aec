"""Credential plugins of kubeconfigs (`users[].user.exec`), ended when they take too long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from typing import Any

__all__ = ["use_plugin"]


async def use_plugin(config: Any, loader: Any) -> bool:
    """Run the plugin of the loader's user and give the loader what it says; in place of the loader's own way.

    That one has no end to it: when it is cancelled the program runs on and its pipes stay open.

    Args:
        config: the module `kubernetes_asyncio.config`.
        loader: a `KubeConfigLoader` whose user has an `exec` section.

    Raises:
        ValueError: the plugin failed, or said what is no credential; without what it printed to its output.
        OSError: it could not be started.
    """
    provider = config.kube_config.ExecProvider(loader._user["exec"])  # noqa: SLF001 - it has no other way
    status = _credential(provider.args[0], provider.api_version, await _output(provider))
    if status.get("token"):
        loader.token = f"Bearer {status['token']}"
    if status.get("clientCertificateData") and status.get("clientKeyData"):
        for attribute, key in (("cert_file", "clientCertificateData"), ("key_file", "clientKeyData")):
            data = config.kube_config.FileOrData(status, None, data_key_name=key, base64_file_content=False)
            setattr(loader, attribute, data.as_file())
    elif not status.get("token"):
        raise ValueError(f"exec: {provider.args[0]} gave neither a token nor a certificate with its key")
    return True


async def _output(provider: Any) -> bytes:
    interactive = sys.stdin is not None and sys.stdin.isatty()
    information = {
        "apiVersion": provider.api_version,
        "kind": "ExecCredential",
        "spec": {"interactive": interactive},
    }
    process = await asyncio.create_subprocess_exec(
        *provider.args,
        env={**provider.env, "KUBERNETES_EXEC_INFO": json.dumps(information)},
        stdin=None if interactive else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=not interactive,
    )
    try:
        output, errors = await process.communicate()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            if interactive:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)  # with what it started itself
        await process.communicate()
        raise
    if process.returncode != 0:
        said = errors.decode("utf-8", "replace").strip()
        raise ValueError(f"exec: {provider.args[0]} ended with {process.returncode}: {said}")
    return output


def _credential(command: str, api_version: str, output: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(output)
    except ValueError:
        answer = None
    status = answer.get("status") if isinstance(answer, dict) else None
    if not isinstance(status, dict):
        raise ValueError(f"exec: {command} printed no ExecCredential")  # noqa: TRY004 - of what was printed
    if answer.get("apiVersion") != api_version:
        raise ValueError(
            f"exec: {command} speaks {answer.get('apiVersion')}, but the kubeconfig asks for {api_version}"
        )
    return status
