"""The certificates and keys of a throw-away control plane: elliptic curve P-256, one authority for all."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID_FOR: Final = dt.timedelta(days=365)
_LONGEST_NAME: Final = 64  # bytes, by X.509
_SERVER_NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class CertificateAuthority:
    """An authority that signs the server's and the clients' certificates.

    Make one with `create`, or `load` one that was saved.
    """

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def create(cls) -> CertificateAuthority:
        """A new authority, valid for a year."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "openclaw-testing")])
        certificate = (
            _builder(name, name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key)

    @classmethod
    def load(cls, pair: KeyPair) -> CertificateAuthority:
        """The authority that `key_pair` gave.

        Raises ValueError when it is no such pair, TypeError when the key is of another kind.
        """
        key = serialization.load_pem_private_key(pair.key, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"the authority's key must be an elliptic curve key, not {type(key).__name__}")
        return cls(x509.load_pem_x509_certificate(pair.certificate), key)

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, PEM: what clients trust."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def key_pair(self) -> KeyPair:
        """The authority itself, to save it."""
        return KeyPair(self.certificate, _key_bytes(self._key))

    def server(self, addresses: Sequence[str] = ("127.0.0.1", "::1")) -> KeyPair:
        """A server certificate for the in-cluster names of the API server and these IP addresses."""
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in _SERVER_NAMES]
        names += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        return self._sign("kube-apiserver", (), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client certificate by which the API server knows the user `user`, member of `groups`.

        Raises ValueError for names that are too long for a certificate.
        """
        for name in (user, *groups):
            if not 0 < len(name.encode()) <= _LONGEST_NAME:
                raise ValueError(
                    f"{name!r} can't name a user or group in a certificate: 1 to {_LONGEST_NAME} bytes go; "
                    "a service account can authenticate by a token instead"
                )
        return self._sign(user, groups, ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def _sign(
        self,
        name: str,
        organizations: Sequence[str],
        usage: x509.ObjectIdentifier,
        names: list[x509.GeneralName],
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
        builder = (
            _builder(x509.Name(attributes), self._certificate.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        return KeyPair(signed.public_bytes(serialization.Encoding.PEM), _key_bytes(key))


def service_account_key() -> bytes:
    """A private key, PEM, that signs the tokens of service accounts."""
    # In the format of SEC 1: the API server looks for a public key in no other.
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def write_private(path: Path, content: bytes) -> Path:
    """Write a file that only its owner can read; returns its path."""
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # Somewhat in the past: clocks of containers and their hosts differ.
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + _VALID_FOR)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _key_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
