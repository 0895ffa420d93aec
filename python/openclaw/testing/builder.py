"""Builds the binaries that tests need with Go into the user's cache.

Two builds may start at once: a file lock lets the second wait, and it then finds the work done.
A binary appears under its name only when it is complete.
"""

from __future__ import annotations

import fcntl
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Final, TextIO

from openclaw.testing.binaries import COMPONENTS, Component, cache_folder, missing
from openclaw.testing.errors import BuildError

MINIMUM_GO: Final = (1, 26)
_REPORT_EVERY: Final = 5.0  # seconds
_TAIL_LINES: Final = 30
_GO_FOLDERS: Final = ("/usr/local/go/bin",)
"""Where Go's own installation instructions put it, looked in after PATH."""


def build_missing(names: Iterable[str], output: TextIO | None = None) -> None:
    """Build those of `names` that are found nowhere, telling on `output` (default: stderr) how far it is.

    Raises BuildError when Go is missing, too old, or fails.
    """
    report = _Report(output or sys.stderr)
    folders: dict[Path, list[str]] = {}
    for name in names:
        folders.setdefault(cache_folder(name), []).append(name)
    for folder, kept_there in folders.items():
        _build_into(folder, kept_there, report)


def _build_into(folder: Path, names: list[str], report: _Report) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with _exclusive(folder.with_name(f".{folder.name}.lock"), report):
        wanted = missing(names)
        if not wanted:
            return
        go = _find_go()
        # On the same file system as the cache, so that the final rename is atomic. Whoever left an
        # older one behind is gone, as the lock is ours.
        for leftover in folder.glob(".build-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=".build-", dir=folder) as temporary:
            modules = _unpack_modules(Path(temporary), {COMPONENTS[name].module for name in wanted})
            for module in modules.values():
                _check_go_version(go, module)
            report.line(
                f"building {', '.join(wanted)} {COMPONENTS[wanted[0]].version} into {folder} "
                "(once; some minutes from nothing, seconds when Go's build cache is warm)"
            )
            for position, name in enumerate(wanted, start=1):
                component = COMPONENTS[name]
                label = f"[{position}/{len(wanted)}] {name}"
                built = _build(go, component, modules[component.module], report, label)
                built.replace(folder / name)


def _build(go: str, component: Component, module: Path, report: _Report, label: str) -> Path:
    started = time.monotonic()
    report.line(f"{label}: resolving packages")
    tags = ["-tags", component.tags] if component.tags else []
    packages = _run([go, "list", *tags, "-deps", component.package], module, report, f"{label}: resolving")
    total = len(packages)
    target = module / component.name
    command = [go, "build", "-v", *tags, "-ldflags", _linker_flags(component), "-o", str(target)]
    command.append(component.package)
    _run(command, module, report, f"{label}: compiling", total=total)
    report.line(f"{label}: done in {time.monotonic() - started:.0f} s")
    return target


def _linker_flags(component: Component) -> str:
    flags = ["-s", "-w"]
    if component.module == "prometheus":
        # promtool and /api/v1/status/buildinfo would say nothing else.
        version = component.version.removeprefix("v0.")
        flags.append(f"-X github.com/prometheus/common/version.Version={version[0]}.{version[1:]}")
    if component.module == "kubernetes":
        # Without these the server calls itself v0.0.0-master and kubectl complains about the skew.
        major, minor, _ = component.version.removeprefix("v").split(".")
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
            flags += [f"-X {package}.gitVersion={component.version}"]
            flags += [f"-X {package}.gitMajor={major}", f"-X {package}.gitMinor={minor}"]
    return " ".join(flags)


def _run(
    command: Sequence[str], folder: Path, report: _Report, label: str, total: int | None = None
) -> list[str]:
    """Run Go, reporting each few seconds; returns the lines of its standard output.

    With `total`, each line on standard error that names a package counts as one package of so many.
    """
    started = time.monotonic()
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    if process.stdout is None or process.stderr is None:
        raise BuildError(f"no pipes to {command[0]}")
    errors: queue.Queue[str | None] = queue.Queue()
    output: list[str | None] = []
    readers = [
        threading.Thread(target=_read, args=(process.stderr, errors.put), daemon=True),
        threading.Thread(target=_read, args=(process.stdout, output.append), daemon=True),
    ]
    for reader in readers:
        reader.start()
    progress = _Progress(total)
    reported = started
    try:
        while (line := _next(errors)) is not None:
            progress.take(line)
            now = time.monotonic()
            if now - reported >= _REPORT_EVERY:
                reported = now
                report.line(f"{label}{progress}, {now - started:.0f} s")
        code = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        for reader in readers:
            reader.join()
        process.stdout.close()
        process.stderr.close()
    if code != 0:
        said = "\n".join(progress.tail)
        raise BuildError(f"`{' '.join(command[:2])}` of {command[-1]} failed, exit status {code}:\n{said}")
    return [line for line in output if line]


class _Progress:
    """What Go says on standard error, counted; with `total`, a line that is a package was compiled."""

    def __init__(self, total: int | None) -> None:
        self.tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._total = total
        self._compiled = 0
        self._downloads = 0

    def take(self, line: str) -> None:
        if line.startswith("go: downloading"):
            self._downloads += 1
        elif self._total and re.fullmatch(r"[\w.~/-]+", line):
            self._compiled += 1
        elif line:
            self.tail.append(line)

    def __str__(self) -> str:
        counted = f", {self._compiled} of at most {self._total} packages" if self._total else ""
        return counted + (f", {self._downloads} modules downloaded" if self._downloads else "")


def _next(lines: queue.Queue[str | None]) -> str | None:
    """The next line, an empty one when none came for a while, None at the end."""
    try:
        return lines.get(timeout=1.0)
    except queue.Empty:
        return ""


def _read(stream: TextIO, take: Callable[[str | None], None]) -> None:
    for line in stream:
        take(line.rstrip("\n"))
    take(None)


def _find_go() -> str:
    go = next(filter(None, (shutil.which("go", path=folder) for folder in (None, *_GO_FOLDERS))), None)
    if go is None:
        raise BuildError(
            f"Go is needed to build this, and there is no `go` on PATH. Install Go "
            f"{_dotted(MINIMUM_GO)} or newer (https://go.dev/dl/), or set KUBEBUILDER_ASSETS to a folder "
            f"with the binaries, or put them on PATH."
        )
    return go


def _check_go_version(go: str, module: Path) -> None:
    # Asked inside the module: from 1.21 on Go fetches the tool chain that go.mod asks for by itself,
    # unless GOTOOLCHAIN=local forbids it, and answers with the version that will do the build.
    answer = subprocess.run([go, "env", "GOVERSION"], cwd=module, text=True, capture_output=True, check=False)
    version = re.match(r"go(\d+)\.(\d+)", answer.stdout)
    if answer.returncode != 0 or version is None or (int(version[1]), int(version[2])) < MINIMUM_GO:
        said = answer.stderr.strip() or answer.stdout.strip()
        raise BuildError(
            f"{go} is too old or does not work ({said}): Go {_dotted(MINIMUM_GO)} or newer is needed. "
            f"Install it (https://go.dev/dl/), or unset GOTOOLCHAIN so that Go "
            f"fetches it."
        )


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _unpack_modules(folder: Path, names: set[str]) -> dict[str, Path]:
    # Copied, as Go may want to write beside go.mod and the installed package may be read-only.
    shipped = resources.files("openclaw.testing") / "gomod"
    modules = {}
    for name in sorted(names):
        modules[name] = folder / name
        modules[name].mkdir()
        for file in ("go.mod", "go.sum"):
            (modules[name] / file).write_bytes((shipped / name / file).read_bytes())
    return modules


@contextmanager
def _exclusive(path: Path, report: _Report) -> Iterator[None]:
    with path.open("a+") as lock:
        started = time.monotonic()
        reported = -_REPORT_EVERY
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - started
                if waited - reported >= _REPORT_EVERY:
                    reported = waited
                    report.line(f"another build is under way (lock {path}); waiting for it, {waited:.0f} s")
                time.sleep(0.2)
        yield  # Closing the file releases the lock, as does the end of the process however it ends.


class _Report:
    """Lines for a person, written at once."""

    def __init__(self, output: TextIO) -> None:
        self._output = output

    def line(self, text: str) -> None:
        self._output.write(f"{text}\n")
        self._output.flush()
