"""Where the API server is and who we are there: kubeconfig or in-cluster, read by kubernetes-asyncio."""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclaw.kube.slim import load_config_module

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ConfigError(Exception):
    """No usable configuration; the message says what was looked for and what to do."""


@dataclass(frozen=True, slots=True)
class Access:
    """One reading of the configuration.

    Attributes:
        server: base URL, without a trailing slash.
        authorization: value of the Authorization header, or None (client certificate or no authentication).
        tls: material from which `ssl_context` is made; equal material means the context can stay.
        namespace: the namespace of the context or of the pod, "default" where there is none.
        proxy: URL of a proxy, or None.
        origin: where this was read, for messages.
    """

    server: str
    authorization: str | None
    tls: tuple[str | None, str | None, str | None, bool]
    tls_server_name: str | None
    namespace: str
    proxy: str | None = None
    origin: str = "configuration"

    def ssl_context(self) -> ssl.SSLContext | None:
        """A context for this access, or None for plain HTTP.

        Raises:
            ConfigError: a certificate or key cannot be read, or is none.
        """
        if not self.server.startswith("https:"):
            return None
        ca_file, cert_file, key_file, verify = self.tls
        try:
            context = ssl.create_default_context(cafile=ca_file)
        except OSError as error:  # ssl.SSLError is one
            msg = f"{self.origin}: the certificate authority of {self.server} cannot be used: {error}"
            raise ConfigError(msg) from error
        if cert_file:
            try:
                context.load_cert_chain(cert_file, key_file)
            except OSError as error:
                msg = f"{self.origin}: the client certificate for {self.server} cannot be used: {error}"
                raise ConfigError(msg) from error
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


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
        existing = [path for path in paths.split(os.pathsep) if path and _is_file(path)]
        if not existing:
            msg = f"kubeconfig {paths!r} does not exist"
            raise ConfigError(msg)
        config = load_config_module()
        configuration = config.kube_config.Configuration()
        try:
            loader = config.kube_config.KubeConfigLoader(
                config_dict=config.kube_config.KubeConfigMerger(os.pathsep.join(existing)).config,
                active_context=self._context,
                config_base_path=None,
            )
            await loader.load_and_set(configuration)
            namespace = (loader.current_context or {}).get("context", {}).get("namespace")
        except Exception as error:
            # The loader raises KeyError, AssertionError and TypeError for malformed files besides its own.
            what = str(error) or type(error).__name__
            msg = f"kubeconfig {paths!r}: {what}"
            raise ConfigError(msg) from error
        return _access(configuration, str(namespace or "default"), f"kubeconfig {paths!r}")

    def _from_pod(self) -> Access:
        config = load_config_module()
        configuration = config.kube_config.Configuration()
        try:
            config.load_incluster_config(client_configuration=configuration, try_refresh_token=False)
        except config.ConfigException as error:
            msg = f"in-cluster configuration: {error}"
            raise ConfigError(msg) from error
        namespace_file = SERVICE_ACCOUNT / "namespace"
        namespace = namespace_file.read_text().strip() if namespace_file.exists() else "default"
        return _access(configuration, namespace, "in-cluster configuration")


def _is_file(path: str) -> bool:
    return Path(path).expanduser().is_file()


def _access(configuration: Any, namespace: str, origin: str) -> Access:
    token = configuration.api_key.get("BearerToken")
    return Access(
        server=configuration.host.rstrip("/"),
        authorization=token.strip() if token else None,
        tls=(
            configuration.ssl_ca_cert,
            configuration.cert_file,
            configuration.key_file,
            configuration.verify_ssl,
        ),
        tls_server_name=configuration.tls_server_name,
        namespace=namespace,
        proxy=configuration.proxy,
        origin=origin,
    )
