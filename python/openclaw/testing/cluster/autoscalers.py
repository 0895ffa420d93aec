"""HorizontalPodAutoscalers in `autoscaling/v1` and `v2`.

Follows `pkg/apis/autoscaling/v1/conversion.go`, without the annotations in which v1 keeps other metrics.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def convert_autoscaler(obj: Object, wanted: str) -> Object:
    """The object in the other version."""
    if obj.get("apiVersion") == wanted:
        return obj
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if wanted.endswith("/v1"):
        spec, status = _to_v1(spec, status)
    else:
        spec, status = _to_v2(spec, status)
    return {**obj, "apiVersion": wanted, "spec": spec, "status": status}


def _to_v1(spec: Object, status: Object) -> tuple[Object, Object]:
    rest = {key: value for key, value in spec.items() if key not in {"metrics", "behavior"}}
    for metric in spec.get("metrics") or ():
        target = (metric.get("resource") or {}).get("target") or {}
        if (metric.get("resource") or {}).get("name") == "cpu" and "averageUtilization" in target:
            rest["targetCPUUtilizationPercentage"] = target["averageUtilization"]
            break
    seen = {key: value for key, value in status.items() if key not in {"currentMetrics", "conditions"}}
    for metric in status.get("currentMetrics") or ():
        current = (metric.get("resource") or {}).get("current") or {}
        if (metric.get("resource") or {}).get("name") == "cpu" and "averageUtilization" in current:
            seen["currentCPUUtilizationPercentage"] = current["averageUtilization"]
    return rest, {"currentReplicas": 0, "desiredReplicas": 0, **seen}


def _to_v2(spec: Object, status: Object) -> tuple[Object, Object]:
    rest = {key: value for key, value in spec.items() if key != "targetCPUUtilizationPercentage"}
    share = spec.get("targetCPUUtilizationPercentage")
    if share is not None:
        target = {"type": "Utilization", "averageUtilization": share}
        rest["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    seen = {key: value for key, value in status.items() if key != "currentCPUUtilizationPercentage"}
    used = status.get("currentCPUUtilizationPercentage")
    current = None
    if used is not None:
        value = {"averageUtilization": used, "averageValue": "0"}
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": value}}]
    return rest, {"desiredReplicas": 0, **seen, "currentMetrics": current}
