"""`python -m openclaw.testing.observe.show`: why an object was reconciled, and what was done about it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime

import aiohttp

from openclaw.testing.observe.backends import QueryError
from openclaw.testing.observe.jaeger import TraceStore
from openclaw.testing.observe.traces import Trace
from openclaw.testing.observe.waterfall import as_text, describe, duration

__all__ = ["causes", "main", "runs_of"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m openclaw.testing.observe.show",
        description="Prints the latest runs of an object, as a Jaeger has them, and as a tree the last of "
        "them that sent something, with what led to it.",
    )
    parser.add_argument("url", metavar="JAEGER", help="the address of a Jaeger, as make observe prints it")
    parser.add_argument("object", metavar="NAMESPACE/NAME", help="an object, or the id of a trace")
    parser.add_argument("--kind", metavar="KIND", help="its kind, where several have that name")
    parser.add_argument("--steps", action="store_true", help="also what the API server does within a request")
    parser.add_argument("--service", default="openclaw", metavar="NAME", help="(default: %(default)s)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Print; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        sys.stdout.write(asyncio.run(_show(options)) + "\n")
    except LookupError as error:
        sys.stderr.write(f"error: {error.args[0]}\n")
        return 1
    except (QueryError, aiohttp.ClientError, TimeoutError, ValueError, KeyError) as error:
        sys.stderr.write(f"error: {options.url} does not answer as a Jaeger does: {error}\n")
        return 1
    return 0


async def _show(options: argparse.Namespace) -> str:
    store = TraceStore(options.url.rstrip("/"))
    if "/" not in options.object:
        trace = await store.trace(options.object)
        return "\n".join([as_text(trace, steps=options.steps), "", *await causes(store, trace)])
    namespace, _, name = options.object.partition("/")
    runs = await runs_of(store, namespace, name, kind=options.kind, service=options.service)
    if not runs:
        raise LookupError(f"no run of {options.object} is known: is its name right, and tracing on?")
    lines = [_line(run) for run in runs]
    shown = next((run for run in reversed(runs) if any(span.call for span in run.spans)), runs[-1])
    lines += ["", f"trace {shown.root.trace_id}", as_text(shown, steps=options.steps), ""]
    return "\n".join([*lines, *await causes(store, shown)])


async def runs_of(
    store: TraceStore, namespace: str, name: str, *, kind: str | None = None, service: str = "openclaw"
) -> list[Trace]:
    """The runs of an object, the earliest first, as far as they have arrived.

    Raises:
        QueryError: it does not answer as a Jaeger does.
    """
    wanted = {"openclaw.object.namespace": namespace, "openclaw.object.name": name}
    if kind is not None:
        wanted["openclaw.object.kind"] = kind
    return await store.find(None, wanted, service=service, most=10)


async def causes(store: TraceStore, trace: Trace) -> list[str]:
    """What led to it, a line each."""
    lines = []
    for link in trace.root.links:
        try:
            line = _line(await store.trace(link.trace_id))
        except LookupError:
            line = f"trace {link.trace_id}, which is not there"
        lines.append(f"because of {link.cause!r}: {line}")
    return lines


def _line(trace: Trace) -> str:
    root = trace.root
    began = datetime.fromtimestamp(root.start / 1e9).astimezone().strftime("%H:%M:%S.%f")[:-3]
    reasons = root.attributes.get("openclaw.reasons", ())
    why = f"  for {', '.join(map(str, reasons))}" if isinstance(reasons, tuple) and reasons else ""
    return f"{began}  {root.name}  {describe(root)}  {duration(root.seconds)}{why}  {root.trace_id}"


if __name__ == "__main__":
    sys.exit(main())
