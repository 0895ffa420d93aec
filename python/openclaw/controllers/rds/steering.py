"""The annotations by which people steer one RDSInstance."""

from __future__ import annotations

from typing import Final

from openclaw.controllers.steering import PAUSED, POLL_INTERVAL, RECONCILE_NOW, is_set, poll_interval

__all__ = ["ADOPT", "ALL", "ORPHAN", "PAUSED", "POLL_INTERVAL", "RECONCILE_NOW", "is_set", "poll_interval"]

ADOPT: Final = "database.openclaw.dev/adopt"
"""The identifier of an instance that exists, to take it over."""
ORPHAN: Final = "database.openclaw.dev/orphan"
"""`true`: the instance is left as it is when the object is deleted, whatever `deletionPolicy` says."""
ALL: Final = (PAUSED, RECONCILE_NOW, POLL_INTERVAL, ADOPT, ORPHAN)
