"""Who signed a call, and whether with the right secret (Signature Version 4)."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from openclaw.testing.rds.errors import AWSError

_HEADER: Final = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<day>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)"
    r"/aws4_request, ?SignedHeaders=(?P<headers>[^,]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
_FORBIDDEN: Final = 403


def signature_mismatch() -> AWSError:
    """It was signed with another secret than the key's."""
    return AWSError(
        "SignatureDoesNotMatch",
        "The request signature we calculated does not match the signature you provided. Check your "
        "AWS Secret Access Key and signing method.",
        _FORBIDDEN,
    )


@dataclass(frozen=True, slots=True)
class Signature:
    """What the Authorization header of a call says."""

    key: str
    day: str
    region: str
    service: str
    headers: tuple[str, ...]
    signature: str

    @classmethod
    def of(cls, header: str | None) -> Signature | None:
        """The header's content; None for a call that is not signed.

        Raises AWSError when there is a header and it is no such signature.
        """
        if header is None:
            return None
        match = _HEADER.fullmatch(header)
        if match is None:
            raise AWSError("IncompleteSignature", "The Authorization header is not complete", _FORBIDDEN)
        key, day, region, service, headers, signature = match.groups()
        return cls(key, day, region, service, tuple(headers.split(";")), signature)

    def check(self, secret: str, *, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """Raise AWSError unless a POST of `body` without a query was signed with `secret`.

        The steps are those of the AWS documentation of Signature Version 4.
        """
        canonical = "\n".join(
            [
                "POST",
                path,
                "",
                *(f"{name}:{' '.join(headers.get(name, '').split())}" for name in self.headers),
                "",
                ";".join(self.headers),
                sha256(body).hexdigest(),
            ]
        )
        scope = f"{self.day}/{self.region}/{self.service}/aws4_request"
        digest = sha256(canonical.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{headers.get('x-amz-date', '')}\n{scope}\n{digest}"
        signing = f"AWS4{secret}".encode()
        for part in (self.day, self.region, self.service, "aws4_request"):
            signing = hmac.digest(signing, part.encode(), "sha256")
        expected = hmac.digest(signing, text.encode(), "sha256").hex()
        if not hmac.compare_digest(expected, self.signature):
            raise signature_mismatch()
