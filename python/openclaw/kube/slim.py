"""Loads kubernetes-asyncio's configuration without its generated models.

`import kubernetes_asyncio` runs an `__init__` that imports every API and model class: close to
100 MB and more than a second, for a process that needs none of them. Here the two packages on the
way are put in place empty, and fill themselves (by running their real `__init__`) as soon as
somebody asks for a name that is not there, so that other code in the process can use
kubernetes-asyncio as usual.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

_PACKAGES = ("kubernetes_asyncio", "kubernetes_asyncio.client")
_OIDC = "kubernetes_asyncio.config.openid"
# Imported by what is loaded here; a pod's service account needs neither.
_SELDOM = ("urllib3", "yaml")
# Of the names that Python itself asks modules for, those that only the real `__init__` has.
_IN_THE_INIT = frozenset({"__all__", "__version__"})


class _DeferredPackage(ModuleType):
    """A package whose `__init__` runs only when an attribute is missing."""

    def __getattr__(self, name: str) -> Any:
        if (name.startswith("__") and name not in _IN_THE_INIT) or self.__dict__.get("_deferred_done"):
            msg = f"module {self.__name__!r} has no attribute {name!r}"
            raise AttributeError(msg)
        self.__dict__["_deferred_done"] = True
        spec = self.__spec__
        if spec is None or spec.loader is None:  # pragma: no cover - find_spec gave us a loader
            raise AttributeError(name)
        spec.loader.exec_module(self)
        _hand_over_api_client()
        return getattr(self, name)


class _DeferredModule(ModuleType):
    """Stands for a module until a class of it is asked for: by an import, or by a call of the stand-in."""

    def __init__(self, name: str, stand_in: str) -> None:
        super().__init__(name)

        def make(*args: Any, **kwargs: Any) -> Any:
            return getattr(importlib.import_module(name), stand_in)(*args, **kwargs)

        setattr(self, stand_in, make)


class _ApiClientPlaceholder:
    """Stands where `kube_config` imports `ApiClient`, which loading a configuration never uses."""


def _hand_over_api_client() -> None:
    kube_config = sys.modules.get("kubernetes_asyncio.config.kube_config")
    client = sys.modules["kubernetes_asyncio.client"]
    real = client.__dict__.get("ApiClient")
    if kube_config is not None and real is not None:
        kube_config.__dict__["ApiClient"] = real


def _defer(name: str) -> None:
    """Let the module run when it is first used, unless it is there."""
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    loader = importlib.util.LazyLoader(spec.loader)
    spec.loader = loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    loader.exec_module(module)


def load_config_module() -> Any:
    """The module `kubernetes_asyncio.config`, imported without the generated models where possible."""
    loaded = sys.modules.get("kubernetes_asyncio.config")
    if loaded is not None:
        return loaded
    if "kubernetes_asyncio" not in sys.modules:
        for name in _PACKAGES:
            spec = importlib.util.find_spec(name)
            if spec is None:  # pragma: no cover - it is a dependency
                msg = "kubernetes-asyncio is not installed"
                raise ImportError(msg)
            module = _DeferredPackage(name)
            module.__spec__ = spec
            module.__file__ = spec.origin
            module.__path__ = list(spec.submodule_search_locations or ())
            module.__package__ = name
            module.__loader__ = spec.loader
            sys.modules[name] = module
            if name != "kubernetes_asyncio":
                setattr(sys.modules["kubernetes_asyncio"], name.rpartition(".")[2], module)
        client = sys.modules["kubernetes_asyncio.client"]
        for name in _SELDOM:
            _defer(name)
        configuration = importlib.import_module("kubernetes_asyncio.client.configuration")
        client.__dict__["Configuration"] = configuration.Configuration
        client.__dict__["ApiClient"] = _ApiClientPlaceholder
        # OIDC needs aiohttp, which is more than all the rest.
        sys.modules[_OIDC] = _DeferredModule(_OIDC, "OpenIDRequestor")
        try:
            return importlib.import_module("kubernetes_asyncio.config")
        finally:
            del sys.modules[_OIDC]
            del client.__dict__["ApiClient"]
    return importlib.import_module("kubernetes_asyncio.config")
