import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from openclaw.kube import transport as transport_module
from openclaw.kube.config import ConfigError, ConfigSource
from openclaw.kube.errors import Unreachable
from openclaw.kube.transport import Transport
from tests.unit.kube.api_stand_in import ApiStandIn, kubeconfig, serving
from tests.unit.kube.byte_server import proxy


@pytest.fixture
def always_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a minute had passed between any two requests."""
    monkeypatch.setattr(transport_module, "_TOKEN_CHECK_SECONDS", -1.0)


async def watch(transport: Transport) -> None:
    async with transport.stream("/x", query={}, idle_timeout=10):
        pass


Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class Authority(NamedTuple):
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    file: Path

    def issue(self, name: str, folder: Path, key: Key | None = None) -> tuple[Path, Path]:
        """Certificate and key files for the loopback addresses or a client."""
        key = key or ec.generate_private_key(ec.SECP256R1())
        addresses = [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", "::1")]
        alternative = x509.SubjectAlternativeName([*addresses, x509.DNSName("kubernetes.default")])
        certificate = _build(name, key, self.certificate.subject, self.key, alternative)
        paths = folder / f"{name}.crt", folder / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(_pem(key))
        return paths


def _pem(key: Key, form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _build(
    name: str,
    key: Key,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(extension, critical=False)
        .sign(issuer_key, hashes.SHA256())
    )


def authority(folder: Path, name: str) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = _build(name, key, subject, key, x509.BasicConstraints(ca=True, path_length=None))
    path = folder / f"{name}.crt"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(certificate, key, path)


class Tls(NamedTuple):
    api: ApiStandIn
    authority: Authority
    clients: list[str]
    """Common names of the clients' certificates, in order of their requests."""


@pytest.fixture
async def tls(tmp_path: Path) -> AsyncIterator[Tls]:
    ca = authority(tmp_path, "ca")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(ca.file))
    context.load_cert_chain(*map(str, ca.issue("server", tmp_path)))
    context.verify_mode = ssl.CERT_OPTIONAL
    clients: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert") or {}
        clients.extend(
            value for part in peer.get("subject", ()) for name, value in part if name == "commonName"
        )
        return web.json_response({})

    async with serving(context) as api:
        api.answer = answer
        yield Tls(api, ca, clients)


async def test_a_custom_authority_and_a_client_certificate(tls: Tls, tmp_path: Path) -> None:
    certificate, key = tls.authority.issue("alice", tmp_path)
    path = kubeconfig(
        tmp_path / "config",
        tls.api.url,
        cluster={"certificate-authority": "ca.crt"},
        user={"client-certificate": certificate.name, "client-key": key.name},
    )
    async with Transport(ConfigSource(path)) as transport:
        await transport.request("GET", "/x")
        await watch(transport)
    assert tls.clients == ["alice"] * 2


async def test_a_server_of_another_authority_is_refused(tls: Tls, tmp_path: Path) -> None:
    other = authority(tmp_path, "other")
    path = kubeconfig(tmp_path / "config", tls.api.url, cluster={"certificate-authority": str(other.file)})
    async with Transport(ConfigSource(path)) as transport:
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await transport.request("GET", "/x")
    assert tls.api.requests == []


