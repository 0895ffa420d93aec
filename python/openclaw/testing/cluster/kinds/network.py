"""Rules of Services, Ingresses and NetworkPolicies."""

from __future__ import annotations

import ipaddress
from typing import Any, Final

from openclaw.testing.cluster.kinds.generic import (
    Object,
    check_selector,
    forbidden,
    invalid,
    required,
    unchanged,
)
from openclaw.testing.cluster.kinds.pods import PORT_DETAIL, PORTS
from openclaw.testing.cluster.schema.names import long_name_faults, short_name_faults
from openclaw.testing.cluster.schema.values import shown
from openclaw.testing.cluster.statuses import Cause

_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_INGRESS: Final = "either `defaultBackend` or `rules` must be specified"


def check_service(new: Object, old: Object | None, causes: list[Cause]) -> None:
    """Append what is wrong with a Service."""
    spec = new.get("spec") or {}
    ports = spec.get("ports") or []
    if spec.get("type") == "ExternalName":
        _external_name(spec.get("externalName"), causes)
    elif not ports and spec.get("clusterIP") != "None":
        required("spec.ports", causes)
    _service_ports(ports, causes)
    addresses = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    for at, address in enumerate(addresses):
        if address != "None" and not _is_address(address):
            invalid(address, _ADDRESS, f"spec.clusterIPs[{at}]", causes)
    if old is not None:
        _service_update(spec, old.get("spec") or {}, causes)


def check_service_status(new: Object, causes: list[Cause]) -> None:
    """Append what is wrong with the status of a Service."""
    ingress = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress")
    if ingress and (new.get("spec") or {}).get("type") != "LoadBalancer":
        detail = "may only be used when `spec.type` is 'LoadBalancer'"
        forbidden("status.loadBalancer.ingress", detail, causes)


def _external_name(name: Any, causes: list[Cause]) -> None:
    if not name:
        required("spec.externalName", causes)
        return
    for fault in long_name_faults(name.rstrip(".")):
        invalid(name, fault, "spec.externalName", causes)


def _service_ports(ports: list[Object], causes: list[Cause]) -> None:
    names: set[str] = set()
    used: set[tuple[Any, Any]] = set()
    for at, port in enumerate(ports):
        place = f"spec.ports[{at}]"
        name = port.get("name", "")
        if name:
            for fault in short_name_faults(name):
                invalid(name, fault, f"{place}.name", causes)
            if name in names:
                causes.append(Cause.of("FieldValueDuplicate", f"{place}.name", value=shown(name)))
            names.add(name)
        elif len(ports) > 1:
            required(f"{place}.name", causes)
        _port_number(port.get("port", 0), f"{place}.port", causes)
        target = port.get("targetPort")
        if isinstance(target, int):
            _port_number(target, f"{place}.targetPort", causes)
        key = (port.get("protocol"), port.get("port"))
        if key in used:
            go = {"Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1]}
            zero = {"TargetPort": 0, "NodePort": 0}
            causes.append(Cause.of("FieldValueDuplicate", place, value=shown({**go, **zero})))
        used.add(key)


def _service_update(spec: Object, old: Object, causes: list[Cause]) -> None:
    if "ExternalName" in (spec.get("type"), old.get("type")):
        return
    new_addresses, addresses = spec.get("clusterIPs") or [], old.get("clusterIPs") or []
    if spec.get("clusterIP") and spec.get("clusterIP") != old.get("clusterIP"):
        new_addresses = [spec["clusterIP"], *new_addresses[1:]]
    if addresses and new_addresses and new_addresses[0] != addresses[0]:
        invalid(new_addresses, "may not change once set", "spec.clusterIPs[0]", causes)


def _port_number(number: Any, field: str, causes: list[Cause]) -> None:
    if number not in PORTS:
        invalid(number, PORT_DETAIL, field, causes)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def check_ingress(new: Object, causes: list[Cause]) -> None:
    """Append what is wrong with an Ingress."""
    spec = new.get("spec") or {}
    if not spec.get("rules") and not spec.get("defaultBackend"):
        causes.append(Cause.of("FieldValueInvalid", "spec", _INGRESS, "null"))
    if spec.get("defaultBackend"):
        _backend(spec["defaultBackend"], "spec.defaultBackend", causes)
    for at, rule in enumerate(spec.get("rules") or ()):
        place = f"spec.rules[{at}]"
        host = rule.get("host", "")
        if host:
            for fault in long_name_faults(host.removeprefix("*.")):
                invalid(host, fault, f"{place}.host", causes)
        for number, path in enumerate((rule.get("http") or {}).get("paths") or ()):
            _path(path, f"{place}.http.paths[{number}]", causes)


def _path(path: Object, place: str, causes: list[Cause]) -> None:
    kind, text = path.get("pathType"), path.get("path", "")
    if not kind:
        required(f"{place}.pathType", causes, "pathType must be specified")
        return
    if (kind in {"Exact", "Prefix"} and not text.startswith("/")) or (text and not text.startswith("/")):
        invalid(text, "must be an absolute path", f"{place}.path", causes)
    _backend(path.get("backend") or {}, f"{place}.backend", causes)


def _backend(backend: Object, place: str, causes: list[Cause]) -> None:
    service, resource = backend.get("service"), backend.get("resource")
    if service and resource:
        invalid("", "cannot set both resource and service backends", place, causes)
    elif service is None and resource is None:
        invalid("", "resource or service backend is required", place, causes)
    elif service is not None:
        name, port = service.get("name"), service.get("port") or {}
        if not name:
            required(f"{place}.service.name", causes)
        else:
            for fault in short_name_faults(name):
                invalid(name, fault, f"{place}.service.name", causes)
        if not port.get("name") and not port.get("number"):
            required(f"{place}.service.port", causes, "port name or number is required")
        elif port.get("number") and not port.get("name"):
            _port_number(port["number"], f"{place}.service.port.number", causes)


def check_network_policy(new: Object, causes: list[Cause]) -> None:
    """Append what is wrong with a NetworkPolicy."""
    spec = new.get("spec") or {}
    check_selector(spec.get("podSelector"), "spec.podSelector", causes)
    for key in ("ingress", "egress"):
        for at, rule in enumerate(spec.get(key) or ()):
            for number, port in enumerate(rule.get("ports") or ()):
                if isinstance(port.get("port"), int):
                    _port_number(port["port"], f"spec.{key}[{at}].ports[{number}].port", causes)


def check_ingress_class(new: Object, old: Object | None, causes: list[Cause]) -> None:
    """Append what is wrong with an IngressClass."""
    spec = new.get("spec") or {}
    if not spec.get("controller"):
        required("spec.controller", causes)
    if old is not None:
        unchanged(spec, old.get("spec") or {}, ("controller",), "spec", causes)
