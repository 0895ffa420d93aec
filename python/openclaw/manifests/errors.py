"""What can be wrong with a request for manifests."""

from __future__ import annotations


class ManifestError(ValueError):
    """Manifests that can't be generated from what is declared; the message says why and what to do."""
