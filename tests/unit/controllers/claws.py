"""OpenClaw objects for tests of their controller."""

from typing import Any

from openclaw.api.openclaw import OpenClaw


def claw(
    *,
    name: str = "storefront",
    frontend: dict[str, Any] | None = None,
    worker: dict[str, Any] | None = None,
    shared: dict[str, Any] | None = None,
) -> OpenClaw:
    """One as a user would write it, with parts changed."""
    return OpenClaw.from_dict(
        {
            "metadata": {"name": name, "namespace": "shop", "uid": "u-1", "generation": 3},
            "spec": {
                "frontend": {"image": "web:1", **(frontend or {})},
                "worker": {"image": "worker:1", "queue": "redis.shop:6379", **(worker or {})},
                **({"globalConfig": shared} if shared is not None else {}),
            },
        }
    )
