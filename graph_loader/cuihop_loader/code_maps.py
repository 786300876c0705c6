"""MRMAP: mappings that vocabularies have published; and the vocabularies of their sets, from MRSAT."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.errors import LimitExceeded
from cuihop.resources.arrays import Int32, bounds_of
from cuihop.snapshot.code_maps import FIELDS, TYPES
from cuihop.snapshot.layout import CODE_MAPS, LARGEST_POSITION
from cuihop.snapshot.name_index_builder import ordered_texts
from cuihop.snapshot.string_table import StringTable
from cuihop_loader._kernels import interning
from cuihop_loader.identifier_codes import ReleaseReading
from cuihop_loader.row_scanner import Rows
from cuihop_loader.sources import SourceFile

_COLUMNS = ("MAPSETCUI", "MAPSETSAB", "FROMEXPR", *(name for columns in FIELDS for name in columns))
_SET, _FROM, *_FIELDS = (0, 1), (2, 2), (3, 4), (5, 6), (7, 8)
_KIND = _FIELDS[1]
_MOST_SETS = 1 << 16
_ATTRIBUTE, _VALUE = 8, 10  # columns of MRSAT

_Texts: TypeAlias = tuple[Int32, StringTable]  # of a block: the number of each row's text, and the texts


class ReadMaps(NamedTuple):
    """The sections of the mappings; and their sets, in the form of the JSON part of a snapshot."""

    arrays: Mapping[str, npt.NDArray[Any]]
    sets: Sequence[tuple[str, str, str, str]]


def read_code_maps(file: SourceFile, reading: ReleaseReading) -> ReadMaps | None:
    """Read MRMAP; ``None`` if no row of it can be used.

    Raises:
        InputError: the file or a row of it is malformed.
        LimitExceeded: more sets or text than a snapshot can number.
    """

    def task(rows: Rows) -> tuple[list[_Texts], dict[str, int]]:
        kinds, texts = rows.interned(*_KIND)
        listed = np.array([text.partition(b"|")[0].decode() in TYPES for text in texts], dtype=np.bool_)
        empty = rows.spans[:, ::2] == rows.spans[:, 1::2]
        usable, left_out = np.ones(len(rows), dtype=np.bool_), {}
        for reason, mask in (
            ("no map set", empty[:, _SET[0]]),
            ("nothing mapped from", empty[:, _FROM[0]]),
            ("not mapped from a code or concept", ~listed[kinds]),
        ):
            left_out[reason] = int(np.count_nonzero(usable & mask))
            usable &= ~mask
        parts = []
        for columns in (_SET, _FROM, *_FIELDS):
            numbers, spans = rows.interned_spans(*columns, np.flatnonzero(usable).astype(np.int32))
            parts.append((numbers, StringTable(*interning.copied(rows.buffer, spans))))
        return parts, left_out

    scanner = reading.scanner(file, _COLUMNS, task)
    of_sets, of_origins, *of_fields = columns = [list[_Texts]() for _ in range(5)]
    for parts, left_out in scanner:
        for column, part in zip(columns, parts, strict=True):
            column.append(part)
        for reason, count in left_out.items():
            scanner.skip(reason, count)
    if not sum(len(numbers) for numbers, _ in of_sets):
        return None
    sets, set_texts = _distinct(of_sets)
    if len(set_texts) > _MOST_SETS:
        raise LimitExceeded(f"more than {_MOST_SETS:,} map sets in MRMAP. Leave them out: --no-codes")
    origins, mapped = _distinct(of_origins)
    fields, texts = _distinct([part for column in of_fields for part in column])
    order = ordered_texts(mapped)
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    by_origin = np.argsort(ranks[origins], kind="stable")
    starts = np.stack([mapped.offsets[:-1], mapped.offsets[1:]], axis=1)[order].astype(np.int32)
    arrays = (
        *interning.copied(mapped.blob, starts), bounds_of(np.bincount(origins)[order], np.int32),
        sets[by_origin].astype(np.uint16), np.ascontiguousarray(fields.reshape(len(_FIELDS), -1).T[by_origin]),
        texts.offsets, texts.blob,
    )  # fmt: skip
    return ReadMaps(
        dict(zip(CODE_MAPS, arrays, strict=True)), _with_vocabularies(set_texts.slice(0, len(set_texts)), file)
    )


def _distinct(blocks: Sequence[_Texts]) -> _Texts:
    """The texts of all blocks, each once, and the number of each row's text."""
    offsets = bounds_of(np.concatenate([np.diff(texts.offsets) for _, texts in blocks]))
    if offsets[-1] > LARGEST_POSITION:
        raise LimitExceeded(f"more than {LARGEST_POSITION:,} bytes of text in MRMAP. Leave it out: --no-codes")
    blob = np.concatenate([texts.blob for _, texts in blocks])
    spans = np.stack([offsets[:-1], offsets[1:]], axis=1).astype(np.int32)
    every = np.arange(len(spans), dtype=np.int32)
    common, extents = Rows(blob, spans, every, [], len(spans), 0).interned_spans(0, 0, every)
    starts = bounds_of([len(texts) for _, texts in blocks])[:-1].tolist()
    numbers = [common[start:][of_rows] for (of_rows, _), start in zip(blocks, starts, strict=True)]
    return np.concatenate(numbers), StringTable(*interning.copied(blob, extents))


