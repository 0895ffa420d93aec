"""Rules of pods and of the pod templates of workloads."""

from __future__ import annotations

import re
from typing import Any, Final

from openclaw.testing.cluster.kinds.generic import (
    Object,
    forbidden,
    invalid,
    not_negative,
    required,
)
from openclaw.testing.cluster.quantity import canonical, parse_quantity
from openclaw.testing.cluster.schema.names import check_annotations, check_labels, short_name_faults
from openclaw.testing.cluster.schema.values import shown
from openclaw.testing.cluster.statuses import Cause

PORTS: Final = range(1, 65536)
PORT_DETAIL: Final = "must be between 1 and 65535, inclusive"
_HANDLERS: Final = frozenset({"exec", "httpGet", "tcpSocket", "grpc"})
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_PORT_NAME: Final = re.compile("[a-z0-9-]+")
_MUTABLE_CONTAINER: Final = frozenset({"image"})
_UPDATE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
    "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)


def check_pod_template(template: Any, path: str, causes: list[Cause]) -> None:
    """Append what is wrong with a PodTemplateSpec."""
    metadata = template.get("metadata") or {}
    check_labels(metadata.get("labels"), f"{path}.metadata.labels", causes)
    check_annotations(metadata.get("annotations"), f"{path}.metadata.annotations", causes)
    check_pod_spec(template.get("spec") or {}, f"{path}.spec", causes)


def check_pod_spec(spec: Object, path: str, causes: list[Cause]) -> None:
    """Append what is wrong with a PodSpec, besides missing fields."""
    volumes = _volumes(spec, f"{path}.volumes", causes)
    seen: set[str] = set()
    for key in ("containers", "initContainers"):
        for at, container in enumerate(spec.get(key) or ()):
            place = f"{path}.{key}[{at}]"
            name = container.get("name", "")
            if name in seen and name:
                causes.append(Cause.of("FieldValueDuplicate", f"{place}.name", value=shown(name)))
            seen.add(name)
            _container(container, place, volumes, causes)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and deadline < 1:
        invalid(
            deadline, "must be between 1 and 2147483647, inclusive", f"{path}.activeDeadlineSeconds", causes
        )


def _volumes(spec: Object, path: str, causes: list[Cause]) -> set[str]:
    names: set[str] = set()
    for at, volume in enumerate(spec.get("volumes") or ()):
        name, place = volume.get("name", ""), f"{path}[{at}]"
        if name in names:
            causes.append(Cause.of("FieldValueDuplicate", f"{place}.name", value=shown(name)))
        sources = [key for key in volume if key != "name"]
        for second in sources[1:]:
            forbidden(f"{place}.{second}", "may not specify more than 1 volume type", causes)
        if name:
            for fault in short_name_faults(name):
                invalid(name, fault, f"{place}.name", causes)
        names.add(name)
    return names


def _container(container: Object, path: str, volumes: set[str], causes: list[Cause]) -> None:
    name = container.get("name", "")
    if name:
        for fault in short_name_faults(name):
            invalid(name, fault, f"{path}.name", causes)
    if not container.get("image"):
        required(f"{path}.image", causes)
    for at, port in enumerate(container.get("ports") or ()):
        _port(port, f"{path}.ports[{at}]", causes)
    for at, mount in enumerate(container.get("volumeMounts") or ()):
        wanted = mount.get("name", "")
        if wanted and wanted not in volumes:
            causes.append(
                Cause.of("FieldValueNotFound", f"{path}.volumeMounts[{at}].name", value=shown(wanted))
            )
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(key)) is not None:
            _probe(probe, f"{path}.{key}", causes)
    _resources(container.get("resources") or {}, f"{path}.resources", causes)


def _port(port: Object, path: str, causes: list[Cause]) -> None:
    name = port.get("name", "")
    if name:
        if not _PORT_NAME.fullmatch(name):
            detail = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
            invalid(name, detail, f"{path}.name", causes)
        if not re.search("[a-z]", name):
            invalid(name, "must contain at least one letter (a-z)", f"{path}.name", causes)
    for key in ("containerPort", "hostPort"):
        number = port.get(key)
        if number and number not in PORTS:
            invalid(number, PORT_DETAIL, f"{path}.{key}", causes)


def _probe(probe: Object, path: str, causes: list[Cause]) -> None:
    if not _HANDLERS & probe.keys():
        required(path, causes, "must specify a handler type")
    not_negative(probe, _PROBE_NUMBERS, path, causes)


def _resources(resources: Object, path: str, causes: list[Cause]) -> None:
    limits = resources.get("limits") or {}
    for name, text in (resources.get("requests") or {}).items():
        limit = limits.get(name)
        if limit is not None and parse_quantity(text) > parse_quantity(limit):
            detail = f"must be less than or equal to {name} limit of {canonical(limit)}"
            invalid(canonical(text), detail, f"{path}.requests", causes)


def check_pod_update(new: Object, old: Object, causes: list[Cause]) -> None:
    """Append that something of the spec was changed that may not be."""
    if _fixed(new.get("spec") or {}) != _fixed(old.get("spec") or {}):
        forbidden("spec", _UPDATE, causes)


def _fixed(spec: Object) -> Object:
    free = {"activeDeadlineSeconds", "tolerations", "containers", "initContainers", "schedulingGates"}
    fixed = {key: value for key, value in spec.items() if key not in free}
    for key in ("containers", "initContainers"):
        fixed[key] = [
            {field: value for field, value in container.items() if field not in _MUTABLE_CONTAINER}
            for container in spec.get(key) or ()
        ]
    return fixed
