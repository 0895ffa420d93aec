"""Rules of Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs and CronJobs."""

from __future__ import annotations

import re
from typing import Any, Final

from openclaw.testing.cluster.kinds.generic import (
    Object,
    check_selector,
    forbidden,
    invalid,
    not_negative,
    not_supported,
    required,
    selects,
    unchanged,
)
from openclaw.testing.cluster.kinds.pods import check_pod_template
from openclaw.testing.cluster.schema.values import shown
from openclaw.testing.cluster.statuses import Cause

_PERCENT: Final = re.compile("[0-9]+%")
_PERCENT_DETAIL: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
    "used for validation is '[0-9]+%')"
)
_STATEFUL_SET_UPDATE: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFUL_SET_FREE: Final = frozenset(
    {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"}
    | {"persistentVolumeClaimRetentionPolicy", "minReadySeconds"}
)
_STATEFUL_SET_NAMED: Final = ("podManagementPolicy", "selector", "serviceName")
_CRON_FIELDS: Final = 5
_CRON_FIELD: Final = re.compile(r"[\d*/,\-?A-Za-z]+")


def check_workload(kind: str, new: Object, old: Object | None, causes: list[Cause]) -> None:
    """Append what is wrong with the spec of a workload that has a selector and a template."""
    spec = new.get("spec") or {}
    not_negative(spec, ("replicas", "minReadySeconds", "revisionHistoryLimit"), "spec", causes)
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    selector = spec.get("selector")
    before = len(causes)
    check_selector(selector, "spec.selector", causes)
    if len(causes) > before:
        invalid(selector, "invalid label selector", "spec.selector", causes)
    elif selector == {}:
        invalid(selector, f"empty selector is invalid for {kind.lower()}", "spec.selector", causes)
    elif selector is None or not selects(selector, labels or {}):
        detail = "`selector` does not match template `labels`"
        invalid(labels, detail, "spec.template.metadata.labels", causes)
    check_pod_template(template, "spec.template", causes)
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy and policy != "Always":
        not_supported(policy, ["Always"], "spec.template.spec.restartPolicy", causes)
    if kind == "Deployment":
        _deployment(spec, causes)
    if old is not None:
        before_spec = old.get("spec") or {}
        if kind == "StatefulSet":
            unchanged(spec, before_spec, _STATEFUL_SET_NAMED, "spec", causes)
            keys = (spec.keys() | before_spec.keys()) - _STATEFUL_SET_FREE - set(_STATEFUL_SET_NAMED)
            if any(spec.get(key) != before_spec.get(key) for key in keys):
                forbidden("spec", _STATEFUL_SET_UPDATE, causes)
        else:
            unchanged(spec, before_spec, ("selector",), "spec", causes)


def _deployment(spec: Object, causes: list[Cause]) -> None:
    strategy = spec.get("strategy") or {}
    rolling = strategy.get("rollingUpdate")
    if strategy.get("type") == "Recreate" and rolling is not None:
        detail = "may not be specified when strategy `type` is 'Recreate'"
        forbidden("spec.strategy.rollingUpdate", detail, causes)
    elif strategy.get("type") == "RollingUpdate" and rolling:
        place = "spec.strategy.rollingUpdate"
        for key in ("maxUnavailable", "maxSurge"):
            check_int_or_percent(rolling.get(key), f"{place}.{key}", causes)
        if rolling.get("maxUnavailable") in (0, "0%") and rolling.get("maxSurge") in (0, "0%"):
            value = rolling["maxUnavailable"]
            invalid(value, "may not be 0 when `maxSurge` is 0", f"{place}.maxUnavailable", causes)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        invalid(deadline, "must be greater than minReadySeconds", "spec.progressDeadlineSeconds", causes)


def check_int_or_percent(value: Any, field: str, causes: list[Cause]) -> None:
    """Append that a value is neither a number from 0 nor a percentage."""
    if isinstance(value, str) and not _PERCENT.fullmatch(value):
        invalid(value, _PERCENT_DETAIL, field, causes)
    elif isinstance(value, int) and value < 0:
        invalid(value, "must be greater than or equal to 0", field, causes)


def check_job(spec: Object, old: Object | None, path: str, causes: list[Cause]) -> None:
    """Append what is wrong with a JobSpec; `old` is the spec before."""
    numbers = (
        "parallelism",
        "completions",
        "backoffLimit",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
    )
    not_negative(spec, numbers, path, causes)
    template = spec.get("template") or {}
    check_pod_template(template, f"{path}.template", causes)
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy not in {"OnFailure", "Never"}:
        field = f"{path}.template.spec.restartPolicy"
        if policy in {"Always", None, ""}:
            required(field, causes, 'valid values: "OnFailure", "Never"')
        else:
            not_supported(policy, ["OnFailure", "Never"], field, causes)
    if old is not None:
        keys = ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex")
        unchanged(spec, old, keys, path, causes)
        if spec.get("completions") != old.get("completions") and spec.get("completionMode") != "Indexed":
            unchanged(spec, old, ("completions",), path, causes)
        if not (old.get("suspend") or spec.get("suspend")):
            unchanged(spec, old, ("template",), path, causes)


def check_cron_job(spec: Object, causes: list[Cause]) -> None:
    """Append what is wrong with a CronJobSpec."""
    schedule = spec.get("schedule") or ""
    fields = schedule.split()
    if schedule and not schedule.startswith("@"):
        if len(fields) != _CRON_FIELDS:
            detail = f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
            invalid(schedule, detail, "spec.schedule", causes)
        elif bad := next((field for field in fields if not _CRON_FIELD.fullmatch(field)), None):
            invalid(schedule, f"failed to parse int from {bad}", "spec.schedule", causes)
    not_negative(
        spec,
        ("successfulJobsHistoryLimit", "failedJobsHistoryLimit", "startingDeadlineSeconds"),
        "spec",
        causes,
    )
    template = (spec.get("jobTemplate") or {}).get("spec") or {}
    check_job(template, None, "spec.jobTemplate.spec", causes)


def check_replication_controller(spec: Object, causes: list[Cause]) -> None:
    """Append what is wrong with a ReplicationControllerSpec."""
    not_negative(spec, ("replicas", "minReadySeconds"), "spec", causes)
    selector = spec.get("selector")
    if not selector:
        required("spec.selector", causes)
    template = spec.get("template")
    if not template:
        required("spec.template", causes)
        return
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and any(labels.get(key) != value for key, value in selector.items()):
        detail = "`selector` does not match template `labels`"
        causes.append(Cause.of("FieldValueInvalid", "spec.template.metadata.labels", detail, shown(labels)))
    check_pod_template(template, "spec.template", causes)
