"""From an object's spec to what the provider is told."""

from __future__ import annotations

from collections.abc import Mapping

from openclaw.api.httpresource import HTTPResource, RequestSpec
from openclaw.providers.descriptors import Owner
from openclaw.providers.http import HTTPApi, HTTPRequest, HTTPWanted
from openclaw.providers.http.template import expand_body
from openclaw.providers.lifecycle import Policy

__all__ = ["api_of", "owner_of", "policy_of", "wanted_of"]


def owner_of(obj: HTTPResource) -> Owner:
    """The object, as things are marked with it."""
    return Owner(obj.kind, obj.namespace or "", obj.name, obj.uid)


def wanted_of(obj: HTTPResource) -> HTTPWanted:
    """What shall exist.

    Raises:
        ExternalInvalid: the body has an unknown `${…}`.
    """
    body = expand_body(obj.spec.body, _values(obj))
    return HTTPWanted(obj.spec.identity or "", owner_of(obj), body)


def api_of(obj: HTTPResource) -> HTTPApi:
    """What the API looks like."""
    spec, requests = obj.spec, obj.spec.requests
    return HTTPApi(
        get=_request(requests.get),
        create=_request(requests.create),
        update=_optional(requests.update),
        delete=_optional(requests.delete),
        find=_optional(requests.find),
        health=_optional(requests.health),
        identity=spec.identity_from,
        state=spec.state,
        items=spec.items,
        owner=spec.owner,
        write_only=tuple(spec.write_only),
        values=_values(obj),
    )


def policy_of(obj: HTTPResource, *, visible_after: float) -> Policy:
    """What may be done."""
    spec = obj.spec
    full = spec.management_policy == "Full"
    return Policy(
        create=full,
        update=full,
        adopt=spec.adoption_policy,
        owner_marks=spec.owner is not None,
        visible_after=visible_after,
    )


def _values(obj: HTTPResource) -> Mapping[str, str]:
    return {"name": obj.name, "namespace": obj.namespace or "", "uid": obj.uid}


def _request(spec: RequestSpec) -> HTTPRequest:
    meanings = {int(status): meaning for status, meaning in spec.statuses.items()}
    return HTTPRequest(method=spec.method, path=spec.path, meanings=meanings)


def _optional(spec: RequestSpec | None) -> HTTPRequest | None:
    return None if spec is None else _request(spec)
