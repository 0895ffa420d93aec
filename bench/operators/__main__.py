"""Runs operators beside each other on a real kube-apiserver and writes what it found."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from bench import environment
from bench.operators import peer as peers
from bench.operators import report
from bench.operators.peer import Peer, PeerError
from bench.operators.process import machine_cpu
from bench.operators.session import FOREIGN, Session, build_driver
from bench.operators.workloads import QUICK, WORKLOADS, Course, Sizes, titles
from openclaw.testing.binaries import missing as missing_binaries

_START = time.monotonic()
CONCURRENCY = 10


def say(text: str) -> None:
    """Show what is being done."""
    print(f"    [{time.monotonic() - _START:4.0f}s] {text}", flush=True)


def main() -> None:
    arguments = parse()
    if arguments.list:
        print("peers:", ", ".join(peers.names()))
        print("\n".join(f"{name:6} {text}" for name, text in titles().items()))
        return
    environment.refuse_debug_build()
    absent = missing_binaries(["etcd", "kube-apiserver"])
    if absent:
        sys.exit(f"{' and '.join(absent)} not found: run `make control-plane` first")
    sizes = QUICK if arguments.quick else Sizes()
    sizes = dataclasses.replace(sizes, rounds=arguments.rounds or sizes.rounds)
    where = environment.describe()
    where["cores_busy"] = busy_cores()
    if where["cores_busy"] > FOREIGN:
        say(f"others use {where['cores_busy']} cores: runs will be marked as disturbed")
        if arguments.strict:
            sys.exit("the machine is not at rest; without --strict, runs are marked instead")
    chosen, left_out = prepare(arguments.peers)
    names = [name for name in WORKLOADS if name in arguments.workloads]
    runs = measure(chosen, names, sizes)
    result = {
        "environment": where,
        "sizes": dataclasses.asdict(sizes),
        "quick": arguments.quick,
        "peers": {peer.name: peer.title for peer in chosen},
        "left_out": left_out,
        "runs": runs,
    }
    # A partial run must not take the place of a complete one.
    whole = set(peers.DEFAULT) <= set(arguments.peers) and set(names) == set(WORKLOADS)
    folder = environment.RESULTS if whole else peers.BUILT / "results"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "operators.json").write_text(json.dumps(result, indent=1) + "\n")
    report.write(result, folder)
    print((folder / "operators.md").read_text())
    say(f"written: {folder.relative_to(environment.ROOT)}/operators.md")
    failed = [run for run in runs if "error" in run]
    sys.exit(f"{len(failed)} runs failed" if failed else 0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.operators", description=__doc__)
    parser.add_argument("--peers", type=_words, metavar="A,B", default=list(peers.DEFAULT))
    parser.add_argument("--workloads", type=_words, metavar="A,B", default=list(WORKLOADS))
    parser.add_argument("--rounds", type=int, help="default: 3, with --quick 1")
    parser.add_argument("--quick", action="store_true", help="smaller workloads, one round: some 8 minutes")
    parser.add_argument(
        "--strict", action="store_true", help="refuse to run on a machine that is not at rest"
    )
    parser.add_argument("--list", action="store_true", help="show peers and workloads")
    arguments = parser.parse_args()
    unknown = set(arguments.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"there is no workload {', '.join(sorted(unknown))}; known: {', '.join(WORKLOADS)}")
    return arguments


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def busy_cores(seconds: float = 3.0) -> float:
    """How many cores others use now."""
    before = machine_cpu()["busy"]
    time.sleep(seconds)
    return round((machine_cpu()["busy"] - before) / seconds, 2)


def prepare(wanted: list[str]) -> tuple[list[Peer], dict[str, str]]:
    """Build the driver and the peers; returns those that can run, and why others can't."""
    chosen, left_out = [], {}
    try:
        build_driver()
    except PeerError as error:
        sys.exit(str(error))
    for name in wanted:
        try:
            peer = peers.load(name)
            say(f"building {name}" if peer.build else f"{name}: nothing to build")
            peers.build(peer)
            chosen.append(peer)
        except PeerError as error:
            say(f"left out: {error}")
            left_out[name] = str(error)
    if not chosen:
        sys.exit("no peer can be run here")
    return chosen, left_out


def measure(chosen: list[Peer], names: list[str], sizes: Sizes) -> list[dict[str, Any]]:
    """All peers in turn in each round, in an order that moves on by one with each."""
    runs: list[dict[str, Any]] = []
    for round_ in range(sizes.rounds):
        start = round_ % len(chosen)
        for peer in chosen[start:] + chosen[:start]:
            about = {"peer": peer.name, "round": round_ + 1}
            say(f"round {round_ + 1} of {sizes.rounds}, {peer.name}: control plane")
            try:
                with Session(peer, concurrency=CONCURRENCY, quiet=sizes.quiet) as session:
                    runs += one(session, names, sizes, about)
                runs[-1]["exits"] = session.exits
            except Exception as error:  # noqa: BLE001 - the other peers go on
                traceback.print_exc()
                runs.append(about | {"workload": "session", "error": f"{type(error).__name__}: {error}"})
    return runs


def one(session: Session, names: list[str], sizes: Sizes, about: dict[str, Any]) -> list[dict[str, Any]]:
    """A peer's run of a round."""
    course, runs = Course(session, sizes), []
    course.before(names)
    for name in names:
        say(f"round {about['round']} of {sizes.rounds}, {about['peer']}: {name}")
        run = about | {"workload": name}
        try:
            run["result"] = course.run(name)
        except Exception as error:  # noqa: BLE001 - it is in the report
            run |= {
                "error": f"{type(error).__name__}: {error}",
                "log": keep_log(session, about["peer"], name),
            }
            traceback.print_exc()
            runs.append(run)
            break
        runs.append(run)
    return runs


def keep_log(session: Session, peer: str, name: str) -> str:
    """Keep the operator's log of a run that failed; returns where."""
    log = session.folder / "operator.log"
    kept: Path = peers.BUILT / "failed" / f"{peer.replace(':', '+')}-{name}.log"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(log.read_bytes() if log.exists() else b"")
    return str(kept.relative_to(environment.ROOT))


if __name__ == "__main__":
    main()
