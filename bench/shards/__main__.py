"""Runs the Widget operator as shards on a real kube-apiserver and writes what it found."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Final

from bench import environment
from bench.operators.__main__ import busy_cores
from bench.operators.peer import BUILT, PeerError
from bench.operators.session import FOREIGN, build_driver
from bench.shards import moved, rebalance, report, sockets
from bench.shards.loads import Course, populate
from bench.shards.plane import Plane
from bench.shards.report import name
from bench.shards.sizes import QUICK, Sizes
from openclaw.testing.binaries import missing as missing_binaries

_START: Final = time.monotonic()
_REVISIONS: Final = 1000
"""That a group may use."""

Result = dict[str, Any]


def say(text: str) -> None:
    """Show what is being done."""
    print(f"    [{time.monotonic() - _START:4.0f}s] {text}", flush=True)


def main() -> None:
    arguments = parse()
    environment.refuse_debug_build()
    absent = missing_binaries(["etcd", "kube-apiserver"])
    if absent:
        sys.exit(f"{' and '.join(absent)} not found: run `make control-plane` first")
    try:
        build_driver()
    except PeerError as error:
        sys.exit(str(error))
    whole = QUICK if arguments.quick else Sizes()
    sizes = chosen(whole, arguments.shards, changes=arguments.changes)
    where = environment.describe()
    where["cores_busy"] = busy_cores()
    if where["cores_busy"] > FOREIGN:
        say(f"others use {where['cores_busy']} cores: groups will be marked as disturbed")
        if arguments.strict:
            sys.exit("the machine is not at rest; without --strict, groups are marked instead")
    result: Result = {
        "environment": where,
        "sizes": dataclasses.asdict(sizes),
        "quick": arguments.quick,
        "traffic": sockets.available(),
        "moved": [moved.changes(count) for count in moved.SIZES],
        **measure(sizes),
    }
    # A partial run must not take the place of a complete one.
    folder = environment.RESULTS if sizes == whole else BUILT / "results"
    save(result, folder)
    say(f"written: {folder.relative_to(environment.ROOT)}/shards.md")
    failed = sum("error" in it for it in [*result["runs"], result.get("rebalance", {})])
    sys.exit(f"{failed} groups failed" if failed else 0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.shards", description=__doc__)
    parser.add_argument(
        "--shards",
        type=_numbers,
        metavar="0,3",
        help="only these groups; 0 is the operator that is not sharded",
    )
    parser.add_argument("--no-changes", dest="changes", action="store_false", help="no shard comes or goes")
    parser.add_argument(
        "--quick", action="store_true", help="smaller loads, fewer repetitions: some 5 minutes"
    )
    parser.add_argument(
        "--strict", action="store_true", help="refuse to run on a machine that is not at rest"
    )
    return parser.parse_args()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(",") if word)


def chosen(sizes: Sizes, shards: tuple[int, ...] | None, *, changes: bool) -> Sizes:
    """The sizes, of these groups only."""
    if shards is not None:
        sizes = dataclasses.replace(sizes, shards=shards, filtered=shards)
    return sizes if changes else dataclasses.replace(sizes, rebalances=0, kills=0)


def measure(sizes: Sizes) -> Result:
    """All groups on an API server with and without the feature gate; then shards come and go."""
    result: Result = {"runs": [], "before": {}}
    for filtered, counts in ((False, sizes.shards), (True, sizes.filtered)):
        kind = "filtered" if filtered else "unfiltered"
        say(f"{kind}: control plane, {sizes.settled:,} Widgets")
        with Plane(filtered=filtered) as plane:
            result["before"][kind] = populate(plane, sizes)
            for place, count in enumerate(counts):
                say(f"{kind}: {name(count)}")
                result["runs"].append(_run(plane, count, sizes, _REVISIONS * (place + 1)))
            if sizes.rebalances and not filtered:
                say(f"{kind}: {sizes.rebalances} times 3 -> 4 -> 3 shards, {sizes.kills} kills")
                result["rebalance"] = _rebalance(plane, sizes)
    return result


def _run(plane: Plane, count: int, sizes: Sizes, revision: int) -> Result:
    about: Result = {"filtered": plane.filtered, "shards": count}
    try:
        return about | Course(plane, count, sizes, revision).run()
    except Exception as error:  # noqa: BLE001 - the other groups go on
        traceback.print_exc()
        return about | {"what": name(count), "error": f"{type(error).__name__}: {error}"}


def _rebalance(plane: Plane, sizes: Sizes) -> Result:
    try:
        return rebalance.run(plane, sizes)
    except Exception as error:  # noqa: BLE001 - what was measured before is written
        traceback.print_exc()
        return {"what": "shards that come and go", "error": f"{type(error).__name__}: {error}"}


def save(result: Result, folder: Path) -> None:
    """Write the figures, tables and the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "shards.json").write_text(json.dumps(result, indent=1) + "\n")
    report.write(result, folder)
    print((folder / "shards.md").read_text())


if __name__ == "__main__":
    main()
