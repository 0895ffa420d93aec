"""Objects of built-in and foreign kinds, held as plain dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self

from openclaw.api.kinds import ResourceKind, plural_of


class _AbsentSection(dict[str, Any]):
    """Stands for a section that the object lacks: reads as empty, refuses writes that would be lost."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("the object has no such section: pass it to the constructor or set it in `raw`")

    __setitem__ = __ior__ = update = setdefault = _refuse


class Unstructured:
    """An object of a kind whose fields are not declared in Python.

    A subclass names the kind once:

        class Deployment(Unstructured, group="apps", version="v1", plural="deployments"): ...

    and its instances are the object's JSON with a few conveniences:

        Deployment(name="web", namespace="shop", spec={"replicas": 2})
        Deployment(json_from_the_server)
    """

    __slots__ = ("raw",)

    resource: ClassVar[ResourceKind]
    raw: dict[str, Any]

    def __init_subclass__(
        cls,
        *,
        version: str | None = None,
        group: str = "",
        kind: str | None = None,
        plural: str | None = None,
        namespaced: bool = True,
    ) -> None:
        super().__init_subclass__()
        if version is not None:
            kind = kind or cls.__name__
            cls.resource = ResourceKind(group, version, kind, plural or plural_of(kind), namespaced)

    def __init__(
        self,
        raw: Mapping[str, Any] | None = None,
        /,
        *,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        **sections: Any,
    ) -> None:
        """Take the object's JSON, or build it from a name and its sections (`spec=`, `data=`, `rules=` …).

        `raw` is copied one level deep; the nested values are shared with the caller.
        """
        given = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
        named = {key: dict(it) if isinstance(it, Mapping) else it for key, it in given.items() if it}
        self.raw = {**(raw or {}), **sections}
        if named:
            self.raw["metadata"] = {**self.raw.get("metadata", {}), **named}
        self.raw["apiVersion"] = self.resource.api_version
        self.raw["kind"] = self.resource.kind

    def to_dict(self) -> dict[str, Any]:
        """The object as JSON. The very dict of this instance, not a copy."""
        return self.raw

    def _section(self, name: str) -> dict[str, Any]:
        value = self.raw.get(name)
        return _AbsentSection() if value is None else value

    @property
    def metadata(self) -> dict[str, Any]:
        """`metadata`; empty when absent."""
        return self._section("metadata")

    @property
    def spec(self) -> dict[str, Any]:
        """`spec`; empty when absent."""
        return self._section("spec")

    @property
    def status(self) -> dict[str, Any]:
        """`status`; empty when absent."""
        return self._section("status")

    @property
    def data(self) -> dict[str, Any]:
        """`data` of a ConfigMap or Secret; empty when absent."""
        return self._section("data")

    @property
    def name(self) -> str:
        """`metadata.name`; empty when absent."""
        name: str = self.metadata.get("name") or ""
        return name

    @property
    def namespace(self) -> str | None:
        """`metadata.namespace`; None for cluster-scoped objects."""
        return self.metadata.get("namespace")

    @property
    def uid(self) -> str:
        """`metadata.uid`; empty when the object was not read from a server."""
        uid: str = self.metadata.get("uid") or ""
        return uid

    @property
    def resource_version(self) -> str | None:
        """`metadata.resourceVersion`."""
        return self.metadata.get("resourceVersion")

    @property
    def generation(self) -> int:
        """`metadata.generation`; 0 for kinds that have none."""
        return self.metadata.get("generation") or 0

    @property
    def labels(self) -> dict[str, str]:
        """`metadata.labels`; empty when absent."""
        labels = self.metadata.get("labels")
        return _AbsentSection() if labels is None else labels

    @property
    def annotations(self) -> dict[str, str]:
        """`metadata.annotations`; empty when absent."""
        annotations = self.metadata.get("annotations")
        return _AbsentSection() if annotations is None else annotations

    def condition(self, condition_type: str) -> dict[str, Any] | None:
        """The condition of that type in `status.conditions`, or None."""
        for condition in self.status.get("conditions") or ():
            if condition.get("type") == condition_type:
                found: dict[str, Any] = condition
                return found
        return None

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Self:
        """The object of this kind with that JSON."""
        return cls(raw)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Unstructured) and other.raw == self.raw

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Never the content: the object may be a Secret.
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"<{self.resource.kind} {where}>"
