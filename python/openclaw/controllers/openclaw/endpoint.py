"""Where the front end is reached from outside of the cluster."""

from __future__ import annotations

from openclaw.api.builtin import Ingress, Service
from openclaw.api.openclaw import OpenClaw

__all__ = ["external_endpoint"]


def external_endpoint(claw: OpenClaw, service: Service | None, ingress: Ingress | None) -> str | None:
    """A URL of the Ingress host or the load balancer, `<node>:PORT` for a node port, or None.

    Args:
        claw: the root, whose spec says which of them is meant.
        service: the front end's, if it is there.
        ingress: the front end's, if it is there.
    """
    if claw.spec.frontend.ingress_host:
        hosts = [rule.get("host") for rule in ingress.spec.get("rules") or ()] if ingress is not None else []
        # An Ingress that could not be changed still publishes what it did.
        return f"http://{hosts[0]}" if hosts and hosts[0] else None
    if service is None:
        return None
    if claw.spec.frontend.service_type == "LoadBalancer":
        for entry in service.status.get("loadBalancer", {}).get("ingress") or ():
            address = entry.get("hostname") or entry.get("ip")
            if address:
                host = f"[{address}]" if ":" in address else address
                return f"http://{host}"
        return None
    if claw.spec.frontend.service_type == "NodePort":
        for port in service.spec.get("ports") or ():
            if port.get("nodePort"):
                return f"<node>:{port['nodePort']}"
    return None
