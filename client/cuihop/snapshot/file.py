r"""The snapshot's container: named arrays and a JSON header in one file that is mapped, not read.

Layout, all numbers little-endian::

    0   8 bytes   89 43 55 49 48 4F 50 0A, "\x89CUIHOP\n"
    8   uint32    format version
    12  uint32    length of the header in bytes
    16  uint64    XXH3-64 of the header
    24  uint64    length of the whole file in bytes
    32  header    JSON, UTF-8: {"meta": {…}, "sections": [{"name", "dtype", "shape", "offset", "bytes", "xxh3"}, …]}
    …   sections  each begins at a multiple of 64 bytes

The checksum of a section is the XXH3-64 of its bytes, with that of its name as the seed. Opening checks the header and
the length. Each section is checked on first use: its checksum, and the range of its
values. A file that is overwritten while it is mapped is detected by its size and time.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import stat
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import xxhash

from cuihop.errors import DamageWarning, OlderSnapshot, SnapshotError
from cuihop.files.written_files import replaced_file
from cuihop.resources.arrays import read_only
from cuihop.snapshot.layout import ALIGNMENT, HEAD_BYTES, SNAPSHOT, Layout, packed_head, read_header

Part = TypeVar("Part")


class MappedFile:
    """A file mapped for reading.

    Replacing the file by renaming leaves the map as it was. Overwriting or truncating it changes the map while it is
    read: `changed` compares size and time of modification.

    Raises:
        OSError: it cannot be opened or mapped.
        ValueError: it is empty.
    """

    def __init__(self, path: Path) -> None:
        self._number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # does not block on a pipe
        weakref.finalize(self, os.close, self._number)
        mode = os.fstat(self._number).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "a device or a pipe, and not a file")
        self._state = self.state()
        self.view = mmap.mmap(self._number, 0, access=mmap.ACCESS_READ)

    @property
    def size(self) -> int:
        """Bytes at the time of mapping."""
        return self._state[0]

    def changed(self) -> bool:
        """Compare size and time of modification with those at opening; true where they differ."""
        return self.state() != self._state

    def truncated(self) -> bool:
        """Compare the size with that at opening; true where it is smaller: reading the map would end the process."""
        return self.state()[0] < self._state[0]

    def accept(self, state: tuple[int, int]) -> None:
        """Accept this state as unchanged."""
        self._state = state

    def state(self) -> tuple[int, int]:
        """Size in bytes, and time of modification in nanoseconds."""
        status = os.fstat(self._number)
        return status.st_size, status.st_mtime_ns


class Sections:
    """The named arrays of a snapshot, in a mapped file or in memory.

    Args:
        checksums: of each array; an array without one is not checked.
        origin: name in messages.
    """

    def __init__(
        self,
        meta: Mapping[str, Any],
        arrays: Mapping[str, npt.NDArray[Any]],
        checksums: Mapping[str, int] | None = None,
        origin: str = "memory",
    ) -> None:
        self.meta = meta
        self.origin = origin
        self._arrays = {name: read_only(array) for name, array in arrays.items()}
        self._unchecked = dict(checksums or {})
        self._checksums = dict(self._unchecked)
        self._lock = threading.Lock()
        self._layout: Layout | None = None
        self._lengths: dict[str, int] = {}
        self._file: MappedFile | None = None

    @classmethod
    def open(cls, path: Path, layout: Layout) -> Sections:
        """Map a file.

        Raises:
            SnapshotError: missing, of another kind, truncated, damaged, or with an inconsistent header.
            SnapshotTooNew: a later format.
        """
        try:
            file = MappedFile(path)
        except IsADirectoryError:
            raise SnapshotError(
                f"{path}: a directory, not a snapshot. Build one with: cuihop load {path} --output graph.cuihop"
            ) from None
        except FileNotFoundError:
            raise SnapshotError(
                f"{path}: no such snapshot. Build one with: cuihop load DIRECTORY --output {path}"
            ) from None
        except OSError as error:
            raise SnapshotError(f"{path}: cannot be read: {error.strerror or error}") from error
        except ValueError:  # nothing to map
            raise SnapshotError(f"{path}: not a cuihop snapshot; found 0 bytes, expected a header") from None
        origin = str(path)
        meta, stored = read_header(file.view, file.size, origin)
        if (holds := meta.get("holds", SNAPSHOT.kind)) != layout.kind:
            raise SnapshotError(f"{path}: not a {layout.kind}; found {str(holds)[:80]}")
        arrays = {
            section.name: np.frombuffer(
                file.view, dtype=section.dtype, count=int(np.prod(section.shape, dtype=np.int64)), offset=section.offset
            ).reshape(section.shape)
            for section in stored
        }
        opened = cls(meta, arrays, {section.name: section.xxh3 for section in stored}, origin)
        opened._lengths = layout.lengths(meta, arrays, origin)
        opened._layout, opened._file = layout, file
        return opened

    @staticmethod
    def kind_of(path: Path) -> str | None:
        """The kind of a file, by its header; ``None`` where it cannot be read, or is no file of cuihop."""
        try:
            file = MappedFile(path)
            return str(read_header(file.view, file.size, str(path))[0].get("holds", SNAPSHOT.kind))
        except (OSError, ValueError, SnapshotError):
            return None

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        try:
            array = self._arrays[name]
        except KeyError:
            raise SnapshotError(f"{self.origin}: section {name!r} is missing; the file is damaged") from None
        if name in self._unchecked:
            self._check(name, array)
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def length(self, name: str) -> int:
        """Length of a section, without reading its content."""
        return len(self._arrays[name])

    def _check(self, name: str, array: npt.NDArray[Any]) -> None:
        with self._lock:
            expected = self._unchecked.get(name)
            if expected is None:
                return
            if self._file is not None and self._file.truncated():
                raise self._overwritten()
            if _checksum(name, array) != expected:
                raise SnapshotError(f"{self.origin}: section {name!r} fails its checksum; the file is damaged")
            if self._layout is not None:
                self._layout.check(name, self._arrays, self._lengths, self.origin)
            del self._unchecked[name]

    def check_unchanged(self) -> None:
        """Check that the file was not overwritten since it was mapped; one with a new time alone is read again.

        Raises:
            SnapshotError: it was.
        """
        file = self._file
        if file is None or not file.changed():
            return
        with self._lock:
            if file.truncated():
                raise self._overwritten()
            state = file.state()
            used = [name for name in self._checksums if name not in self._unchecked]
            if any(_checksum(name, self._arrays[name]) != self._checksums[name] for name in used):
                raise self._overwritten()
            file.accept(state)

    def _overwritten(self) -> SnapshotError:
        return SnapshotError(
            f"{self.origin}: written over, or cut, while it was in use. Open it again; put a new file in the place of "
            "an old one by renaming, as cuihop load does, and not by copying over it"
        )

    def verify(self) -> int:
        """Check every section against its checksum; return the bytes checked.

        Raises:
            SnapshotError: names the first section that fails.
        """
        return sum(self[name].nbytes for name in self)

    def save(self, path: Path) -> None:
        """Write them to a file: see `write_sections`."""
        write_sections(path, self.meta, {name: self[name] for name in self})


def with_part(
    sections: Sections, part: Sequence[str], build: Callable[[Mapping[str, npt.NDArray[Any]]], Mapping[str, Any]]
) -> Sections:
    """The sections with those of a part, built from the others."""
    arrays = {name: sections[name] for name in sections if name not in part}
    return Sections(sections.meta, {**arrays, **build(arrays)})


def opened_part(
    sections: Sections,
    part: Sequence[str],
    opened: Callable[[Sections], Part],
    built: Callable[[Sections], Part],
    name: str,
    missing: str,
) -> Part | None:
    """A part that follows from the names of a snapshot; ``None`` without names.

    If a section of it is missing, as in a snapshot of an earlier cuihop, or damaged, it is built, with a warning.
    """
    if len(sections["name_offsets"]) == 1:
        return None
    if not all(section in sections for section in part):
        if sections.origin != "memory":
            store = f"store it with: cuihop index --name-search {sections.origin}"
            warnings.warn(f"{sections.origin}: {missing}; {store}", OlderSnapshot, stacklevel=3)
        return built(sections)
    try:
        return opened(sections)
    except SnapshotError as error:
        warnings.warn(f"{error}. The {name} is built again in memory", DamageWarning, stacklevel=3)
        return built(sections)


def _raw(array: npt.NDArray[Any]) -> memoryview:
    """The bytes of an array, copied only where it is not contiguous."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).data if flat.size else memoryview(b"")


