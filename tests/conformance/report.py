"""`python -m tests.conformance.report`: how many cases agree, by area."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter

from tests.conformance.collecting import all_cases, differences, run
from tests.conformance.limits import LIMITS
from tests.conformance.servers import fake_server, real_server


async def _report(wanted: str, *, verbose: bool) -> int:
    cases = [case for case in all_cases() if wanted in case.name]
    total, agreeing = Counter[str](), Counter[str]()
    unexpected = 0
    with real_server() as real_door:
        async with fake_server() as door:
            for number, case in enumerate(cases):
                real, fake = await asyncio.gather(run(case, real_door, number), run(case, door, number))
                found = differences(real, fake)
                total[case.area] += 1
                agreeing[case.area] += not found
                if bool(found) != (case.name in LIMITS):
                    unexpected += 1
                if found and (verbose or case.name not in LIMITS):
                    sys.stderr.write("\n".join([case.name, *(f"  {line}" for line in found[:8])]) + "\n")
    width = max(map(len, total), default=0)
    for area in sorted(total):
        sys.stdout.write(f"{area:<{width}}  {agreeing[area]:>3} of {total[area]:>3}\n")
    share = 100 * agreeing.total() / max(1, total.total())
    sys.stdout.write(
        f"{agreeing.total()} of {total.total()} cases agree with kube-apiserver ({share:.1f} %)\n"
    )
    return 1 if unexpected else 0


def main(arguments: list[str] | None = None) -> int:
    """Run the cases; returns 1 when others than the known ones differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.report")
    parser.add_argument("cases", nargs="?", default="", help="only cases whose name has this in it")
    parser.add_argument("--verbose", action="store_true", help="show the known differences, too")
    options = parser.parse_args(arguments)
    return asyncio.run(_report(options.cases, verbose=options.verbose))


if __name__ == "__main__":
    sys.exit(main())
