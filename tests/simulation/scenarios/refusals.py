"""What users are refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from openclaw.kube.errors import AlreadyExists, Conflict, Forbidden, KubeError, NotFound, ServiceUnavailable

__all__ = ["refusals"]


@contextlib.contextmanager
def refusals(*others: type[KubeError]) -> Iterator[None]:
    """What a user tries may come too late, or too early; then it is as if it had not been tried.

    Args:
        others: what else may come of it.
    """
    with contextlib.suppress(NotFound, AlreadyExists, Conflict, Forbidden, ServiceUnavailable, *others):
        yield
