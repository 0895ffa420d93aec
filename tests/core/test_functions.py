"""The functions of `openclaw._core`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openclaw import _core
from tests.core.events import line, thing


def test_the_module_says_what_it_is() -> None:
    assert _core.__version__
    assert _core.build_profile in {"release", "debug"}


def test_slots_are_the_top_bits_of_the_servers_hash() -> None:
    assert _core.fnv1a64("foobar") == 0x85944171F73967E8
    assert _core.slot("foobar") == 0x85
    reference = 0xCBF29CE484222325
    for byte in "é😀".encode():
        reference = (reference ^ byte) * 0x100000001B3 % 2**64
    assert _core.fnv1a64("é😀") == reference


def test_the_diff_of_what_the_cache_holds() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:replicas": {}, "f:paused": {}, "f:limits": {"f:cpu": {}}}}
    entry = {"manager": "openclaw", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields}
    spec = {"replicas": 2, "paused": True, "limits": {"cpu": "100m"}, "theirs": 1}
    cache = _core.Cache(manager="openclaw")
    cache.feed(line("ADDED", thing("a", 1, metadata={"managedFields": [entry]}, spec=spec)))
    live = cache.get("n", "a")
    assert live is not None

    def diff(**spec: object) -> list[str]:
        return _core.diff(json.dumps(thing("a", 0, spec=spec)).encode(), live, "openclaw")

    assert diff(replicas=2, paused=True, limits={"cpu": "0.1"}) == []
    assert diff(replicas=3, limits={"cpu": 0.1}, theirs=1, new=[1]) == [
        "+ spec.new",
        "~ spec.replicas",
        "@ spec.theirs",
        "- spec.paused",
    ]
    settled = json.dumps(
        thing("a", 0, spec={"replicas": 2, "paused": True, "limits": {"cpu": "0.1"}})
    ).encode()
    other = json.dumps(thing("a", 0, spec={"replicas": 2, "paused": True})).encode()
    for _ in range(2):
        assert cache.diff("n", "a", settled) == []
        assert cache.diff("n", "a", other) == ["- spec.limits"]
    # What was found to be settled is not any more, once the object is another.
    cache.feed(
        line("MODIFIED", thing("a", 2, metadata={"managedFields": [entry]}, spec=spec | {"replicas": 1}))
    )
    assert cache.diff("n", "a", settled) == ["~ spec.replicas"]
    cache.put(json.dumps(thing("a", 3, metadata={"managedFields": [entry]}, spec=spec)).encode())
    assert cache.diff("n", "a", settled) == []
    assert cache.diff("n", "b", settled) is None
    with pytest.raises(ValueError, match="intent: no JSON"):
        cache.diff("n", "a", b"{")
    with pytest.raises(RuntimeError, match="manager"):
        _core.Cache().diff("n", "a", settled)
    assert _core.diff(b"{}", live, "nobody") == ["metadata.managedFields[manager=nobody]"]


def test_a_document_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="intent: no JSON"):
        _core.diff(b"{", b"{}", "openclaw")
    with pytest.raises(ValueError, match="live: must be a JSON object"):
        _core.diff(b"{}", b"[]", "openclaw")
