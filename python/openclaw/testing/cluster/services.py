"""What Services are given: addresses, and the ports of nodes; follows `pkg/registry/core/service`."""

from __future__ import annotations

from typing import Any, Final

from openclaw.testing.cluster.contracts import Reader

__all__ = ["changed_service", "new_service"]

Object = dict[str, Any]

_NODE_PORTS: Final = range(30000, 32768)
_ON_NODES: Final = frozenset({"NodePort", "LoadBalancer"})
_ALLOCATED: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def new_service(obj: Object, reader: Reader) -> Object:
    """A new Service with what it is given."""
    return _allocated(dict(obj.get("spec") or {}), obj, {}, reader)


def changed_service(obj: Object, old: Object, reader: Reader) -> Object:
    """Another state of a Service: what was given stays given, as long as its type has it."""
    spec, before = dict(obj.get("spec") or {}), old.get("spec") or {}
    if spec.get("type") != "ExternalName":
        for field in _ALLOCATED:
            if not spec.get(field) and field in before:
                spec[field] = before[field]
    return _allocated(spec, obj, before, reader)


def _allocated(spec: Object, obj: Object, before: Object, reader: Reader) -> Object:
    if spec.get("type") == "ExternalName":
        return obj
    if not spec.get("clusterIP"):
        spec["clusterIP"] = _free_address(reader)
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    if spec.get("type") in _ON_NODES:
        spec["ports"] = _on_nodes(spec.get("ports") or (), before.get("ports") or (), reader)
    elif before.get("type") in _ON_NODES:
        # Not of this type: ports that came along from the state before are no wish.
        spec["ports"] = [
            {key: value for key, value in port.items() if key != "nodePort"}
            for port in spec.get("ports") or ()
        ]
    return {**obj, "spec": spec}


def _on_nodes(ports: Any, before: Any, reader: Reader) -> list[Object]:
    known = {_port(port): port["nodePort"] for port in before if port.get("nodePort")}
    taken = {
        port.get("nodePort")
        for other in reader.list("", "services")
        for port in (other.get("spec") or {}).get("ports") or ()
    }
    given = []
    for port in ports:
        number = port.get("nodePort") or known.get(_port(port))
        number = number or next(it for it in _NODE_PORTS if it not in taken)
        taken.add(number)
        given.append({**port, "nodePort": number})
    return given


def _port(port: Object) -> tuple[str, int]:
    return port.get("protocol", "TCP"), port["port"]


def _free_address(reader: Reader) -> str:
    taken = {(other.get("spec") or {}).get("clusterIP") for other in reader.list("", "services")}
    return next(
        address
        for number in range(1, 2**20)
        if (address := f"10.{96 + (number >> 16)}.{number >> 8 & 255}.{number & 255}") not in taken
    )
