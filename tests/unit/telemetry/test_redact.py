from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.telemetry import redact
from openclaw.telemetry.redact import REDACTED, is_secret_key, redact_text, redact_value

JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJlLW9mLWl0"


@pytest.mark.parametrize(
    "key",
    [
        *(
            "password",
            "PASSWORD",
            "db_password",
            "masterUserPassword",
            "token",
            "bearerToken",
            "Authorization",
        ),
        *(
            "secret",
            "clientSecret",
            "aws_secret_access_key",
            "apiKey",
            "private-key",
            "client-key-data",
            "Cookie",
        ),
        *("credentials", "secretKey", ".dockerconfigjson", "encryption_key"),
    ],
)
def test_keys_of_secrets_are_known(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize(
    "key",
    [
        *("name", "namespace", "image", "key", "secretName", "secretRef", "secretKeyRef", "imagePullSecrets"),
        *(
            "passwordSecretRef",
            "tokenExpirationSeconds",
            "passwordHash",
            "resourceVersion",
            "secretNamespace",
        ),
    ],
)
def test_what_only_tells_about_a_secret_stays(key: str) -> None:
    assert not is_secret_key(key)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcdef123456", "abcdef123456"),
        ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("sent header bearer sha256~Xy_z-12345", "sha256~Xy_z-12345"),
        (f"the token {JWT} has expired", JWT),
        ("cannot reach redis://worker:hunter2@queue:6379/0", "hunter2"),
        ("redis://:hunter2@queue:6379", "hunter2"),
        ("dsn host=db password=hunter2 user=x", "hunter2"),
        ('{"password": "hunter2", "a": 1}', "hunter2"),
        ("AWS_SECRET_ACCESS_KEY=abc/def+123", "abc/def+123"),
        ("GET /login?access_token=hunter2&x=1", "hunter2"),
        ("MasterUserPassword='hunter2'", "hunter2"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----", "MIIEabc"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEabc\ncut off", "MIIEabc"),
    ],
)
def test_secrets_are_found_by_their_shape(text: str, secret: str) -> None:
    shown = redact_text(text)
    assert secret not in shown
    assert REDACTED in shown


@pytest.mark.parametrize(
    "text",
    [
        'secrets "pull" not found',
        'pods "a" is forbidden: User "system:serviceaccount:ns:openclaw" cannot list resource "secrets"',
        "https://10.0.0.1:6443/api/v1/secrets?limit=500&resourceVersion=12",
        "field manager openclaw owns spec.replicas at http://web.example.com:8080/",
        "reconciled shop/storefront in 12 ms",
    ],
)
def test_plain_text_is_left_alone(text: str) -> None:
    assert redact_text(text) == text


def test_what_surrounds_a_secret_stays() -> None:
    assert (
        redact_text("redis://worker:hunter2@queue:6379/0 refused")
        == f"redis://worker:{REDACTED}@queue:6379/0 refused"
    )
    assert redact_text("a password=x, b=y") == f"a password={REDACTED}, b=y"


def test_nested_values_are_walked() -> None:
    value = {"spec": [{"auth": {"password": "hunter2", "user": "x"}}], "url": "amqp://u:hunter2@q"}
    assert redact_value(value) == {
        "spec": [{"auth": {"password": REDACTED, "user": "x"}}],
        "url": f"amqp://u:{REDACTED}@q",
    }


def test_the_data_of_a_secret_object_is_hidden_and_its_keys_are_not() -> None:
    secret = {
        "kind": "Secret",
        "metadata": {"name": "pull"},
        "data": {"a": "aHVudGVyMg=="},
        "stringData": {"b": "hunter2"},
        "type": "Opaque",
    }
    assert redact_value(secret) == {
        "kind": "Secret",
        "metadata": {"name": "pull"},
        "data": {"a": REDACTED},
        "stringData": {"b": REDACTED},
        "type": "Opaque",
    }


def test_the_data_of_a_config_map_is_shown() -> None:
    config = {"kind": "ConfigMap", "data": {"a": "b"}}
    assert redact_value(config) == config


def test_environment_variables_are_judged_by_their_name() -> None:
    env = [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "QUEUE", "value": "q"}]
    assert redact_value(env) == [{"name": "DB_PASSWORD", "value": REDACTED}, {"name": "QUEUE", "value": "q"}]


def test_a_reference_to_a_secret_is_shown() -> None:
    reference = {"secretKeyRef": {"name": "db", "key": "password"}, "imagePullSecrets": [{"name": "pull"}]}
    assert redact_value(reference) == reference


def test_bytes_are_text_and_secret_too() -> None:
    assert redact_value(b"Bearer abcdef123456") == f"Bearer {REDACTED}"
    assert redact_value(b"x", "token") == REDACTED


@pytest.mark.parametrize("value", [None, True, 3, 2.5])
def test_numbers_under_a_secrets_key_are_shown(value: Any) -> None:
    assert redact_value(value, "tokens") == value


def test_a_numeric_password_is_hidden() -> None:
    assert redact_value({"password": 12345678}) == {"password": REDACTED}


def test_a_value_that_holds_itself_ends() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = loop
    assert "…" in str(redact_value(loop))


@pytest.mark.parametrize(
    "piece", ["a", "A1-", " ", "\n", "eyJ", "eyJ-", "password", "token=", "://", "Bearer ", "-----BEGIN "]
)
def test_a_long_text_does_not_stop_the_process(piece: str) -> None:
    """Quadratic work on a megabyte would run into the test's time limit."""
    redact_text(piece * (1_000_000 // len(piece)))


@given(st.text())
def test_redaction_is_stable(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(["password", "token", "clientSecret"]),
    json_like.filter(lambda v: isinstance(v, str | bytes | list | dict)),
)
def test_nothing_under_a_secrets_key_comes_through(key: str, value: Any) -> None:
    assert redact_value({key: value}) == {key: REDACTED}


_PIECES = (
    *("Bearer ", "BASIC ", "eyJ", "://u:", "@host", "password=", "passphrase: ", '"token": "', "secret-key="),
    *(
        "api_key=",
        "private key=",
        "authorization:",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
    ),
    *("abcdefgh.ijklmnop", " ", "=", ".", "\u017fecret_key=", "\n"),
)


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=8)), max_size=8).map("".join))
def test_the_quick_look_for_signs_lets_nothing_through(text: str) -> None:
    assert redact_text(text) == redact._TEXT.sub(redact._replacement, text)
