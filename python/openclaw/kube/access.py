"""Asking the API server what one may do, where a refusal would be no news but noise in its audit log."""

from __future__ import annotations

from typing import Final

import orjson

from openclaw.api.kinds import ResourceKind
from openclaw.kube.client import Client

__all__ = ["may"]

_REVIEW: Final = ResourceKind(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)


async def may(
    client: Client, verb: str, resource: str, *, group: str = "", namespace: str = "", name: str = ""
) -> bool:
    """Whether this user may; everybody may ask.

    Args:
        client: asks.
        verb: such as `list`.
        resource: the plural, such as `leases`.
        group: its API group.
        namespace: where; "" for all, and for a resource that is in none.
        name: of one object; "" for all.

    Raises:
        KubeError: there is no answer.
    """
    asked = {"verb": verb, "group": group, "resource": resource, "namespace": namespace, "name": name}
    review = {
        "apiVersion": _REVIEW.api_version,
        "kind": _REVIEW.kind,
        "spec": {"resourceAttributes": {key: value for key, value in asked.items() if value}},
    }
    answer = orjson.loads(await client.create(_REVIEW, None, orjson.dumps(review)))
    return bool((answer.get("status") or {}).get("allowed"))
