"""What was asked of the stand-in, and what became of it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Call:
    """One call. Nothing of its parameters is kept but the identifier: they hold passwords.

    Attributes:
        time: when it came, in seconds of the stand-in's clock.
        account: whose access key signed it; empty where that is not known.
        region: which it was signed for.
        operation: such as `CreateDBInstance`.
        identifier: of the instance, snapshot or resource that it names; empty for a listing.
        access_key: the identifier of the key that signed it.
        result: `ok`, AWS' code of the refusal, `lost` (no answer was sent) or `open` (none yet).
        effect: whether it was carried out.
        actor: whose process sent it, where that is known.
    """

    time: float
    account: str
    region: str
    operation: str
    identifier: str
    access_key: str
    result: str = "open"
    effect: bool = False
    actor: str = ""


class Ledger:
    """All calls, oldest first."""

    def __init__(self) -> None:
        self._calls: list[Call] = []

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def append(self, call: Call) -> None:
        """Note a call; they come in the order of their time."""
        self._calls.append(call)

    def since(self, number: int) -> list[Call]:
        """The calls after so many."""
        return self._calls[number:]

    def clear(self) -> None:
        """Forget everything."""
        self._calls.clear()

    def calls(
        self,
        operation: str | None = None,
        *,
        account: str | None = None,
        region: str | None = None,
        identifier: str | None = None,
        result: str | None = None,
        since: float = float("-inf"),
        until: float = float("inf"),
    ) -> list[Call]:
        """The calls that fit, of the time from `since` to before `until`."""
        first = bisect_left(self._calls, since, key=lambda call: call.time)
        wanted = {
            "operation": operation,
            "account": account,
            "region": region,
            "identifier": identifier,
            "result": result,
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        return [
            call
            for call in self._calls[first:]
            if call.time < until and all(getattr(call, name) == value for name, value in given.items())
        ]

    def counts(self) -> Counter[tuple[str, str]]:
        """How often each operation had each result."""
        return Counter((call.operation, call.result) for call in self._calls)

    def busiest(
        self, seconds: float = 60.0, *, account: str | None = None, since: float = float("-inf")
    ) -> int:
        """The most calls within any `seconds`, of one account or of all together."""
        times = [call.time for call in self.calls(account=account, since=since)]
        most = first = 0
        for last, time in enumerate(times):
            while times[first] <= time - seconds:
                first += 1
            most = max(most, last - first + 1)
        return most
