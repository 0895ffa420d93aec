from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from openclaw.testing.certificates import (
    CertificateAuthority,
    KeyPair,
    service_account_key,
    write_private,
)


def test_a_server_and_a_client_of_the_authority_accept_each_other(tmp_path: Path) -> None:
    authority = CertificateAuthority.create()
    ca = write_private(tmp_path / "ca.crt", authority.certificate)
    server, client = (context(tmp_path, pair) for pair in (authority.server(), authority.client("eve")))
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_verify_locations(ca)
    client_side = ssl.create_default_context(cafile=ca)
    load(client_side, tmp_path, authority.client("eve"))
    assert shake_hands(server, client_side)
    stranger = ssl.create_default_context(cafile=ca)
    load(stranger, tmp_path, CertificateAuthority.create().client("eve"))
    with pytest.raises(ssl.SSLError):
        shake_hands(server, stranger)
    assert client is not server


def context(folder: Path, pair: KeyPair) -> ssl.SSLContext:
    it = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load(it, folder, pair)
    return it


def load(context: ssl.SSLContext, folder: Path, pair: KeyPair) -> None:
    certificate = write_private(folder / "pair.crt", pair.certificate)
    context.load_cert_chain(certificate, write_private(folder / "pair.key", pair.key))


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> bool:
    """Run a TLS handshake in memory, for the server's address 127.0.0.1."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    done = 0
    for _ in range(10):
        done = 0
        for side in sides:
            try:
                side.do_handshake()
                done += 1
            except ssl.SSLWantReadError:
                pass
        if done == len(sides):
            return True
    return False


def test_a_client_certificate_carries_user_and_groups() -> None:
    user = "system:" + "n" * 57
    pair = CertificateAuthority.create().client(user, ["one", "two"])
    subject = x509.load_pem_x509_certificate(pair.certificate).subject
    assert [it.value for it in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [user]
    assert [it.value for it in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["one", "two"]


@pytest.mark.parametrize("name", ["", "n" * 65, "é" * 33])
def test_a_name_that_is_too_long_for_a_certificate_is_refused(name: str) -> None:
    authority = CertificateAuthority.create()
    with pytest.raises(ValueError, match="1 to 64 bytes"):
        authority.client(name)
    with pytest.raises(ValueError, match="1 to 64 bytes"):
        authority.client("eve", [name])


def test_a_saved_authority_signs_what_the_first_one_is_trusted_for() -> None:
    first = CertificateAuthority.create()
    again = CertificateAuthority.load(first.key_pair())
    signed = x509.load_pem_x509_certificate(again.client("eve").certificate)
    signed.verify_directly_issued_by(x509.load_pem_x509_certificate(first.certificate))


def test_the_key_of_service_accounts_is_one_the_api_server_reads() -> None:
    key = service_account_key()
    assert key.startswith(b"-----BEGIN EC PRIVATE KEY-----")
    assert isinstance(load_pem_private_key(key, None), ec.EllipticCurvePrivateKey)


def test_private_files_are_for_their_owner_only(tmp_path: Path) -> None:
    file = write_private(tmp_path / "key", b"long content")
    assert write_private(file, b"short").read_bytes() == b"short"
    assert file.stat().st_mode & 0o777 == 0o600
