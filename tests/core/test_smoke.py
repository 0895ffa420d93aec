"""The binding as a whole: module, a life of one object, errors."""

from __future__ import annotations

import json

import pytest

from openclaw import _core


def test_the_module_says_what_it_is() -> None:
    assert _core.__version__
    assert _core.build_profile in {"release", "debug"}


def test_slots_are_the_top_bits_of_the_servers_hash() -> None:
    assert _core.fnv1a64("foobar") == 0x85944171F73967E8
    assert _core.slot("foobar") == 0x85


def test_a_spec_that_cannot_be_used_is_refused_with_its_reason() -> None:
    cache = _core.Cache()
    with pytest.raises(ValueError, match="generations"):
        cache.subscribe(b'{"generations": {}}', b'{"self": {}}')
    cache.feed(json.dumps({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "1"}}}).encode())
    with pytest.raises(RuntimeError, match="before the first object"):
        cache.subscribe(b'{"generation": {}}', b'{"self": {}}')
