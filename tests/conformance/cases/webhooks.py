"""Admission and conversion webhooks, called out over HTTPS."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases.objects import config_map
from tests.conformance.cases.schema import widget
from tests.conformance.collecting import Collection, Story
from tests.conformance.hook import hook
from tests.conformance.recording import Client

case = Collection("webhooks")

Object = dict[str, Any]

_RULE = {
    "apiGroups": ["", "conformance.example.com"],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
    "resources": ["configmaps", "widgets", "widgets/status"],
}
_KINDS = {"validatingwebhookconfigurations": "validating", "mutatingwebhookconfigurations": "mutating"}


def _webhook(k: Client, path: str, number: int, **rest: Any) -> Object:
    return {
        "name": f"n{number}.{k.ns}.example.com",
        "clientConfig": hook().config(path),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": k.ns}},
        "objectSelector": {"matchExpressions": [{"key": "probe", "operator": "DoesNotExist"}]},
        "rules": [_RULE],
        **rest,
    }


async def _install(k: Client, resource: str, *webhooks: Object) -> None:
    """Create a configuration, and wait until the server asks it."""
    name = f"{k.ns}-{_KINDS[resource]}"
    probe = _webhook(k, "/deny", 9, objectSelector={"matchLabels": {"probe": _KINDS[resource]}})
    body = {"metadata": {"name": name}, "webhooks": [*webhooks, probe]}
    await k.create(resource, body, record=False)
    asked = {"metadata": {"name": "probe", "labels": {"probe": _KINDS[resource]}}}
    for _ in range(200):
        if (await k.create("configmaps", asked, record=False, dryRun="All")).code == 403:
            return
        await k.pause()


async def _remove(k: Client, resource: str) -> None:
    await k.delete(resource, f"{k.ns}-{_KINDS[resource]}", record=False)


def _validated(path: str, **rest: Any) -> Story:
    async def story(k: Client) -> None:
        resource = "validatingwebhookconfigurations"
        await _install(k, resource, _webhook(k, path, 1, **rest))
        await k.create("configmaps", config_map(a="1"))
        await k.create("widgets", widget({"size": "s"}), dryRun="All")
        await _remove(k, resource)

    return story


_VALIDATING: dict[str, tuple[str, dict[str, Any]]] = {
    "allow": ("/allow", {}),
    "deny": ("/deny", {}),
    "deny without a word": ("/deny-silently", {}),
    "deny as invalid": ("/deny-invalid", {}),
    "warn": ("/warn", {}),
    "what it is told": ("/echo", {}),
    "other uid": ("/other-uid", {}),
    "error": ("/error", {}),
    "error ignored": ("/error", {"failurePolicy": "Ignore"}),
    "no response": ("/nothing", {}),
    "object selector": ("/deny", {"objectSelector": {"matchLabels": {"a": "b"}}}),
    "cluster scope": ("/deny", {"rules": [{**_RULE, "scope": "Cluster"}]}),
    "other operations": ("/deny", {"rules": [{**_RULE, "operations": ["DELETE"]}]}),
    "other resources": ("/deny", {"rules": [{**_RULE, "resources": ["secrets", "configmaps/status"]}]}),
    "all resources": ("/deny", {"rules": [{**_RULE, "resources": ["*"]}]}),
    "other version": ("/deny", {"rules": [{**_RULE, "apiVersions": ["v9"]}]}),
}
for name, (path, rest) in _VALIDATING.items():
    case.add(f"validating {name}", _validated(path, **rest))


@case
async def operations(k: Client) -> None:
    resource = "validatingwebhookconfigurations"
    await k.create("widgets", widget({"size": "s"}), record=False)
    await _install(k, resource, _webhook(k, "/echo", 1))
    await k.merge("widgets", "w", {"spec": {"size": "t"}})
    await k.merge("widgets", "w", {"status": {"phase": "x"}}, "status")
    await k.merge("widgets", "w", {"spec": {"replicas": 2}}, "scale")
    await k.delete("widgets", "w", dryRun="All")
    await k.delete("widgets", "w")
    await _remove(k, resource)


@case
async def mutation(k: Client) -> None:
    resource = "mutatingwebhookconfigurations"
    await _install(k, resource, _webhook(k, "/label", 1))
    await k.create("configmaps", config_map(a="1"), fieldManager="c")
    await k.merge("configmaps", "x", {"metadata": {"labels": None}}, fieldManager="u")
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "y"}, "data": {"a": "1"}}
    await k.apply("configmaps", "y", applied)
    await k.apply("configmaps", "y", applied)
    await _remove(k, resource)


@case
async def mutation_of_a_custom_resource(k: Client) -> None:
    resource = "mutatingwebhookconfigurations"
    only = {"rules": [{**_RULE, "operations": ["CREATE"], "resources": ["widgets"]}]}
    await _install(k, resource, _webhook(k, "/default", 1, **only))
    await k.create("widgets", widget({"size": "s"}))
    await _remove(k, resource)


@case
async def mutation_that_makes_it_invalid(k: Client) -> None:
    resource = "mutatingwebhookconfigurations"
    only = {"rules": [{**_RULE, "resources": ["widgets"]}]}
    await _install(k, resource, _webhook(k, "/break", 1, **only))
    await k.create("widgets", widget({"size": "s"}))
    await _remove(k, resource)


@case
async def reinvocation(k: Client) -> None:
    resource = "mutatingwebhookconfigurations"
    await _install(
        k,
        resource,
        _webhook(k, "/count", 1, reinvocationPolicy="IfNeeded"),
        _webhook(k, "/count", 2, reinvocationPolicy="Never"),
    )
    await k.create("configmaps", config_map(a="1"))
    await _remove(k, resource)


@case
async def mutation_that_refuses(k: Client) -> None:
    resource = "mutatingwebhookconfigurations"
    await _install(k, resource, _webhook(k, "/deny", 1))
    await k.create("configmaps", config_map(a="1"))
    await _remove(k, resource)


@case
async def conversion(k: Client) -> None:
    group = f"{k.ns}.io"

    def version(name: str, field: str, *, storage: bool) -> Object:
        spec = {"type": "object", "properties": {field: {"type": "string"}, "more": {"type": "integer"}}}
        schema = {"type": "object", "properties": {"spec": spec}}
        return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}

    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": hook().config("/convert")}
    definition = {
        "metadata": {"name": f"foos.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [version("v1", "size", storage=True), version("v2", "length", storage=False)],
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }
    await k.create("customresourcedefinitions", definition, record=False)
    one, two = f"{group}/v1/foos", f"{group}/v2/foos"
    await k.until(two, "", lambda answer: answer.code == 200)
    k.transcript.pop()
    body = {"apiVersion": f"{group}/v1", "kind": "Foo", "metadata": {"name": "x"}, "spec": {"size": "s"}}
    await k.create(one, body, fieldManager="c")
    await k.get(two, "x")
    await k.list(two)
    await k.merge(two, "x", {"spec": {"length": "t"}}, fieldManager="u")
    await k.get(one, "x")
    newer = {
        **body,
        "apiVersion": f"{group}/v2",
        "metadata": {"name": "y"},
        "spec": {"length": "u", "more": 1},
    }
    await k.create(two, newer, fieldManager="c")
    await k.get(one, "y")
    await k.create(one, {**body, "metadata": {"name": "z"}, "spec": {"size": "refuse"}}, record=False)
    await k.get(two, "z")
    await k.delete("customresourcedefinitions", f"foos.{group}", record=False)
