r"""The snapshot's container: named arrays and a JSON header in one file that is mapped, not read.

Layout, all numbers little-endian::

    0   8 bytes   89 43 55 49 48 4F 50 0A, "\x89CUIHOP\n"
    8   uint32    format version
    12  uint32    length of the header in bytes
    16  uint64    XXH3-64 of the header
    24  uint64    length of the whole file in bytes
    32  header    JSON, UTF-8: {"meta": {…}, "sections": [{"name", "dtype", "shape", "offset", "bytes", "xxh3"}, …]}
    …   sections  each begins at a multiple of 64 bytes

Opening checks the header and the length. Each section is checked against its checksum when it is first used.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from cuihop.errors import SnapshotError, SnapshotTooNew
from cuihop.written_files import replaced_file

__all__ = ["FORMAT_VERSION", "Sections", "write_sections"]

MAGIC = b"\x89CUIHOP\n"
FORMAT_VERSION = 1
_HEAD = struct.Struct("<8sIIQQ")
_ALIGNMENT = 64
_LARGEST_HEADER = 1 << 28


class Sections:
    """The named arrays of a snapshot, in a mapped file or in memory.

    Args:
        meta: the JSON part.
        arrays: by name.
        checksums: the XXH3-64 of each array's bytes; an array without one is not checked.
        origin: what messages call it.
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
        self._arrays = arrays
        self._unchecked = dict(checksums or {})
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> Sections:
        """Map the file.

        Raises:
            SnapshotError: no such file, not a snapshot, truncated, or its header fails the checksum.
            SnapshotTooNew: a later format.
        """
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < _HEAD.size:
                    raise SnapshotError(f"{path}: not a cuihop snapshot; found {size} bytes, expected a header")
                view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except IsADirectoryError:
            raise SnapshotError(
                f"{path}: a directory, not a snapshot. Build one with: cuihop load {path} --output graph.cuihop"
            ) from None
        except FileNotFoundError:
            raise SnapshotError(
                f"{path}: no such snapshot. Build one with: cuihop load DIRECTORY --output {path}"
            ) from None
        except OSError as error:
            raise SnapshotError(f"{path}: cannot be read: {error.strerror}") from error
        magic, version, header_bytes, header_checksum, length = _HEAD.unpack(view[: _HEAD.size])
        if magic != MAGIC:
            raise SnapshotError(f"{path}: not a cuihop snapshot; found {magic!r} at its start, expected {MAGIC!r}")
        if version > FORMAT_VERSION:
            raise SnapshotTooNew(
                f"{path}: snapshot format {version}, and this cuihop reads up to {FORMAT_VERSION}. "
                "Upgrade cuihop, or build the snapshot anew with this version."
            )
        if length != size:
            raise SnapshotError(f"{path}: truncated or grown; found {size:,} bytes, expected {length:,}")
        raw = view[_HEAD.size : _HEAD.size + header_bytes]
        if len(raw) != header_bytes or xxhash.xxh3_64_intdigest(raw) != header_checksum:
            raise SnapshotError(f"{path}: the header fails its checksum; the file is damaged")
        header = json.loads(raw)
        arrays = {}
        checksums = {}
        for section in header["sections"]:
            dtype = np.dtype(section["dtype"])
            count = int(np.prod(section["shape"], dtype=np.int64))
            array = np.frombuffer(view, dtype=dtype, count=count, offset=section["offset"])
            arrays[section["name"]] = array.reshape(section["shape"])
            checksums[section["name"]] = section["xxh3"]
        return cls(header["meta"], arrays, checksums, str(path))

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

    def __len__(self) -> int:
        return len(self._arrays)

    def _check(self, name: str, array: npt.NDArray[Any]) -> None:
        with self._lock:
            expected = self._unchecked.get(name)
            if expected is None:
                return
            if _checksum(array) != expected:
                raise SnapshotError(f"{self.origin}: section {name!r} fails its checksum; the file is damaged")
            del self._unchecked[name]

    def verify(self) -> int:
        """Check every section against its checksum. Returns the bytes checked.

        Raises:
            SnapshotError: names the first section that fails.
        """
        return sum(self[name].nbytes for name in self)


def _raw(array: npt.NDArray[Any]) -> memoryview:
    """The bytes of the array, not copied where they lie in one piece."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).data if flat.size else memoryview(b"")


def _checksum(array: npt.NDArray[Any]) -> int:
    return xxhash.xxh3_64_intdigest(_raw(array))


def write_sections(path: Path, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write the file whole or not at all: under another name, then synchronised, then renamed.

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
                "xxh3": _checksum(array),
            }
        )
        offset = _aligned(offset + array.nbytes)
    # Offsets count from the first section until the header's own length is known; it then stands in front of them.
    room = _aligned(_HEAD.size + len(json.dumps({"meta": meta, "sections": table}).encode()) + 24 * len(table))
    for section in table:
        section["offset"] += room
    header = json.dumps({"meta": meta, "sections": table}, ensure_ascii=True).encode()
    if len(header) > min(room - _HEAD.size, _LARGEST_HEADER):
        raise ValueError("the header does not fit")
    length = max([room, *(s["offset"] + s["bytes"] for s in table)])
    head = _HEAD.pack(MAGIC, FORMAT_VERSION, len(header), xxhash.xxh3_64_intdigest(header), length)
    with replaced_file(path, expected_bytes=length) as file:
        file.write(head + header)
        for section, array in zip(table, arrays.values(), strict=True):
            file.seek(section["offset"])
            file.write(_raw(array))
        file.truncate(length)


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT
