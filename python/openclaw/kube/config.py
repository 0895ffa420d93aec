"""Where the API server is and who we are there: kubeconfig or in-cluster, read by kubernetes-asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from openclaw.kube.plugin import use_plugin
from openclaw.kube.slim import load_config_module

__all__ = ["Access", "ConfigError", "ConfigSource"]

_LOAD_SECONDS: Final = 60.0
# The loader names a place by what is there: `Expected key user in /path/{'name': …, 'token': …}`.
_INLINED: Final = re.compile(r"/\{.*\}", re.DOTALL)
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ConfigError(Exception):
    """No usable configuration; the message says what was looked for and what to do."""


@dataclass(frozen=True, slots=True)
class Access:
    """One reading of the configuration.

    Attributes:
        server: base URL, without a trailing slash.
        authorization: value of the Authorization header, or None (client certificate or no authentication).
        tls: files (authority, certificate, key), and whether to verify the server.
        tls_server_name: the name that the server's certificate must have, where it is not that of `server`.
        namespace: the namespace of the context or of the pod, "default" where there is none.
        proxy: URL of a proxy, or None.
        origin: where this was read, for messages.
        tls_digest: of the content of those files; they may be replaced under their names.
    """

    server: str
    authorization: str | None = field(repr=False)
    tls: tuple[str | None, str | None, str | None, bool]
    tls_server_name: str | None
    namespace: str
    proxy: str | None = field(default=None, repr=False)
    origin: str = "configuration"
    tls_digest: bytes = b""

    def tls_material(self) -> TlsMaterial:
        """What `tls` names, read; nothing for plain HTTP.

        Raises:
            ConfigError: a file cannot be read.
        """
        ca_file, cert_file, key_file, verify = self.tls
        if not self.server.startswith("https:"):
            return TlsMaterial(None, None, None, verify)
        return TlsMaterial(
            self._read(ca_file, "certificate authority"),
            self._read(cert_file, "client certificate"),
            self._read(key_file, "client's key"),
            verify,
        )

    def _read(self, file: str | None, what: str) -> bytes | None:
        if not file:
            return None
        try:
            return Path(file).read_bytes()
        except OSError as error:
            msg = f"{self.origin}: the {what} of {self.server} cannot be read: {error}"
            raise ConfigError(msg) from error


class TlsMaterial(NamedTuple):
    """Certificates and the key as PEM, and whether to verify the server."""

    authority: bytes | None
    certificate: bytes | None
    key: bytes | None
    verify: bool


class ConfigSource:
    """Reads the configuration, and reads it again when a token may have changed.

    The order is kubectl's: an explicit file, `$KUBECONFIG`, `~/.kube/config`, then the pod's service account.
    """

    def __init__(self, kubeconfig: str | os.PathLike[str] | None = None, context: str | None = None) -> None:
        self._kubeconfig = os.fspath(kubeconfig) if kubeconfig is not None else None
        self._context = context

    async def load(self) -> Access:
        """Read everything afresh, running an exec credential plugin where the kubeconfig names one.

        Raises:
            ConfigError: nothing was found, or what was found is unusable.
        """
        paths = self._paths()
        if paths is not None:
            return await self._from_kubeconfig(paths)
        if os.environ.get("KUBERNETES_SERVICE_HOST"):
            return await asyncio.to_thread(self._from_pod)
        msg = (
            "no Kubernetes configuration: set KUBECONFIG, pass --kubeconfig, create ~/.kube/config, "
            "or run in a pod with a service account"
        )
        raise ConfigError(msg)

    def _paths(self) -> str | None:
        if self._kubeconfig is not None:
            return self._kubeconfig
        if from_environment := os.environ.get("KUBECONFIG"):
            return from_environment
        default = Path.home() / ".kube" / "config"
        return str(default) if default.exists() else None

    async def _from_kubeconfig(self, paths: str) -> Access:
        origin = f"kubeconfig {paths!r}"
        existing = [path for path in paths.split(os.pathsep) if path and _is_file(path)]
        if not existing:
            msg = f"{origin} does not exist; set KUBECONFIG or pass --kubeconfig"
            raise ConfigError(msg)
        for path in existing:
            _check_file(path)
        config = load_config_module()
        configuration = config.kube_config.Configuration()
        try:
            merged = config.kube_config.KubeConfigMerger(os.pathsep.join(existing)).config
            self._check(merged.value, origin)
            loader = config.kube_config.KubeConfigLoader(
                config_dict=merged, active_context=self._context, config_base_path=None
            )
            if loader._user is None:  # noqa: SLF001 - anonymous; the loader looks for certificates in it
                loader._user = {}  # noqa: SLF001
            loader.load_from_exec_plugin = partial(use_plugin, config, loader)
            async with asyncio.timeout(_LOAD_SECONDS):
                await loader.load_and_set(configuration)
            namespace = (loader.current_context or {}).get("context", {}).get("namespace")
        except ConfigError:
            raise
        except TimeoutError:
            msg = f"{origin}: its credential plugin did not answer within {_LOAD_SECONDS:g} s"
            raise ConfigError(msg) from None
        except Exception as error:  # noqa: BLE001
            # The loader raises KeyError, AssertionError and TypeError for malformed files besides its own.
            # They are not shown as the cause: their texts may hold what the file holds.
            raise ConfigError(f"{origin}: {_described(error)}") from None
        return _access(configuration, str(namespace or "default"), origin)

    def _check(self, merged: dict[str, Any], origin: str) -> None:
        """Say what is missing in better words than the loader's."""
        wanted = self._context or merged.get("current-context")
        contexts = _by_name(merged["contexts"])
        known = ", ".join(sorted(contexts)) or "none"
        if not wanted:
            msg = (
                f"{origin} has no current-context; pass --context, or set it with kubectl config use-context "
                f"(there are: {known})"
            )
            raise ConfigError(msg)
        if wanted not in contexts:
            raise ConfigError(f"{origin} has no context {wanted!r}; there are: {known}")
        name = contexts[wanted]["context"]["cluster"]
        cluster = _by_name(merged["clusters"]).get(name)
        if cluster is None:
            raise ConfigError(f"{origin} has no cluster {name!r}, which the context {wanted!r} names")
        if not (cluster.get("cluster") or {}).get("server"):
            raise ConfigError(f"{origin}: the cluster {name!r} has no server")

    def _from_pod(self) -> Access:
        origin = "in-cluster configuration"
        config = load_config_module()
        configuration = config.kube_config.Configuration()
        try:
            config.load_incluster_config(
                client_configuration=configuration,
                try_refresh_token=False,
                token_filename=str(SERVICE_ACCOUNT / "token"),
                cert_filename=str(SERVICE_ACCOUNT / "ca.crt"),
            )
            namespace = ""
            with contextlib.suppress(FileNotFoundError):
                namespace = (SERVICE_ACCOUNT / "namespace").read_text().strip()
        except (config.ConfigException, OSError) as error:
            msg = f"{origin}: {error} Is a service account's token mounted in {SERVICE_ACCOUNT}?"
            raise ConfigError(msg) from error
        return _access(configuration, namespace or "default", origin)