def _checksum(name: str, array: npt.NDArray[Any]) -> int:
    """The checksum of a section: one under the name of another fails it, too."""
    return xxhash.xxh3_64_intdigest(_raw(array), xxhash.xxh3_64_intdigest(name.encode()))


def write_sections(path: Path, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write the file atomically: under a temporary name, synchronised, then renamed.

    Raises:
        OutputError: the disk is full, or the folder cannot be written. The target is as it was.
    """
    table: list[dict[str, Any]] = []
    offset = 0
    for name, array in arrays.items():
        if array.dtype.byteorder == ">":
            raise ValueError(f"section {name!r} is big-endian")
        table.append(
            {
                "name": name,
                "dtype": array.dtype.str,
                "shape": list(array.shape),
                "offset": offset,
                "bytes": array.nbytes,
                "xxh3": _checksum(name, array),
            }
        )
        offset = _aligned(offset + array.nbytes)
    # Offsets count from the first section until the header's length is computed; the header is then put before them.
    room = _aligned(HEAD_BYTES + len(json.dumps({"meta": meta, "sections": table}).encode()) + 24 * len(table))
    for section in table:
        section["offset"] += room
    header = json.dumps({"meta": meta, "sections": table}, ensure_ascii=False).encode(errors="replace")
    if len(header) > room - HEAD_BYTES:
        raise ValueError("the header does not fit")
    length = max([room, *(s["offset"] + s["bytes"] for s in table)])
    with replaced_file(path, expected_bytes=length) as file:
        file.write(packed_head(header, length) + header)
        for section, array in zip(table, arrays.values(), strict=True):
            file.seek(section["offset"])
            file.write(_raw(array))
        file.truncate(length)


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
