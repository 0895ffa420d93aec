"""Writes what was measured of shards as Markdown and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bench import environment
from bench.shards import changes, figures, published
from bench.shards.figures import TOGETHER, WORK
from bench.shards.moved import balance
from bench.shards.sizes import SINGLETON
from bench.shards.targets import TOTAL, targets
from bench.svg import Bar, chart
from bench.tables import table, verdicts

Result = dict[str, Any]

MB: Final = 1e6

_ABOUT: Final = """\
The same operator as in [operators.md](operators.md), alone (*singleton*: not sharded) and as shards,
each a process that reconciles 10 objects at a time, over {settled:,} Widgets that are right already and
their ConfigMaps. Each load is put on each group {repeats} times: *create*, {created:,} Widgets; *bump*,
{bumped:,} specs change; *storm*, {patches:,} status patches that matter to nobody, at full speed;
*trickle*, {trickle:,} of these at {pace:.0f} a second, so that each comes alone. *Together* is one of
each. Cells are min / **median** / max, or the median; † marks groups of which a figure was disturbed by
something else on the machine.

CPU is user and system time of all processes of the group: **two cores cannot show that more shards do
more in the same time**; what is shown is how much work a second of CPU time does. Bytes are those of
the connections to the API server, with TLS, as the kernel counts them (`ss`); nothing is put in
between. Requests are from the audit log. [The benchmarks' README](../README.md#shards) says more.
"""


def write(result: Result, folder: Path) -> None:
    """Write `shards.md` and its picture into a folder."""
    parts = ["# Shards\n", environment.text(result["environment"]), _preface(result)]
    if verdict := targets(result):
        parts += ["## What must hold\n", verdicts(verdict)]
    parts += ["## Beside a central sharder\n", _published(result)]
    for filtered, title in (
        (False, "An API server as it comes"),
        (True, "An API server with `ShardedListAndWatch`"),
    ):
        of = figures.groups(result, filtered=filtered)
        if of:
            parts += [f"## {title}\n", _cpu(of), _shares(of), _memory(result, of)]
    parts += ["## Slots that move\n", changes.moved(result)]
    if "rebalance" in result:
        parts += ["## Shards that come, go and crash\n", changes.told(result)]
    parts.append("![](shards.svg)\n")
    (folder / "shards.md").write_text("\n".join(parts))
    (folder / "shards.svg").write_text(_chart(result))


def name(shards: int) -> str:
    """What a group is called."""
    return "singleton" if shards == SINGLETON else f"{shards} shard{'s' if shards > 1 else ''}"


def _marked(run: Result) -> str:
    return name(run["shards"]) + (" †" if figures.disturbed(run) else "")


def _preface(result: Result) -> str:
    text = _ABOUT.format_map(result["sizes"])
    lines = [text]
    if result["quick"]:
        lines.append("This is the quick pass: smaller loads, fewer repetitions.\n")
    if not result["traffic"]:
        lines.append("Bytes were not counted: `ss`, of iproute2, is not on PATH.\n")
    failed = [it for it in [*result["runs"], result.get("rebalance", {})] if "error" in it]
    lines += [f"Failed: {it['what']}: {it['error']}\n" for it in failed]
    return "\n".join(lines)


def _published(result: Result) -> str:
    def ours(shards: int, *, filtered: bool) -> str:
        times = figures.times(figures.groups(result, filtered=filtered), shards, TOGETHER)
        return "" if times is None else f"{times:.2f}"

    def efficiency(*, filtered: bool) -> str:
        times = figures.times(figures.groups(result, filtered=filtered), 5, TOGETHER)
        return "" if times is None else f"{100 / times:.0f} %"

    def memory(*, filtered: bool) -> str:
        of = figures.groups(result, filtered=filtered)
        if not {SINGLETON, 3} <= set(of):
            return ""
        alone, three = (figures.memory(result, of[n]) for n in (SINGLETON, 3))
        return f"{three.total / alone.total:.2f}"

    told = result.get("rebalance", {})
    written = kills = ""
    if "changes" in told:
        written = str(sum(n for what, n in told["written"].items() if what != "leases"))
        kills = f"{max(it['take_over_s'] for it in told['kills']):.1f} s" if told["kills"] else ""
    rows = [
        [
            "CPU of 3 shards, times the singleton's",
            f"{published.CPU_AT_3:.2f}",
            ours(3, filtered=False),
            ours(3, filtered=True),
        ],
        [
            "memory of 3 shards, times the singleton's",
            f"{published.MEMORY_AT_3:.2f}",
            memory(filtered=False),
            memory(filtered=True),
        ],
        [
            "efficiency at 5",
            f"{100 * published.EFFICIENCY_AT_5:.0f} %",
            efficiency(filtered=False),
            efficiency(filtered=True),
        ],
        ["objects written by 3 -> 4 shards", f"{published.LABEL_WRITES:,}", written, written],
        ["take-over after a crash", f"{published.TAKE_OVER_SECONDS} s or more", kills, kills],
        [
            "CREATE p99, before -> with sharding",
            "{} -> {} ms".format(*published.CREATE_P99_MS),
            "no webhook",
            "no webhook",
        ],
    ]
    head = ["", "published", "ours, no server filter", "ours, server filter"]
    note = (
        f"*Published* are figures of {published.SOURCE} ({published.ABOUT}): "
        "**not measured here**, and on another machine with other objects. Its efficiency is of "
        "throughput; ours is of work per CPU second.\n"
    )
    return table(head, rows) + "\n" + note


def _cpu(of: dict[int, Result]) -> str:
    alone = of.get(SINGLETON)
    rows = []
    for shards, run in of.items():
        cells = [f"{1000 * figures.cpu(run, load).median:,.0f}" for load in WORK]
        together = figures.cpu(run, TOGETHER)
        times = figures.times(of, shards, TOGETHER)
        cells.append(together.scaled(1000).text(0))
        cells.append("" if times is None else f"{times:.2f}")
        cells.append("" if times is None else f"{100 / times:.0f} %")
        idle = run["idle"][0]
        cells.append(f"{100 * sum(idle['cpu_s']) / idle['wall_s']:.2f} %")
        cells.append(f"{figures.cpu(run, 'start').median:.2f}")
        cells.append(str(run["problems"]))
        rows.append([_marked(run), *cells])
    head = [
        "CPU, ms",
        *WORK,
        "together",
        "times",
        "work per CPU second",
        "idle, of a core",
        "start, s",
        "wrong objects",
    ]
    text = table(head, rows)
    if alone:
        each = [
            [
                name(shards),
                *(f"{found:.2f}" if (found := figures.times(of, shards, load)) else "" for load in WORK),
            ]
            for shards in of
            if shards != SINGLETON
        ]
        text += "\n" + table(["times the singleton's CPU", *WORK], each)
    return text


def _shares(of: dict[int, Result]) -> str:
    rows = []
    for run in of.values():
        spent, read = figures.cpu_by_shard(run), figures.by_shard(run, "read_bytes")
        written = figures.by_shard(run, "written_bytes")
        rows.append(
            [
                _marked(run),
                _range([1000 * it for it in spent]),
                _range([it / MB for it in run["start"]["rss"]]),
                _range([it / MB for it in read], 1),
                f"{sum(read) / MB:,.1f}",
                f"{sum(written) / MB:,.1f}",
                f"{figures.requests(run):,}",
                _range([float(it) for it in run["objects"]]),
                f"{balance(run['objects']):.2f}",
            ]
        )
    head = ["per shard", "CPU together, ms", "RSS, MB", "read, MB", "read by all, MB", "written by all, MB"]
    head += ["requests of all", "objects", "balance, max/mean"]
    return table(head, rows)


def _range(values: list[float], digits: int = 0) -> str:
    low, high = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return low if low == high else f"{low} to {high}"


def _memory(result: Result, of: dict[int, Result]) -> str:
    if SINGLETON not in of:
        return ""
    alone = figures.memory(result, of[SINGLETON])
    rows = []
    for shards, run in of.items():
        found = figures.memory(result, run)
        enough = figures.enough_objects(result, of[SINGLETON], run, TOTAL)
        rows.append(
            [
                _marked(run),
                f"{found.total / MB:,.0f}",
                f"{found.total / alone.total:.2f}",
                f"{found.empty / MB:,.0f}",
                f"{found.growth / MB:,.1f}",
                f"{found.growth / alone.growth:.2f}" if alone.growth else "",
                "" if shards == SINGLETON or enough is None else f"{enough:,}",
            ]
        )
    head = [
        "memory after a start",
        "RSS of all, MB",
        "times",
        "of it empty processes, MB",
        "growth over empty, MB",
    ]
    head += ["times", f"objects from which RSS is within {TOTAL:.2f} times"]
    each = figures.bytes_each(result, of[SINGLETON]) / 1000
    note = (
        f"An object and its child take {each:.1f} KB, by the singleton's starts over a third of them and "
        "over all; the last column supposes that of each further one. The growth has in it what a process "
        "takes up with its first object, such as dictionaries and connections: once for each shard.\n"
    )
    return table(head, rows) + "\n" + note


def _chart(result: Result) -> str:
    bars = []
    for filtered, what in ((False, "no server filter"), (True, "server filter")):
        of = figures.groups(result, filtered=filtered)
        if SINGLETON not in of:
            continue
        alone = figures.cpu(of[SINGLETON], TOGETHER).median
        for shards, run in of.items():
            spent = figures.cpu(run, TOGETHER).scaled(1 / alone if alone else 0)
            bars.append(Bar(f"{what}: {name(shards)}", spent.median, spent.low, spent.high, ours=shards > 0))
    bars.append(
        Bar(
            "published, 3 shards and a central sharder",
            published.CPU_AT_3,
            published.CPU_AT_3,
            published.CPU_AT_3,
        )
    )
    note = "CPU time of all shards for the same load, in times that of the operator that is not sharded"
    return chart("Shards", note, bars, digits=2)