def _is_file(path: str) -> bool:
    return Path(path).expanduser().is_file()


def _by_name(items: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """The entries of a merged list, of which the loader wraps each."""
    return {item.value["name"]: item.value for item in items}


def _check_file(path: str) -> None:
    """Say what is wrong with a file that is no kubeconfig, without a word of what it holds."""
    import yaml  # noqa: PLC0415 - a pod has no kubeconfig

    try:
        content = yaml.safe_load(Path(path).expanduser().read_text())
    except OSError as error:
        raise ConfigError(f"kubeconfig {path!r} cannot be read: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise ConfigError(f"kubeconfig {path!r} is no valid YAML{where}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise ConfigError(f"kubeconfig {path!r} is no valid YAML: it holds no text") from None
    if not isinstance(content, dict):
        raise ConfigError(
            f"kubeconfig {path!r} is empty or no kubeconfig: kubectl config view shows what should be there"
        )


def _described(error: Exception) -> str:
    what = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
    return _INLINED.sub("", what) or type(error).__name__


def _digest(files: Iterable[str | None]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        content = b""
        if file:
            with contextlib.suppress(OSError):  # `tls_material` says what is wrong
                content = Path(file).read_bytes()
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.digest()


def _access(configuration: Any, namespace: str, origin: str) -> Access:
    token = configuration.api_key.get("BearerToken")
    authorization = token.strip() if token else None
    if authorization and not authorization.isprintable():
        raise ConfigError(f"{origin}: the token is no single line of text")
    files = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    return Access(
        server=configuration.host.rstrip("/"),
        authorization=authorization,
        tls=(*files, configuration.verify_ssl),
        tls_server_name=configuration.tls_server_name,
        namespace=namespace,
        proxy=configuration.proxy,
        origin=origin,
        tls_digest=_digest(files),
    )
