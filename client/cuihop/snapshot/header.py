"""The header of a snapshot file, and of the index and the checkpoint that have the same form: read, and checked whole.

Whatever a header says is held against the size of the file and against the rest of the header before anything follows
it: a checksum reveals accidents, not a header that was written wrongly or forged.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from cuihop.errors import SnapshotError, SnapshotTooNew

__all__ = ["ALIGNMENT", "FORMAT_VERSION", "HEAD_BYTES", "StoredSection", "fits", "packed_head", "read_header"]

FORMAT_VERSION = 1
ALIGNMENT = 64
HEAD_BYTES = 32

_MAGIC = b"\x89CUIHOP\n"
_HEAD = struct.Struct("<8sIIQQ")
_LARGEST_HEADER = 1 << 26
_MOST_DIMENSIONS = 3
_DTYPES = re.compile(r"[<|][iu][1248]|\|S[1-9][0-9]{0,2}")
_SECTION = {"name": str, "dtype": str, "shape": [int], "offset": int, "bytes": int, "xxh3": int}


@dataclass(frozen=True)
class StoredSection:
    """Where an array lies in the file, and the XXH3-64 of its bytes."""

    name: str
    dtype: npt.DTypeLike
    shape: tuple[int, ...]
    offset: int
    bytes: int
    xxh3: int


def packed_head(header: bytes, length: int) -> bytes:
    """Prefix of a header: see `cuihop.snapshot.file`.

    Raises:
        ValueError: it is longer than a reader takes.
    """
    if len(header) > _LARGEST_HEADER:
        raise ValueError("the header is too long")
    return _HEAD.pack(_MAGIC, FORMAT_VERSION, len(header), xxhash.xxh3_64_intdigest(header), length)


def read_header(view: Any, size: int, origin: str) -> tuple[dict[str, Any], list[StoredSection]]:
    """The JSON part of a header, and its sections.

    Args:
        view: the file, as a slice of which bytes are had; no more of it than the header is read.
        size: of the file.
        origin: what messages call it.

    Raises:
        SnapshotError: not such a file, truncated, damaged, or a header that is not so.
        SnapshotTooNew: a later format.
    """
    if size < HEAD_BYTES:
        raise SnapshotError(f"{origin}: not a cuihop snapshot; found {size} bytes, expected a header")
    magic, version, header_bytes, checksum, length = _HEAD.unpack(view[:HEAD_BYTES])
    if magic != _MAGIC:
        raise SnapshotError(f"{origin}: not a cuihop snapshot; found {magic!r} at its start, expected {_MAGIC!r}")
    if version > FORMAT_VERSION:
        raise SnapshotTooNew(
            f"{origin}: made by a newer cuihop: snapshot format {version}, and this one reads up to {FORMAT_VERSION}. "
            "Upgrade cuihop, or build the snapshot anew with this version."
        )
    if version != FORMAT_VERSION:
        raise _damaged(origin, f"format {version}")
    if length != size:
        raise SnapshotError(f"{origin}: truncated or grown; found {size:,} bytes, expected {length:,}")
    if header_bytes > min(size - HEAD_BYTES, _LARGEST_HEADER):
        raise _damaged(origin, f"a header of {header_bytes:,} bytes in a file of {size:,}")
    raw = bytes(view[HEAD_BYTES : HEAD_BYTES + header_bytes])
    if xxhash.xxh3_64_intdigest(raw) != checksum:
        raise SnapshotError(f"{origin}: the header fails its checksum; the file is damaged")
    try:
        header = json.loads(raw)
    except (ValueError, RecursionError):
        raise _damaged(origin, "no JSON") from None
    if not fits(header, {"meta": {}, "sections": [_SECTION]}):
        raise _damaged(origin, "other fields than meta and sections")
    sections = [_section(fields, size, origin) for fields in header["sections"]]
    _check_places(sections, HEAD_BYTES + header_bytes, origin)
    return header["meta"], sections


def fits(value: object, form: Any) -> bool:
    """Match a JSON value against a form.

    A form is ``str``; ``int``, for one that is not negative; ``[form]``, a list of such; ``(form, form)``, a list of
    as many; or ``{name: form}``, an object with at least these fields.

    >>> fits({"a": [1, 2], "b": 0}, {"a": [int]}), fits([True], [int]), fits(-1, int)
    (True, False, False)
    """
    if form is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if isinstance(form, type):
        return isinstance(value, form)
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(item, form[0]) for item in value)
    if isinstance(form, tuple):
        return (
            isinstance(value, list)
            and len(value) == len(form)
            and all(fits(item, part) for item, part in zip(value, form, strict=True))
        )
    fields: Mapping[str, Any] = form
    return isinstance(value, dict) and all(name in value and fits(value[name], part) for name, part in fields.items())


def _section(fields: Mapping[str, Any], size: int, origin: str) -> StoredSection:
    name, shape = fields["name"], tuple(fields["shape"])
    if not _DTYPES.fullmatch(fields["dtype"]):
        raise _damaged(origin, f"type {fields['dtype']!r} of section {name!r}")
    dtype = np.dtype(fields["dtype"])
    if len(shape) not in range(1, _MOST_DIMENSIONS + 1) or max(shape) > size:
        raise _damaged(origin, f"shape {shape} of section {name!r}")
    if fields["bytes"] != math.prod(shape) * dtype.itemsize:
        raise _damaged(origin, f"{fields['bytes']:,} bytes for shape {shape} of section {name!r}")
    if fields["offset"] % ALIGNMENT:
        raise _damaged(origin, f"offset {fields['offset']:,} of section {name!r}")
    if fields["offset"] + fields["bytes"] > size:
        raise _damaged(origin, f"section {name!r} up to byte {fields['offset'] + fields['bytes']:,} of {size:,}")
    return StoredSection(name, dtype, shape, fields["offset"], fields["bytes"], fields["xxh3"])


def _check_places(sections: Sequence[StoredSection], begin: int, origin: str) -> None:
    if len({section.name for section in sections}) < len(sections):
        raise _damaged(origin, "two sections of one name")
    ordered = sorted((section for section in sections if section.bytes), key=lambda section: section.offset)
    for section in ordered[:1]:
        if section.offset < begin:
            raise _damaged(origin, f"section {section.name!r} in the header")
    for before, after in pairwise(ordered):
        if before.offset + before.bytes > after.offset:
            raise _damaged(origin, f"sections {before.name!r} and {after.name!r} in one place")


def _damaged(origin: str, found: str) -> SnapshotError:
    return SnapshotError(f"{origin}: the header is not that of a snapshot; found {found[:200]}; the file is damaged")
