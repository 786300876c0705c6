"""Byte streams of files in parts, in a zip archive, or under gzip, with the errors of reading them."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from cuihop.errors import InputError

__all__ = ["BrokenStream", "ByteStream", "Part", "byte_stream"]

_CHUNK = 1 << 18
_MAGIC = b"\x1f\x8b"
_GZIP = 31  # zlib's window, with a gzip header around


class BrokenStream(Exception):
    """The bytes break off or cannot be unpacked. The reader that counts lines adds the line and raises `InputError`."""

    def __init__(self, file: str, problem: str, *, found: str, expected: str, advice: str | None = None) -> None:
        super().__init__(problem)
        self.file = file
        self.problem = problem
        self.found = found
        self.expected = expected
        self.advice = advice


@dataclass(frozen=True)
class Part:
    """A file on the disk, or a member of a zip archive.

    Attributes:
        path: on the disk.
        member: the member's name, if `path` is an archive.
        gzip: true where it is compressed by gzip.
        size: bytes on disk (of a member, after extraction from the archive).
    """

    path: Path
    member: str | None
    gzip: bool
    size: int

    def __str__(self) -> str:
        return str(self.path) if self.member is None else f"{self.path}:{self.member}"


class ByteStream(Protocol):
    """A sequential stream of bytes."""

    def readinto(self, view: memoryview) -> int:
        """Fill the view from its start; fewer bytes than it holds only at the end of the stream.

        Raises:
            BrokenStream: after all bytes before the break have been returned.
        """


class _Parts:
    """The parts one after the other, each unpacked where it is compressed by gzip."""

    def __init__(self, parts: tuple[Part, ...], held: contextlib.ExitStack) -> None:
        self._parts = list(parts)
        self._held = held
        self._current: ByteStream | None = None
        self._broken: BrokenStream | None = None
        self.consumed = 0  # bytes on disk

    def readinto(self, view: memoryview) -> int:
        filled = 0
        while filled < len(view):
            if self._broken is not None:
                if filled:
                    break
                raise self._broken
            if self._current is None:
                if not self._parts:
                    break
                self._current = self._opened(self._parts.pop(0))
            try:
                count = self._current.readinto(view[filled:])
            except BrokenStream as broken:
                self._broken = broken
                continue
            filled += count
            if count == 0:
                self._current = None
        return filled

    def _opened(self, part: Part) -> ByteStream:
        try:
            if part.member is None:
                source: IO[bytes] = self._held.enter_context(part.path.open("rb", buffering=0))
            else:
                archive = self._held.enter_context(zipfile.ZipFile(part.path))
                source = self._held.enter_context(archive.open(part.member))
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(part)) from error
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            raise InputError("cannot be taken out of the archive", file=str(part), found=str(error)) from error
        raw = _Raw(part, source, self)
        return _Gunzip(str(part), raw) if part.gzip else raw


class _Raw:
    """Uncompressed bytes."""

    def __init__(self, part: Part, source: IO[bytes], owner: _Parts) -> None:
        self._part = part
        self._source = source
        self._owner = owner
        self._read = 0

    def read(self, most: int) -> bytes:
        try:
            data = self._source.read(most)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(self._part)) from error
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise BrokenStream(
                str(self._part),
                "the zip archive is damaged",
                found=str(error) or "its end",
                expected=f"{self._part.size:,} bytes",
                advice="Download it again",
            ) from error
        self._read += len(data)
        self._owner.consumed += len(data)
        return data

    def readinto(self, view: memoryview) -> int:
        if self._part.member is None:
            try:
                count: int = self._source.readinto(view)  # type: ignore[attr-defined]
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror}", file=str(self._part)) from error
            self._owner.consumed += count
            return count
        data = self.read(min(len(view), _CHUNK))
        view[: len(data)] = data
        return len(data)


class _Gunzip:
    """The bytes under gzip: one member or several, each checked against its length and CRC."""

    def __init__(self, file: str, raw: _Raw) -> None:
        self._file = file
        self._raw = raw
        self._inflate = zlib.decompressobj(_GZIP)
        self._at_start = True

    def readinto(self, view: memoryview) -> int:
        while True:
            if self._inflate.eof:
                rest = self._inflate.unused_data.lstrip(b"\0") or self._raw.read(_CHUNK).lstrip(b"\0")
                if not rest:
                    return 0
                self._inflate = zlib.decompressobj(_GZIP)
            else:
                rest = self._inflate.unconsumed_tail or self._raw.read(_CHUNK)
            try:
                data = self._inflate.decompress(rest, len(view))
            except zlib.error as error:
                if self._at_start and not rest.startswith(_MAGIC):
                    raise self._broken("not a gzip file", repr(rest[:4])) from error
                raise self._broken("the gzip file is damaged", str(error)) from error
            self._at_start = False
            if data:
                view[: len(data)] = data
                return len(data)
            if not rest and not self._inflate.eof:
                raise self._broken("the gzip file breaks off", "its end")

    def _broken(self, problem: str, found: str) -> BrokenStream:
        return BrokenStream(
            self._file, problem, found=found, expected="gzip data up to its checksum", advice="Download it again"
        )


@contextlib.contextmanager
def byte_stream(parts: tuple[Part, ...]) -> Iterator[_Parts]:
    """The parts as one stream, open until the block ends.

    Raises:
        InputError: a part cannot be opened or read.
    """
    with contextlib.ExitStack() as held:
        yield _Parts(parts, held)
