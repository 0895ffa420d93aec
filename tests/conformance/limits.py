"""Cases in which the embedded server is known to differ, each with the words of the documentation for it."""

from __future__ import annotations

from typing import Final

LIMITS: Final = {
    "webhooks/conversion": "managedFields between versions whose schemas differ",
}
"""Name of a case to words that `docs/testing.md` has. A case that agrees by now fails."""
