"""The columns of the built-in kinds; follows `pkg/printers/internalversion/printers.go`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from openclaw.testing.cluster.ages import age
from openclaw.testing.cluster.clock import seconds_of
from openclaw.testing.cluster.contracts import Column
from openclaw.testing.cluster.paths import first
from openclaw.testing.cluster.podcells import pod_phase, pod_ready, pod_restarts

__all__ = ["AGE", "BUILTIN", "CREATED"]

Object = dict[str, Any]

_NONE: Final = "<none>"


@dataclass(frozen=True, slots=True)
class Computed(Column):
    """A column whose cells take more than a path; `compute` gets the object and the date."""

    compute: Callable[[Object, float], Any] | None = None


AGE: Final = Column("Age", "date", ".metadata.creationTimestamp")
CREATED: Final = Computed(
    "Created At", "date", "", compute=lambda obj, _: obj["metadata"].get("creationTimestamp")
)


def _aged(obj: Object, now: float) -> str:
    created = obj["metadata"].get("creationTimestamp")
    return "<unknown>" if not created else age(now - seconds_of(created))


def _text(
    name: str, compute: Callable[[Object], Any], *, wide: bool = False, type: str = "string"
) -> Computed:
    return Computed(name, type, "", priority=int(wide), compute=lambda obj, _: compute(obj))


def _at(
    name: str, path: str, *, otherwise: Any = _NONE, wide: bool = False, type: str = "string"
) -> Computed:
    def read(obj: Object) -> Any:
        value = first(path, obj)
        if value is None or value == "":
            return otherwise
        return str(value) if type == "string" else value

    return _text(name, read, wide=wide, type=type)


def _number(name: str, path: str) -> Computed:
    return _at(name, path, otherwise=0, type="integer")


_NAME: Final = Computed("Name", "string", "", format="name", compute=lambda obj, _: obj["metadata"]["name"])
_AGED: Final = Computed("Age", "string", "", compute=_aged)


def _joined(values: Iterable[Any]) -> str:
    return ",".join(str(value) for value in values) or _NONE


def _of(ready: str, wanted: str) -> Callable[[Object], str]:
    return lambda obj: f"{first(ready, obj) or 0}/{first(wanted, obj) or 0}"


def _labels(labels: dict[str, str] | None) -> str:
    return _joined(f"{key}={value}" for key, value in sorted((labels or {}).items()))


def _selector(obj: Object) -> str:
    selector = (obj.get("spec") or {}).get("selector") or {}
    return _labels(selector.get("matchLabels"))


def _pod_template(path: str) -> tuple[Computed, ...]:
    def containers(obj: Object) -> list[Object]:
        return first(f"{path}.spec.containers", obj) or []

    return (
        _text("Containers", lambda obj: _joined(one["name"] for one in containers(obj)), wide=True),
        _text("Images", lambda obj: _joined(one.get("image", "") for one in containers(obj)), wide=True),
        _text("Selector", _selector, wide=True),
    )


_TEMPLATE: Final = _pod_template(".spec.template")
_JOB_TEMPLATE: Final = _pod_template(".spec.jobTemplate.spec.template")


def _external(obj: Object) -> str:
    spec = obj["spec"]
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", _NONE))
    found = first(".status.loadBalancer.ingress", obj) or []
    addresses = [one.get("ip") or one.get("hostname", "") for one in found]
    addresses += spec.get("externalIPs") or []
    if addresses:
        return ",".join(addresses)
    return "<pending>" if spec.get("type") == "LoadBalancer" else _NONE


def _ports(obj: Object) -> str:
    return _joined(
        f"{port['port']}{':' + str(port['nodePort']) if port.get('nodePort') else ''}"
        f"/{port.get('protocol', 'TCP')}"
        for port in (obj.get("spec") or {}).get("ports") or ()
    )


def _data(obj: Object) -> int:
    return len(obj.get("data") or {}) + len(obj.get("binaryData") or {})


def _hosts(obj: Object) -> str:
    hosts = [rule["host"] for rule in (obj.get("spec") or {}).get("rules") or () if rule.get("host")]
    return ",".join(hosts) or "*"


def _addresses(obj: Object) -> str:
    found = first(".status.loadBalancer.ingress", obj) or []
    return ",".join(one.get("ip") or one.get("hostname", "") for one in found)


def _job_status(obj: Object) -> str:
    conditions = {one["type"]: one["status"] for one in (obj.get("status") or {}).get("conditions") or ()}
    for kind in ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if conditions.get(kind) == "True":
            return kind
    return "Terminating" if "deletionTimestamp" in obj["metadata"] else "Running"


def _job_completions(obj: Object) -> str:
    spec, status = obj["spec"], obj.get("status") or {}
    if spec.get("completions") is not None:
        return f"{status.get('succeeded', 0)}/{spec['completions']}"
    parallel = spec.get("parallelism") or 0
    return (
        f"{status.get('succeeded', 0)}/1 of {parallel}" if parallel > 1 else f"{status.get('succeeded', 0)}/1"
    )


def _job_duration(obj: Object, now: float) -> str:
    status = obj.get("status") or {}
    if not status.get("startTime"):
        return ""
    end = seconds_of(status["completionTime"]) if status.get("completionTime") else now
    return age(end - seconds_of(status["startTime"]))


def _node_status(obj: Object) -> str:
    conditions = {one["type"]: one["status"] for one in (obj.get("status") or {}).get("conditions") or ()}
    states = [
        "Ready" if conditions.get("Ready") == "True" else "NotReady" if "Ready" in conditions else "Unknown"
    ]
    if (obj.get("spec") or {}).get("unschedulable"):
        states.append("SchedulingDisabled")
    return ",".join(states)


def _versions(obj: Object) -> str:
    return ",".join(
        f"{one['name']}(storage)" if one.get("storage") else one["name"] for one in obj["spec"]["versions"]
    )


def _slice_ports(obj: Object) -> str:
    ports = obj.get("ports")
    return "<unset>" if ports is None else _joined(one.get("port", "*") for one in ports)


def _slice_endpoints(obj: Object) -> str:
    endpoints = obj.get("endpoints")
    if not endpoints:
        return "<unset>" if endpoints is None else _NONE
    return _joined(address for one in endpoints for address in one.get("addresses") or ())


def _role(obj: Object) -> str:
    return f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}"


def _subjects(kind: str) -> Callable[[Object], str]:
    def joined(obj: Object) -> str:
        return ",".join(
            f"{one['namespace']}/{one['name']}" if kind == "ServiceAccount" else one["name"]
            for one in obj.get("subjects") or ()
            if one["kind"] == kind
        )

    return joined


def _event_object(obj: Object) -> str:
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _event_seen(*names: str) -> Callable[[Object, float], str]:
    def seen(obj: Object, now: float) -> str:
        series = obj.get("series") or {}
        times = [obj.get(name) or series.get(name) for name in names]
        time = next((one for one in times if one), None) or obj["metadata"].get("creationTimestamp")
        return "<unknown>" if not time else age(now - seconds_of(time))

    return seen


_BINDING: Final = (
    _NAME,
    _text("Role", _role),
    _AGED,
    _text("Users", _subjects("User"), wide=True),
    _text("Groups", _subjects("Group"), wide=True),
    _text("ServiceAccounts", _subjects("ServiceAccount"), wide=True),
)
_EVENTS: Final = (
    Computed(
        "Last Seen",
        "string",
        "",
        compute=_event_seen("lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp", "eventTime"),
    ),
    _at("Type", ".type", otherwise=""),
    _at("Reason", ".reason", otherwise=""),
    _text("Object", _event_object),
    _text("Subobject", lambda obj: first(".involvedObject.fieldPath", obj) or "", wide=True),
    _text(
        "Source",
        lambda obj: (
            first(".source.component", obj)
            or obj.get("reportingComponent")
            or obj.get("reportingController")
            or ""
        ),
        wide=True,
    ),
    _text("Message", lambda obj: str(obj.get("message") or obj.get("note") or "").strip()),
    Computed("First Seen", "string", "", priority=1, compute=_event_seen("firstTimestamp", "eventTime")),
    _text("Count", lambda obj: str(first(".series.count", obj) or obj.get("count") or 1), wide=True),
    Computed("Name", "string", "", format="name", priority=1, compute=lambda obj, _: obj["metadata"]["name"]),
)

BUILTIN: Final[dict[tuple[str, str], tuple[Column, ...]]] = {
    ("", "configmaps"): (_NAME, _text("Data", _data), _AGED),
    ("", "events"): _EVENTS,
    ("events.k8s.io", "events"): _EVENTS,
    ("", "namespaces"): (_NAME, _at("Status", ".status.phase", otherwise=""), _AGED),
    ("", "nodes"): (
        _NAME,
        _text("Status", _node_status),
        _text("Roles", lambda _: _NONE),
        _AGED,
        _at("Version", ".status.nodeInfo.kubeletVersion", otherwise=""),
    ),
    ("", "persistentvolumeclaims"): (
        _NAME,
        _at("Status", ".status.phase", otherwise=""),
        _at("Volume", ".spec.volumeName", otherwise=""),
        _at("Capacity", ".status.capacity.storage", otherwise=""),
        _text("Access Modes", lambda obj: ",".join((obj.get("status") or {}).get("accessModes") or ())),
        _at("StorageClass", ".spec.storageClassName", otherwise=""),
        _at("VolumeAttributesClass", ".spec.volumeAttributesClassName", otherwise="<unset>"),
        _AGED,
        _at("VolumeMode", ".spec.volumeMode", otherwise="<unset>", wide=True),
    ),
    ("", "pods"): (
        _NAME,
        _text("Ready", pod_ready),
        _text("Status", pod_phase),
        Computed("Restarts", "string", "", compute=pod_restarts),
        _AGED,
        _at("IP", ".status.podIP", wide=True),
        _at("Node", ".spec.nodeName", wide=True),
        _at("Nominated Node", ".status.nominatedNodeName", wide=True),
        _text("Readiness Gates", lambda _: _NONE, wide=True),
    ),
    ("", "resourcequotas"): (
        _NAME,
        _text(
            "Request",
            lambda obj: ", ".join(
                f"{name}: {((obj.get('status') or {}).get('used') or {}).get(name, '0')}/{hard}"
                for name, hard in sorted(((obj.get("spec") or {}).get("hard") or {}).items())
            ),
        ),
        _text("Limit", lambda _: ""),
        _AGED,
    ),
    ("", "secrets"): (_NAME, _at("Type", ".type", otherwise=""), _text("Data", _data), _AGED),
    ("", "serviceaccounts"): (_NAME, _AGED),
    ("", "services"): (
        _NAME,
        _at("Type", ".spec.type", otherwise=""),
        _at("Cluster-IP", ".spec.clusterIP"),
        _text("External-IP", _external),
        _text("Port(s)", _ports),
        _AGED,
        _text("Selector", lambda obj: _labels((obj.get("spec") or {}).get("selector")), wide=True),
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): (
        _NAME,
        _at("Scope", ".spec.scope"),
        _text("Versions", _versions),
        CREATED,
        _at("Group", ".spec.group", wide=True),
        _at("Kind", ".spec.names.kind", wide=True),
        _text("ShortNames", lambda obj: ",".join(obj["spec"]["names"].get("shortNames") or ()), wide=True),
    ),
    ("apps", "daemonsets"): (
        _NAME,
        _number("Desired", ".status.desiredNumberScheduled"),
        _number("Current", ".status.currentNumberScheduled"),
        _number("Ready", ".status.numberReady"),
        _number("Up-to-date", ".status.updatedNumberScheduled"),
        _number("Available", ".status.numberAvailable"),
        _text("Node Selector", lambda obj: _labels(first(".spec.template.spec.nodeSelector", obj))),
        _AGED,
        *_TEMPLATE,
    ),
    ("apps", "deployments"): (
        _NAME,
        _text("Ready", _of(".status.readyReplicas", ".spec.replicas")),
        _number("Up-to-date", ".status.updatedReplicas"),
        _number("Available", ".status.availableReplicas"),
        _AGED,
        *_TEMPLATE,
    ),
    ("apps", "replicasets"): (
        _NAME,
        _number("Desired", ".spec.replicas"),
        _number("Current", ".status.replicas"),
        _number("Ready", ".status.readyReplicas"),
        _AGED,
        *_TEMPLATE,
    ),
    ("apps", "statefulsets"): (
        _NAME,
        _text("Ready", _of(".status.readyReplicas", ".spec.replicas")),
        _AGED,
        *_TEMPLATE[:2],
    ),
    ("batch", "cronjobs"): (
        _NAME,
        _at("Schedule", ".spec.schedule"),
        _at("Timezone", ".spec.timeZone"),
        # A text, whatever its type says.
        _text("Suspend", lambda obj: str(bool(first(".spec.suspend", obj))), type="boolean"),
        _text("Active", lambda obj: len(first(".status.active", obj) or ()), type="integer"),
        _at("Last Schedule", ".status.lastScheduleTime"),
        _AGED,
        *_JOB_TEMPLATE,
    ),
    ("batch", "jobs"): (
        _NAME,
        _text("Status", _job_status),
        _text("Completions", _job_completions),
        Computed("Duration", "string", "", compute=_job_duration),
        _AGED,
        *_TEMPLATE,
    ),
    ("coordination.k8s.io", "leases"): (_NAME, _at("Holder", ".spec.holderIdentity", otherwise=""), _AGED),
    ("discovery.k8s.io", "endpointslices"): (
        _NAME,
        _at("AddressType", ".addressType", otherwise=""),
        _text("Ports", _slice_ports),
        _text("Endpoints", _slice_endpoints),
        _AGED,
    ),
    ("networking.k8s.io", "ingressclasses"): (
        _NAME,
        _at("Controller", ".spec.controller", otherwise=""),
        _text("Parameters", lambda _: _NONE),
        _AGED,
    ),
    ("networking.k8s.io", "ingresses"): (
        _NAME,
        _at("Class", ".spec.ingressClassName"),
        _text("Hosts", _hosts),
        _text("Address", _addresses),
        _text("Ports", lambda obj: "80, 443" if (obj.get("spec") or {}).get("tls") else "80"),
        _AGED,
    ),
    ("networking.k8s.io", "networkpolicies"): (
        _NAME,
        _text("Pod-Selector", lambda obj: _labels(first(".spec.podSelector.matchLabels", obj))),
        _AGED,
    ),
    ("policy", "poddisruptionbudgets"): (
        _NAME,
        _at("Min Available", ".spec.minAvailable", otherwise="N/A"),
        _at("Max Unavailable", ".spec.maxUnavailable", otherwise="N/A"),
        _number("Allowed Disruptions", ".status.disruptionsAllowed"),
        _AGED,
    ),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDING,
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDING,
}
