"""Patches of every type."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases.objects import config_map, named
from tests.conformance.cases.schema import widget
from tests.conformance.collecting import Collection, Story
from tests.conformance.recording import JSON_PATCH, MERGE_PATCH, STRATEGIC, Client

case = Collection("patches")


def _of_config_map(patch: Any, type: str, **query: Any) -> Story:
    async def story(k: Client) -> None:
        body = {**config_map(a="1", b="2"), "metadata": {"name": "x", "labels": {"a": "b"}}}
        await k.create("configmaps", body, record=False)
        await k.send("PATCH", k.path("configmaps", "x"), patch, type=type, **query)

    return story


def _of_widget(patch: Any, type: str, **query: Any) -> Story:
    async def story(k: Client) -> None:
        items = [{"name": "a", "value": 1}, {"name": "b"}]
        await k.create("widgets", widget({"size": "s", "set": ["a"], "items": items}), record=False)
        await k.send("PATCH", k.path("widgets", "w"), patch, type=type, **query)

    return story


_JSON: dict[str, Any] = {
    "replace what is missing": [{"op": "replace", "path": "/data/zzz", "value": "x"}],
    "test that fails": [{"op": "test", "path": "/data/a", "value": "x"}],
    "test that holds": [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/a"}],
    "remove what is missing": [{"op": "remove", "path": "/data/zzz"}],
    "unknown operation": [{"op": "bad", "path": "/x"}],
    "below a text": [{"op": "add", "path": "/data/c/d", "value": "x"}],
    "wrong type": [{"op": "add", "path": "/data", "value": 3}],
    "wrong type below": [{"op": "add", "path": "/data/c", "value": 3}],
    "move and copy": [
        {"op": "move", "from": "/data/a", "path": "/data/q"},
        {"op": "copy", "from": "/data/b", "path": "/data/r"},
    ],
    "path without a slash": [{"op": "add", "path": "data", "value": "x"}],
    "no operation": [{"path": "/data"}],
    "name": [{"op": "replace", "path": "/metadata/name", "value": "x2"}],
    "uid": [{"op": "replace", "path": "/metadata/uid", "value": "x"}],
    "version": [{"op": "add", "path": "/metadata/resourceVersion", "value": "1"}],
    "remove the metadata": [{"op": "remove", "path": "/metadata"}],
    "escaped path": [
        {"op": "add", "path": "/metadata/annotations", "value": {"a/b": "c"}},
        {"op": "remove", "path": "/metadata/annotations/a~1b"},
    ],
    "nothing": [],
    "an object": "{}",
    "no json": "{",
    "null": [{"op": "add", "path": "/data/a", "value": None}],
}
for name, patch in _JSON.items():
    case.add(f"json {name}", _of_config_map(patch, JSON_PATCH))

_MERGE: dict[str, Any] = {
    "remove and add": {"data": {"a": None, "z": "1"}},
    "no json": "{",
    "a list": "[]",
    "a text": '"x"',
    "wrong type": {"data": 3},
    "wrong type below": {"data": {"a": 3}},
    "name": {"metadata": {"name": "q"}},
    "namespace": {"metadata": {"namespace": "q"}},
    "version of the api": {"apiVersion": "v2"},
    "version": {"metadata": {"resourceVersion": "1"}},
    "remove all data": {"data": None},
    "remove the metadata": {"metadata": None},
    "nothing": {},
    "labels": {"metadata": {"labels": {"a": None, "c": "d"}}},
    "bad labels": {"metadata": {"labels": {"a b": "c d"}}},
}
for name, patch in _MERGE.items():
    case.add(f"merge {name}", _of_config_map(patch, MERGE_PATCH))
for mode in ("Strict", "Warn", "Ignore"):
    case.add(f"merge unknown field {mode}", _of_config_map({"zz": 3}, MERGE_PATCH, fieldValidation=mode))
    case.add(
        f"merge unknown field of a widget {mode}",
        _of_widget({"spec": {"zz": 1}}, MERGE_PATCH, fieldValidation=mode),
    )

_WIDGET: dict[str, tuple[Any, str]] = {
    "merge required away": ({"spec": {"size": None}}, MERGE_PATCH),
    "merge list": ({"spec": {"items": [{"name": "c"}]}}, MERGE_PATCH),
    "merge spec away": ({"spec": None}, MERGE_PATCH),
    "merge kind": ({"kind": "X"}, MERGE_PATCH),
    "merge version of the api": ({"apiVersion": "conformance.example.com/v2"}, MERGE_PATCH),
    "merge labels of numbers": ({"metadata": {"labels": {"a": 1}}}, MERGE_PATCH),
    "merge status": ({"status": {"phase": "x"}}, MERGE_PATCH),
    "json append": ([{"op": "add", "path": "/spec/set/-", "value": "b"}], JSON_PATCH),
    "json beyond the end": ([{"op": "add", "path": "/spec/set/9", "value": "b"}], JSON_PATCH),
    "json insert": ([{"op": "add", "path": "/spec/set/0", "value": "b"}], JSON_PATCH),
    "json invalid": ([{"op": "add", "path": "/spec/set/0", "value": "a"}], JSON_PATCH),
    "strategic": ({"spec": {"size": "t"}}, STRATEGIC),
    "as plain json": ({"spec": {"size": "t"}}, "application/json"),
    "as text": ({"spec": {"size": "t"}}, "text/plain"),
}
for name, (patch, media) in _WIDGET.items():
    case.add(f"widget {name}", _of_widget(patch, media))

_STRATEGIC: dict[str, Any] = {
    "replace a map": {"data": {"$patch": "replace", "x": "1"}},
    "finalizers": {"metadata": {"finalizers": ["a.b/c"]}},
    "delete everything": {"$patch": "delete"},
    "unknown directive": {"data": {"$patch": "bad"}},
    "no json": "{",
    "a list": "[]",
    "null": {"data": {"a": None}},
    "empty": {},
}
for name, patch in _STRATEGIC.items():
    case.add(f"strategic {name}", _of_config_map(patch, STRATEGIC))

_PODS: dict[str, Any] = {
    "image": {"containers": [{"name": "c", "image": "i:2"}]},
    "delete": {"containers": [{"name": "c", "$patch": "delete"}]},
    "order": {
        "containers": [{"name": "e", "image": "z"}],
        "$setElementOrder/containers": [{"name": "e"}, {"name": "d"}, {"name": "c"}],
    },
    "replace": {"containers": [{"$patch": "replace"}, {"name": "z", "image": "z"}]},
    "nested": {
        "containers": [{"name": "c", "env": [{"name": "A", "value": None}, {"name": "C", "value": "3"}]}]
    },
    "list without a key": {"tolerations": [{"key": "z"}]},
    "other source": {"volumes": [{"name": "v", "emptyDir": None, "hostPath": {"path": "/x"}}]},
    "retained keys": {
        "volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]
    },
    "item without a key": {"containers": [{"image": "q"}]},
    "port": {"containers": [{"name": "c", "ports": [{"containerPort": 81}]}]},
    "nothing left": {"containers": None},
    "order alone": {
        "containers": [
            {"name": "c", "command": ["a"], "$setElementOrder/env": [{"name": "B"}, {"name": "A"}]}
        ]
    },
    "new item": {"containers": [{"name": "n", "image": "n"}]},
    "two orders": {
        "containers": [
            {"name": "d", "image": "j2"},
            {"name": "n", "image": "n"},
            {"name": "c", "image": "i2"},
        ]
    },
}


def _of_deployment(patch: Any) -> Story:
    async def story(k: Client) -> None:
        containers = [
            {
                "name": "c",
                "image": "i:1",
                "ports": [{"containerPort": 80}],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
            },
            {"name": "d", "image": "j"},
        ]
        pod = {
            "containers": containers,
            "tolerations": [{"key": "k", "operator": "Exists"}],
            "volumes": [{"name": "v", "emptyDir": {}}],
        }
        spec = {
            "replicas": 0,
            "paused": True,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod},
        }
        await k.create("deployments", named(spec=spec), record=False)
        await k.until("deployments", "x", lambda answer: bool(answer["status.observedGeneration"]))
        k.transcript.pop()
        await k.strategic("deployments", "x", patch, dryRun="All")

    return story


for name, patch in _PODS.items():
    case.add(f"strategic pods {name}", _of_deployment({"spec": {"template": {"spec": patch}}}))
case.add(
    "strategic recreate",
    _of_deployment({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
)
case.add("strategic recreate alone", _of_deployment({"spec": {"strategy": {"type": "Recreate"}}}))
case.add(
    "strategic finalizers from a list",
    _of_deployment({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.y/z"], "finalizers": ["a.b/c"]}}),
)
