"""Bodies that are protobuf; written here by hand, field by field, as the .proto files number them."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.testing.cluster.protobuf import to_json
from openclaw.testing.cluster.statuses import StatusError


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def body(api_version: str, kind: str, message: bytes) -> bytes:
    meta = field(1, api_version) + field(2, kind)
    return b"k8s\0" + field(1, meta) + field(2, message)


def metadata(name: str) -> bytes:
    # name, namespace (not set), creationTimestamp (zero), a label
    return field(1, field(1, name) + field(3, "") + field(8, b"") + field(11, field(1, "a") + field(2, "b")))


def read(content: bytes) -> object:
    return orjson.loads(to_json(content))


def test_metadata_and_maps_of_bytes() -> None:
    secret = metadata("s") + field(2, field(1, "key") + field(2, b"value")) + field(3, "Opaque") + field(5, 1)
    assert read(body("v1", "Secret", secret)) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "labels": {"a": "b"}},
        "data": {"key": "dmFsdWU="},
        "type": "Opaque",
        "immutable": True,
    }


def test_whole_values() -> None:
    percent = field(1, 1) + field(3, "25%")
    number = field(1, 0) + field(2, 1) + field(3, "")
    strategy = field(1, "RollingUpdate") + field(2, field(1, percent) + field(2, number))
    deployment = metadata("d") + field(2, field(1, -1) + field(4, strategy))
    found = read(body("apps/v1", "Deployment", deployment))
    assert isinstance(found, dict)
    assert found["spec"] == {
        "replicas": -1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 1}},
    }


def test_times_and_quantities() -> None:
    lease = field(2, field(1, "me") + field(3, field(1, 1_800_000_000) + field(2, 5_000)))
    found = read(body("coordination.k8s.io/v1", "Lease", lease))
    assert isinstance(found, dict)
    assert found["spec"] == {"holderIdentity": "me", "acquireTime": "2027-01-15T08:00:00.000005Z"}
    hard = field(1, "cpu") + field(2, field(1, "500m"))
    found = read(body("v1", "ResourceQuota", field(2, field(1, hard))))
    assert isinstance(found, dict)
    assert found["spec"] == {"hard": {"cpu": "500m"}}


def test_what_json_embeds() -> None:
    volume = field(1, "v") + field(2, field(2, b""))
    pod = field(2, field(1, volume) + field(2, field(1, "c") + field(2, "i")))
    found = read(body("v1", "Pod", pod))
    assert isinstance(found, dict)
    assert found["spec"] == {
        "volumes": [{"name": "v", "emptyDir": {}}],
        "containers": [{"name": "c", "image": "i"}],
    }


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{}", 400),
        (b"k8s\0\xff", 400),
        (body("v1", "Nothing", b""), 415),
        (body("example.com/v1", "Foo", b""), 415),
        (body("v1", "Pod", b"\x0a\xff"), 400),
        (body("v1", "Pod", field(1, 5)), 400),
        (body("v1", "Pod", b"\xff" * 20), 400),
        (body("v1", "Pod", b"\x0a" + b"\xff" * 9 + b"\x01"), 400),
    ],
)
def test_what_cannot_be_read(content: bytes, code: int) -> None:
    with pytest.raises(StatusError) as caught:
        to_json(content)
    assert caught.value.code == code


@given(st.binary(), st.sampled_from(["Pod", "Secret", "Event", "Namespace"]))
def test_any_bytes_are_read_or_refused(message: bytes, kind: str) -> None:
    try:
        found = read(body("v1", kind, message))
    except StatusError:
        return
    assert isinstance(found, dict)
