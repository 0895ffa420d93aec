"""Which AWS account some credentials are of, without asking: calls are limited by account."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from openclaw._core import fnv1a64

__all__ = ["account_of_key", "account_of_role"]

# User (AKIA) and session (ASIA) keys; those with an I or J next are of before 2019 and hold no account.
_KEY: Final = re.compile(r"A(?:KIA|SIA)(?![IJ])[A-Z2-7]{16}")
_ROLE: Final = re.compile(r"arn:[^:]*:(?:iam|sts)::(\d{12}):")
_BYTES: Final = 6
_MASK: Final = 0x7FFFFFFFFF80
_SHIFT: Final = 7


def account_of_key(access_key_id: str) -> str:
    """The account's number, which an access key ID holds; of a key that does not, a word made of it."""
    if _KEY.fullmatch(access_key_id):
        try:
            decoded = base64.b32decode(access_key_id[4:])
        except binascii.Error:
            decoded = b""
        number = (int.from_bytes(decoded[:_BYTES]) & _MASK) >> _SHIFT
        if decoded:
            return f"{number:012d}"
    return f"key-{fnv1a64(access_key_id) >> 32:08x}"


def account_of_role(arn: str) -> str | None:
    """The account's number in a role's ARN; None where it is none."""
    found = _ROLE.match(arn)
    return found[1] if found else None
