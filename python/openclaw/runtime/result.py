"""What a reconcile returns."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Result"]


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a reconcile that did not fail.

    Attributes:
        requeue_after: seconds after which to run again without an event, or None.
    """

    requeue_after: float | None = None

    @classmethod
    def done(cls) -> Result:
        """Nothing to do until something changes."""
        return _DONE

    @classmethod
    def after(cls, seconds: float) -> Result:
        """Run again after `seconds`, or sooner if something changes.

        Raises:
            ValueError: `seconds` is not above 0.
        """
        if not seconds > 0:
            msg = f"Result.after({seconds}): the delay must be above 0 seconds"
            raise ValueError(msg)
        return cls(requeue_after=float(seconds))


_DONE = Result()