def unknown_sources(maps: ReadMaps) -> str | None:
    """A warning if MRSAT does not say for every set which vocabulary it maps from."""
    if not (unknown := [cui for cui, _, source, _ in maps.sets if not source]):
        return None
    return (
        f"the vocabularies of map sets are not known: {len(unknown):,} of {len(maps.sets):,}, such as {unknown[0]}. "
        "Their mappings are found by codes of MAPSETSAB. An unpacked and sorted MRSAT.RRF beside MRMAP.RRF says them"
    )


def _with_vocabularies(sets: Iterable[str], file: SourceFile) -> list[tuple[str, str, str, str]]:
    """The sets with the vocabularies that they map from and to; empty where MRSAT does not say one."""
    pairs = [text.split("|") for text in sets]
    stated = _attributes({cui for cui, _ in pairs}, file.parts[0].path.with_name("MRSAT.RRF"))

    def first(cui: str, *names: bytes) -> str:
        return next((stated[cui][name].decode(errors="replace") for name in names if stated.get(cui, {}).get(name)), "")

    return [(cui, sab, first(cui, b"FROMRSAB"), first(cui, b"TORSAB", b"TOVSAB")) for cui, sab in pairs]


def _attributes(cuis: set[str], path: Path) -> dict[str, dict[bytes, bytes]]:
    """Attributes of concepts in a file sorted by concept, which is the largest of a release: searched, not read."""
    try:
        with path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            rows = {cui: [line.split(b"|") for line in _lines(data, f"{cui}|".encode())] for cui in cuis}
    except (OSError, ValueError):  # no such file, or an empty one
        return {}
    return {cui: {row[_ATTRIBUTE]: row[_VALUE] for row in of if len(row) > _VALUE} for cui, of in rows.items()}


def _lines(data: mmap.mmap, prefix: bytes) -> Iterator[bytes]:
    """The lines that begin with a text, of lines in the order of their bytes."""
    low, high = 0, len(data)
    while low < high:
        begin = max(low, data.rfind(b"\n", low, (low + high) // 2) + 1)
        if data[begin : begin + len(prefix)] < prefix:
            end = data.find(b"\n", begin)
            low = len(data) if end < 0 else end + 1
        else:
            high = begin
    while data[low : low + len(prefix)] == prefix:
        end = data.find(b"\n", low)
        end = len(data) if end < 0 else end
        yield data[low:end]
        low = end + 1
