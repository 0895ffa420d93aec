from typing import Any

import pytest

from openclaw.api.builtin import Ingress, Service
from openclaw.controllers.openclaw.endpoint import external_endpoint
from tests.unit.controllers.claws import claw


def balancer(*addresses: dict[str, Any]) -> Service:
    return Service({"status": {"loadBalancer": {"ingress": list(addresses)}}})


def node_port(*ports: int | None) -> Service:
    return Service(
        {"spec": {"ports": [{"port": 80, **({"nodePort": port} if port else {})} for port in ports]}}
    )


INGRESS = Ingress({"spec": {"rules": [{"host": "shop.example.com"}]}})


@pytest.mark.parametrize(
    ("frontend", "service", "ingress", "endpoint"),
    [
        ({}, Service({}), None, None),
        ({}, None, None, None),
        ({"serviceType": "NodePort"}, node_port(31234), None, "<node>:31234"),
        ({"serviceType": "NodePort"}, node_port(None), None, None),
        ({"serviceType": "NodePort"}, Service({}), None, None),
        ({"serviceType": "NodePort"}, None, None, None),
        # A load balancer has a node port too; it is not how the front end is meant to be reached.
        ({"serviceType": "LoadBalancer"}, node_port(31234), None, None),
        ({"serviceType": "ClusterIP"}, node_port(31234), None, None),
        ({"serviceType": "LoadBalancer"}, balancer(), None, None),
        ({"serviceType": "LoadBalancer"}, balancer({"ip": "203.0.113.7"}), None, "http://203.0.113.7"),
        ({"serviceType": "LoadBalancer"}, balancer({"ip": "2001:db8::7"}), None, "http://[2001:db8::7]"),
        (
            {"serviceType": "LoadBalancer"},
            balancer({"hostname": "lb.example.com"}),
            None,
            "http://lb.example.com",
        ),
        ({"serviceType": "LoadBalancer"}, balancer({}, {"ip": "203.0.113.8"}), None, "http://203.0.113.8"),
        ({"ingressHost": "shop.example.com"}, None, INGRESS, "http://shop.example.com"),
        ({"ingressHost": "shop.example.com"}, None, None, None),
        ({"ingressHost": "new.example.com"}, None, INGRESS, "http://shop.example.com"),
        ({"ingressHost": "shop.example.com"}, None, Ingress({}), None),
        (
            {"ingressHost": "shop.example.com", "serviceType": "LoadBalancer"},
            balancer({"ip": "203.0.113.7"}),
            INGRESS,
            "http://shop.example.com",
        ),
        # An Ingress that is on its way out.
        ({}, None, INGRESS, None),
    ],
)
def test_where_the_front_end_is_reached(
    frontend: dict[str, Any], service: Service | None, ingress: Ingress | None, endpoint: str | None
) -> None:
    assert external_endpoint(claw(frontend=frontend), service, ingress) == endpoint
