"""A provider in one file: things that are files of a folder outside of the cluster.

It knows only its system. That a call is made in time, not too often and not again and again when the disk is
away, that it is counted and traced, is around it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from openclaw.providers import (
    CredentialSource,
    Difference,
    Drift,
    ExternalAlreadyExists,
    ExternalInvalid,
    ExternalNotFound,
    ExternalTransient,
    ExternalUnauthorised,
    Owner,
    Target,
)


@dataclass(frozen=True, slots=True)
class FileWanted:
    """A file that shall be there."""

    identity: str
    owner: Owner
    text: str


@dataclass(frozen=True, slots=True)
class FileObserved:
    """A file that is there. Its first line says whose it is."""

    identity: str
    owner_uid: str | None
    text: str


class FolderProvider:
    """Files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def get(self, identity: str) -> FileObserved:
        """Read the file."""
        try:
            owner, _, text = (await asyncio.to_thread(self._path(identity).read_text)).partition("\n")
        except OSError as error:
            raise translated(error) from error
        return FileObserved(identity, owner.removeprefix("owner: ") or None, text)

    async def create(self, wanted: FileWanted) -> FileObserved:
        """Write the file, unless there is one: whoever comes second is told."""
        return await self._write(wanted, "x")

    def compare(self, wanted: FileWanted, observed: FileObserved) -> Drift:
        """The text is all that there is to it."""
        if wanted.text == observed.text:
            return Drift()
        return Drift((Difference("text", wanted.text, observed.text),))

    async def update(self, wanted: FileWanted, observed: FileObserved, drift: Drift) -> FileObserved:  # noqa: ARG002
        """Write the file anew."""
        return await self._write(wanted, "w")

    async def delete(self, identity: str, removal: None) -> None:  # noqa: ARG002 - there is but one way
        """Remove the file."""
        try:
            await asyncio.to_thread(self._path(identity).unlink)
        except OSError as error:
            raise translated(error) from error

    async def health(self) -> None:
        """The folder is there."""
        if not await asyncio.to_thread(self._folder.is_dir):
            raise ExternalTransient(f"{self._folder} is no folder", outcome_unknown=False)

    async def close(self) -> None:
        """There is nothing to close."""

    async def _write(self, wanted: FileWanted, mode: str) -> FileObserved:
        def write() -> None:
            with self._path(wanted.identity).open(mode) as file:
                file.write(f"owner: {wanted.owner.uid}\n{wanted.text}")

        try:
            await asyncio.to_thread(write)
        except OSError as error:
            raise translated(error) from error
        return FileObserved(wanted.identity, wanted.owner.uid, wanted.text)

    def _path(self, identity: str) -> Path:
        if "/" in identity or identity.startswith("."):
            raise ExternalInvalid(f"{identity!r} is no name of a file")
        return self._folder / identity


def translated(error: OSError) -> Exception:
    """The system's error in the words of providers; its text says nothing secret."""
    if isinstance(error, FileNotFoundError):
        return ExternalNotFound(str(error))
    if isinstance(error, FileExistsError):
        return ExternalAlreadyExists(str(error))
    if isinstance(error, PermissionError):
        return ExternalUnauthorised(str(error))
    return ExternalTransient(str(error))


class FolderProviderFactory:
    """What the entry point names; here the operator hands it over."""

    name = "folder"

    async def connect(self, target: Target, credentials: CredentialSource) -> FolderProvider:  # noqa: ARG002
        """A folder needs no credentials; its path is the target's endpoint."""
        return FolderProvider(Path(target.endpoint or "."))
