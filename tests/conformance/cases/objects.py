"""Bodies that several areas use."""

from __future__ import annotations

from typing import Any

from tests.conformance.collecting import Collection

case = Collection("objects")

Object = dict[str, Any]

CONTAINERS = [{"name": "c", "image": "example.com/i:1"}]
SELECTOR = {"matchLabels": {"a": "b"}}


def named(name: str = "x", **rest: Any) -> Object:
    return {"metadata": {"name": name}, **rest}


def template(**spec: Any) -> Object:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS, **spec}}


def deployment(name: str = "x", **spec: Any) -> Object:
    return named(name, spec={"replicas": 0, "selector": SELECTOR, "template": template(), **spec})


def config_map(name: str = "x", **data: str) -> Object:
    return named(name, data=data)


def typed(kind: str, version: str, body: Object) -> Object:
    return {"apiVersion": version, "kind": kind, **body}
