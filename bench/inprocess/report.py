"""Writes the in-process results as Markdown and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bench import environment
from bench.inprocess.contestants import CONTESTANTS
from bench.inprocess.native import NATIVE
from bench.svg import Bar, chart
from bench.tables import Spread, Verdict, table, verdicts

Result = dict[str, Any]

TITLES: Final = {name: c.title for name, c in CONTESTANTS.items()} | {
    name: n.title for name, n in NATIVE.items()
}
LEAVES_OUT: Final = {n: c.leaves_out for n, c in CONTESTANTS.items()} | {
    n: c.leaves_out for n, c in NATIVE.items()
}

SUITES: Final = {
    "chunks": ("Chunks", "Irrelevant Widget events by how the socket cuts them."),
    "relist": ("Relist", "A list of 5,000 Widgets in pages of 500; time an object."),
    "index": (
        "Indexes",
        """Keeping one: a changed spec, with and without an index on it. Looking up: 50 of 5,000 keys, sorted.
The dict of sets has no path language and was filled by hand.""",
    ),
    "diff": (
        "Drift",
        """An intent (a dict) against the live object as the cache has it (JSON). openclaw: serialise the
intent, compare with lists merged by key, quantities, and our managedFields entry. kopf and the containment:
parse the live object, compare without any of these. Both take a list as a whole or by place, so that they see
a difference in the Deployment whose ports have defaults.""",
    ),
    "decode": (
        "Decoding",
        "What a reconcile pays to read a Widget. A cache of dicts must copy what it hands out.",
    ),
}


def write(result: Result, folder: Path) -> None:
    """Write `inprocess.md` and its pictures into a folder."""
    parts = ["# In process\n", environment.text(result["environment"]), _preface(result)]
    parts += ["## What must hold\n", verdicts(targets(result))]
    parts += ["## Irrelevant events\n", _feed(result), "![](inprocess-feed.svg)\n"]
    parts += ["## Other events\n", _cases(result)]
    for suite, (title, text) in SUITES.items():
        parts += [f"## {title}\n", text + "\n", _suite(result, suite)]
    parts += ["## Memory\n", _memory(result), "![](inprocess-memory.svg)\n"]
    parts += ["## Instructions\n", _instructions(result)]
    (folder / "inprocess.md").write_text("\n".join(parts))
    (folder / "inprocess-feed.svg").write_text(_feed_chart(result))
    (folder / "inprocess-memory.svg").write_text(_memory_chart(result))


def targets(result: Result) -> list[Verdict]:
    """What must hold, of what was measured."""
    found = []
    for kind, word in (("Widget", "irrelevant"), ("ConfigMap", "unowned")):
        costs = {r["contestant"]: r["ns"]["median"] for r in _records(result, "feed", "irrelevant", kind)}
        size = next(r["bytes"] for r in _records(result, "feed", "irrelevant", kind))
        ours, what = costs["openclaw"], f"{word} {kind} events of {size / 1000:.1f} KB"
        if "go-typed" in costs:
            times = costs["go-typed"] / ours
            found.append(Verdict(f"{what}: times controller-runtime's decode", times, 15, at_least=True))
        found.append(Verdict(f"{what}: times orjson", costs["orjson"] / ours, 4, at_least=True))
        found.append(Verdict(f"{what}: events a second", 1e9 / ours, 400_000, at_least=True, must=False))
    found += _foreign(result)
    most = max((m["objects"] for m in result["memory"]), default=0)
    for m in result["memory"]:
        if m["contestant"] == "openclaw" and m["objects"] == most:
            what = f"resident an object of {m['bytes'] / 1000:.1f} KB, {most:,} {m['kind']}s"
            found.append(Verdict(what, _each(m) / 1000, 0.6, " KB"))
    return found


def _foreign(result: Result) -> list[Verdict]:
    """Of what a shard is sent of others: how much cheaper than parsing it."""
    costs = {r["contestant"]: r["ns"]["median"] for r in _records(result, "feed", "foreign", "Widget")}
    if not {"openclaw", "orjson"} <= set(costs):
        return []
    what = "Widget events of other shards"
    times = costs["orjson"] / costs["openclaw"]
    return [
        Verdict(f"{what}: times orjson", times, 4, at_least=True),
        Verdict(f"{what}: events a second", 1e9 / costs["openclaw"], 400_000, at_least=True, must=False),
    ]


def _preface(result: Result) -> str:
    text = """Times are CPU time of the process (of all threads: Go's garbage collector is in), as
min / **median** / max over the rounds. [The benchmarks' README](../README.md) says what is measured and what
is left out.
"""
    lines = [text]
    lines += [f"Left out, {name}: {why}\n" for name, why in result["missing"].items()]
    return "\n".join(lines)


def _records(result: Result, suite: str, case: str = "", kind: str = "") -> list[Result]:
    return [
        r
        for r in result["records"]
        if r["suite"] == suite and case in {"", r["case"]} and kind in {"", r["kind"]}
    ]


def _spread(record: Result) -> Spread:
    ns = record["ns"]
    return Spread(ns["min"], ns["median"], ns["max"])


def _title(name: str) -> str:
    return f"**{name}**" if name.startswith("openclaw") else TITLES.get(name, name)


def _feed(result: Result) -> str:
    parts = []
    for kind in dict.fromkeys(r["kind"] for r in _records(result, "feed", "irrelevant")):
        records = sorted(_records(result, "feed", "irrelevant", kind), key=lambda r: r["ns"]["median"])
        ours = next(r["ns"]["median"] for r in records if r["contestant"] == "openclaw")
        rows = [
            [
                _title(r["contestant"]),
                _spread(r).scaled(1e-3).text(2),
                f"{1e9 / r['ns']['median']:,.0f}",
                f"{r['ns']['median'] / ours:.2f}",
                LEAVES_OUT[r["contestant"]],
            ]
            for r in records
        ]
        sizes = next(r["bytes"] for r in records)
        parts.append(f"{kind}, {sizes:,} bytes an event, in chunks of 64 KB:\n")
        parts.append(table(["", "µs an event", "events/s a core", "times ours", "leaves out"], rows))
    return "\n".join(parts)


def _cases(result: Result) -> str:
    records = [r for r in _records(result, "feed") if r["case"] != "irrelevant"]
    return _matrix(records)


def _suite(result: Result, suite: str) -> str:
    return _matrix(_records(result, suite))


def _matrix(records: list[Result]) -> str:
    """One row a case, one column a contestant; nanoseconds become µs."""
    names = list(dict.fromkeys(r["contestant"] for r in records))
    rows = []
    for case, kind in dict.fromkeys((r["case"], r["kind"]) for r in records):
        cells = {
            r["contestant"]: _spread(r).scaled(1e-3).text(2)
            for r in records
            if (r["case"], r["kind"]) == (case, kind)
        }
        rows.append([f"{kind}, {case}", *(cells.get(name, "") for name in names)])
    return table(["µs each", *map(_title, names)], rows)


def _each(record: Result) -> float:
    return float(record["after"] - record["before"]) / float(record["objects"])


def _memory(result: Result) -> str:
    rows = []
    for m in result["memory"]:
        standing = m.get("standing", m["after"]) - m["before"]
        rows.append(
            [
                f"{m['kind']} ({m['bytes']:,} bytes), {m['objects']:,}",
                _title(m["contestant"]),
                f"{_each(m) / 1000:.2f}",
                f"{standing / m['objects'] / 1000:.2f}",
                f"{(m['peak'] - m['before']) / m['objects'] / 1000:.2f}",
                f"{m['accounted'] / m['objects'] / 1000:.2f}" if "accounted" in m else "",
            ]
        )
    text = """Growth of the resident set of a fresh process, KB an object. At rest: after a collection, and
for Go after free pages went back to the system. As it stands: at the end of the stream, with Go's free pages.
"""
    return text + "\n" + table(["objects", "", "at rest", "as it stands", "peak", "by its own account"], rows)


def _instructions(result: Result) -> str:
    counted = result["instructions"]
    if "counts" not in counted:
        return f"Not counted: {counted['missing']}.\n"
    rows = []
    for c in counted["counts"]:
        ours = next(
            o["instructions"]
            for o in counted["counts"]
            if (o["contestant"], o["kind"]) == ("openclaw", c["kind"])
        )
        rows.append(
            [c["kind"], _title(c["contestant"]), f"{c['instructions']:,}", f"{c['instructions'] / ours:.2f}"]
        )
    text = "Of an irrelevant event, by valgrind: two runs that differ by one round of events, subtracted.\n"
    return text + "\n" + table(["", "", "instructions an event", "times ours"], rows)


def _feed_chart(result: Result) -> str:
    records = sorted(_records(result, "feed", "irrelevant", "Widget"), key=lambda r: r["ns"]["median"])
    bars = []
    for r in records:
        ns, ours = r["ns"], r["contestant"] == "openclaw"
        label = TITLES[r["contestant"]]
        bars.append(Bar(label, 1e6 / ns["median"], 1e6 / ns["max"], 1e6 / ns["min"], ours=ours))
    note = f"thousand events a second of one core; {records[0]['bytes']:,} bytes an event" if records else ""
    return chart("Irrelevant Widget events", note, bars)


def _memory_chart(result: Result) -> str:
    most = max((m["objects"] for m in result["memory"]), default=0)
    chosen = [m for m in result["memory"] if m["objects"] == most]
    bars = [
        Bar(
            f"{m['kind']}: {TITLES[m['contestant']]}",
            _each(m) / 1000,
            _each(m) / 1000,
            _each(m) / 1000,
            ours=m["contestant"] == "openclaw",
        )
        for m in chosen
    ]
    return chart("Memory an object", f"KB resident an object, {most:,} objects", bars, digits=2)
