"""Where the front end is reached from outside of the cluster."""

from __future__ import annotations

from openclaw.api.builtin import Service
from openclaw.api.openclaw import OpenClaw

__all__ = ["external_endpoint"]


def external_endpoint(claw: OpenClaw, service: Service | None) -> str | None:
    """A URL of the Ingress host or the load balancer, `<node>:PORT` for a node port, or None."""
    if claw.spec.frontend.ingress_host:
        return f"http://{claw.spec.frontend.ingress_host}"
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