async def test_verification_can_be_switched_off(tls: Tls, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", tls.api.url, cluster={"insecure-skip-tls-verify": True})
    async with Transport(ConfigSource(path)) as transport:
        await transport.request("GET", "/x")


@pytest.mark.parametrize(("name", "fits"), [("kubernetes.default", True), ("elsewhere.example.com", False)])
async def test_the_server_may_go_by_another_name(tls: Tls, tmp_path: Path, name: str, fits: bool) -> None:
    cluster = {"certificate-authority": "ca.crt", "tls-server-name": name}
    path = kubeconfig(tmp_path / "config", tls.api.url, cluster=cluster)
    async with Transport(ConfigSource(path)) as transport:
        if fits:
            await transport.request("GET", "/x")
            await watch(transport)
        else:
            with pytest.raises(Unreachable, match="certificate verify failed"):
                await transport.request("GET", "/x")


async def test_without_a_user_we_are_anonymous(tls: Tls, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "config", tls.api.url, cluster={"certificate-authority": "ca.crt"}, users=[])
    async with Transport(ConfigSource(path)) as transport:
        await transport.request("GET", "/x")
    assert (tls.clients, tls.api.authorizations) == ([], [None])


async def test_a_certificate_that_is_replaced_in_its_file_is_used(
    tls: Tls, tmp_path: Path, always_stale: None
) -> None:
    certificate, key = tls.authority.issue("alice", tmp_path)
    path = kubeconfig(
        tmp_path / "config",
        tls.api.url,
        cluster={"certificate-authority": "ca.crt"},
        user={"client-certificate": str(certificate), "client-key": str(key)},
    )
    async with Transport(ConfigSource(path)) as transport:
        await transport.request("GET", "/x")
        for new, file in zip(tls.authority.issue("bob", tmp_path), (certificate, key), strict=True):
            file.write_bytes(new.read_bytes())
        await transport.request("GET", "/x")
        session = transport._session
        await transport.request("GET", "/x")
        assert transport._session is session, "connections stay while nothing changes"
    assert tls.clients == ["alice", "bob", "bob"]


async def test_a_file_that_is_no_certificate_is_named(tls: Tls, tmp_path: Path) -> None:
    (tmp_path / "broken.crt").write_text("nothing")
    path = kubeconfig(tmp_path / "config", tls.api.url, cluster={"certificate-authority": "broken.crt"})
    with pytest.raises(ConfigError, match=r"kubeconfig '.*/config': the certificate authority"):
        await Transport(ConfigSource(path)).open()


def _rsa() -> Key:
    return rsa.generate_private_key(65537, 2048)


def _p384() -> Key:
    return ec.generate_private_key(ec.SECP384R1())


@pytest.mark.parametrize("make", [_rsa, _p384])
@pytest.mark.parametrize(
    "form", [serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL]
)
@pytest.mark.parametrize("together", [False, True])
async def test_client_keys_of_each_kind_and_form(
    tls: Tls, tmp_path: Path, make: Callable[[], Key], form: serialization.PrivateFormat, together: bool
) -> None:
    key = make()
    certificate, file = tls.authority.issue("alice", tmp_path, key)
    pem = _pem(key, form)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        # As openssl writes them.
        pem = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + pem
    file.write_bytes(pem)
    if together:
        file.write_bytes(pem + certificate.read_bytes())
        certificate = file
    user = {"client-certificate": str(certificate), "client-key": str(file)}
    cluster = {"certificate-authority": "ca.crt"}
    path = kubeconfig(tmp_path / "config", tls.api.url, cluster=cluster, user=user)
    async with Transport(ConfigSource(path)) as transport:
        await transport.request("GET", "/x")
    assert tls.clients == ["alice"]


async def test_a_key_with_a_passphrase_is_refused_with_the_way_out(tls: Tls, tmp_path: Path) -> None:
    certificate, file = tls.authority.issue("alice", tmp_path)
    file.write_bytes(
        ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    user = {"client-certificate": str(certificate), "client-key": str(file)}
    path = kubeconfig(tmp_path / "config", tls.api.url, user=user)
    with pytest.raises(ConfigError, match="its key is encrypted; give one without a passphrase"):
        await Transport(ConfigSource(path)).open()


async def test_a_key_of_another_certificate_is_refused(tls: Tls, tmp_path: Path) -> None:
    certificate, _ = tls.authority.issue("alice", tmp_path)
    _, file = tls.authority.issue("bob", tmp_path)
    user = {"client-certificate": str(certificate), "client-key": str(file)}
    path = kubeconfig(tmp_path / "config", tls.api.url, user=user)
    with pytest.raises(ConfigError, match="the client certificate cannot be used"):
        await Transport(ConfigSource(path)).open()


@pytest.mark.parametrize(("name", "fits"), [("::1", True), ("127.0.0.2", False)])
async def test_a_certificate_may_be_for_an_address(tls: Tls, tmp_path: Path, name: str, fits: bool) -> None:
    cluster = {"certificate-authority": "ca.crt", "tls-server-name": name}
    path = kubeconfig(tmp_path / "config", tls.api.url, cluster=cluster)
    async with Transport(ConfigSource(path)) as transport:
        if fits:
            await transport.request("GET", "/x")
        else:
            with pytest.raises(Unreachable, match="certificate verify failed"):
                await transport.request("GET", "/x")


async def test_through_a_proxy(tls: Tls, tmp_path: Path) -> None:
    async with proxy() as (address, heads):
        cluster = {"certificate-authority": "ca.crt", "proxy-url": f"http://user:pass@{address}"}
        path = kubeconfig(tmp_path / "config", tls.api.url, cluster=cluster)
        async with Transport(ConfigSource(path)) as transport:
            await transport.request("GET", "/x")
            await watch(transport)
    assert heads[0][0] == f"CONNECT {tls.api.url.removeprefix('https://')} HTTP/1.1"
    assert "Proxy-Authorization: Basic dXNlcjpwYXNz" in heads[0]
    assert tls.api.authorizations == [None, None]


async def test_plain_http_where_tls_is_expected_is_said(tmp_path: Path) -> None:
    async with serving() as api:
        path = kubeconfig(tmp_path / "config", api.url.replace("http:", "https:"))
        async with Transport(ConfigSource(path)) as transport:
            with pytest.raises(Unreachable, match=r"cannot connect to 127\.0\.0\.1:\d+: .*corrupt message"):
                await transport.request("GET", "/x")
