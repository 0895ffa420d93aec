"""How often instances are looked at, how long things may take, and how that is set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from openclaw.api.rdsinstance import Phase
from openclaw.controllers.steering import duration
from openclaw.providers.credentials.vault_http import VaultServer

__all__ = ["RDSSettings", "duration"]

_PREFIX: Final = "OPENCLAW_RDS_"


def _polls() -> dict[Phase, float]:
    return {
        Phase.PENDING: 30.0,
        Phase.CREATING: 30.0,
        Phase.AVAILABLE: 60.0,
        Phase.MODIFYING: 30.0,
        Phase.DEGRADED: 60.0,
        Phase.DELETING: 30.0,
    }


def _deadlines() -> dict[Phase, float]:
    # Terraform's for aws_db_instance.
    return {Phase.CREATING: 40 * 60.0, Phase.MODIFYING: 80 * 60.0, Phase.DELETING: 60 * 60.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class RDSSettings:
    """How often and how long, in seconds; what objects may use.

    Attributes:
        polls: the interval of each phase but Failed, which is not polled.
        deadlines: how long an operation may take before it is told of.
        slow: the interval where only a person can help, or an unknown word came.
        soon: the interval between what is shown and what follows.
        settle: for how long after an update what RDS tells may be older than it. Terraform asks for three
            looks in a row.
        visible: for how long an instance that was just asked for may not be visible.
        jitter: by which part an interval is longer or shorter at random.
        pod_identity: whether objects may use the identity of the operator's pod. Whoever may write an object
            acts with it then.
        vault: where Vault is; None for none.
    """

    polls: Mapping[Phase, float] = field(default_factory=_polls)
    deadlines: Mapping[Phase, float] = field(default_factory=_deadlines)
    slow: float = 300.0
    soon: float = 5.0
    settle: float = 60.0
    visible: float = 60.0
    jitter: float = 0.15
    pod_identity: bool = True
    vault: VaultServer | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """As OPENCLAW_RDS_POLL_AVAILABLE and the like say, such as `90s`; see docs/rdsinstance.md.

        Raises:
            ValueError: a variable is not what it must be; names it.
        """

        def of(name: str, default: float) -> float:
            text = environment.get(_PREFIX + name)
            if text is None:
                return default
            try:
                return duration(text)
            except ValueError as error:
                raise ValueError(f"{_PREFIX}{name}: {error}") from None

        pod_identity = environment.get(f"{_PREFIX}POD_IDENTITY", "allow")
        if pod_identity not in ("allow", "deny"):
            raise ValueError(f"{_PREFIX}POD_IDENTITY: {pod_identity!r} is neither allow nor deny")
        return cls(
            polls={phase: of(f"POLL_{phase.name}", seconds) for phase, seconds in _polls().items()},
            deadlines={phase: of(f"DEADLINE_{phase.name}", it) for phase, it in _deadlines().items()},
            slow=of("POLL_SLOW", 300.0),
            soon=of("POLL_SOON", 5.0),
            settle=of("SETTLE", 60.0),
            visible=of("VISIBLE", 60.0),
            pod_identity=pod_identity == "allow",
            vault=_vault(environment),
        )


def _vault(environment: Mapping[str, str]) -> VaultServer | None:
    """The Vault of the variables that its own command reads."""
    address = environment.get("VAULT_ADDR")
    if not address:
        return None
    return VaultServer(
        address=address,
        namespace=environment.get("VAULT_NAMESPACE", ""),
        ca_file=environment.get("VAULT_CACERT") or None,
    )
