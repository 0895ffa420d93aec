import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from openclaw.kube import config as config_module
from openclaw.kube import transport as transport_module
from openclaw.kube.config import ConfigError, ConfigSource
from openclaw.kube.errors import Unreachable
from openclaw.kube.transport import Transport
from tests.unit.kube.api_stand_in import ApiStandIn, kubeconfig, serving


@pytest.fixture
def always_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a minute had passed between any two requests."""
    monkeypatch.setattr(transport_module, "_TOKEN_CHECK_SECONDS", -1.0)


async def watch(transport: Transport) -> None:
    async with transport.stream("/x", query={}, idle_timeout=10):
        pass


class Authority(NamedTuple):
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    file: Path

    def issue(self, name: str, folder: Path) -> tuple[Path, Path]:
        """Certificate and key files for 127.0.0.1 or a client."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternative = x509.SubjectAlternativeName(
            [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("kubernetes.default")]
        )
        certificate = _build(name, key, self.certificate.subject, self.key, alternative)
        paths = folder / f"{name}.crt", folder / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(_pem(key))
        return paths


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _build(
    name: str,
    key: ec.EllipticCurvePrivateKey,
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


def test_old_authorities_are_accepted(tmp_path: Path) -> None:
    # Python 3.13 is strict by default, and refuses what kubeadm made for years.
    access = config_module.Access(
        "https://x", None, (str(authority(tmp_path, "ca").file), None, None, True), None, "d"
    )
    context = access.ssl_context()
    assert context is not None
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
