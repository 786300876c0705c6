"""Files of a synthetic release, in the exact layout of RRF. Columns of numbers are rendered by compiled code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt64
from cuihop.snapshot.string_table import StringTable
from cuihop_tools.synthetic_release import SyntheticRows, random_numbers
from cuihop_tools.synthetic_rows import LANGUAGES, RELAS, RELS, SABS, SUPPRESS, TERM_TYPES, number, start_of


def _words(text: str) -> list[str]:
    return text.split()


_WORDS = _words(
    "acute chronic benign malignant primary secondary left right upper lower anterior posterior kidney liver lung "
    "heart brain bone skin nerve vein artery muscle joint tendon spleen pancreas disease disorder syndrome lesion "
    "neoplasm injury infection structure function procedure of with without due to"
)
_RARE_WORDS = _words('Sjögren Ménière Guillain-Barré café-au-lait β-cell 5′-nucleotidase "quoted" "open [D] 50%')
_TYPES = tuple((f"T{i:03d}", f"A1.{i}", f"Synthetic type {i}") for i in range(1, 128))
_ROWS_A_BLOCK = 100_000
_NAMES_A_PART = 1 << 22
_RELEASE = "2099AA"
_LONGEST_ROW = 512  # bytes, as long as no word or code has more than 32
_BAR, _SPACE, _LINE_FEED = 124, 32, 10


def write_files(folder: Path, rows: SyntheticRows, *, zstd: bool = False) -> None:
    """Write MRREL, MRCONSO, MRSTY, MRRANK, MRSAB and MRCUI into the folder, the large ones perhaps compressed."""
    for name, render in (("MRREL", _relations), ("MRCONSO", _names), ("MRSTY", _types), ("MRCUI", _history)):
        with _opened(folder / f"{name}.RRF", zstd=zstd) as file:
            render(file, rows)
    ranks = [
        f"{rank:04d}|{sab}|{term_type}|{suppress}|"
        for rank, (suppress, term_type, sab) in enumerate(
            ((s, t, v) for s in reversed(SUPPRESS) for t in reversed(TERM_TYPES) for v in SABS), start=1
        )
    ]
    (folder / "MRRANK.RRF").write_text("\n".join(reversed(ranks)), encoding="utf-8")  # UMLS ends it without line feed
    _vocabularies(folder / "MRSAB.RRF")


@contextlib.contextmanager
def _opened(path: Path, *, zstd: bool) -> Iterator[BinaryIO]:
    if not zstd:
        with path.open("wb") as file:
            yield file
        return
    import zstandard

    packed = zstandard.ZstdCompressor(level=1)
    with path.with_name(f"{path.name}.zst").open("wb") as file, packed.stream_writer(file, closefd=False) as compressed:
        yield cast("BinaryIO", compressed)


def _listed(*lists: Sequence[str]) -> tuple[StringTable, list[int]]:
    """The texts of all lists in one table, and the begin of each list in it."""
    starts = np.cumsum([0, *(len(texts) for texts in lists)]).tolist()
    return StringTable.of([text for texts in lists for text in texts]), starts


def _rendered(file: BinaryIO, rows: int, longest: int, render: Callable[..., int], columns: tuple[Any, ...]) -> None:
    out = np.empty(min(rows, _ROWS_A_BLOCK) * longest, dtype=np.uint8)
    for first in range(0, rows, _ROWS_A_BLOCK):
        size = render(out, first, min(first + _ROWS_A_BLOCK, rows), *columns)
        file.write(out[:size].data)


def _relations(file: BinaryIO, rows: SyntheticRows) -> None:
    texts, (_, rela, sab, suppress, *_) = _listed(RELS, RELAS, SABS, SUPPRESS)
    for part in rows.parts():
        columns = (
            part.first_row,
            part.numbers[part.cui1],
            part.numbers[part.cui2],
            rows.release.digits,
            part.rel,
            part.rela + np.uint8(rela),
            part.sab + np.uint8(sab),
            part.suppress + np.uint8(suppress),
            random_numbers(rows.release.seed, 20, len(part.rel), part.first_row),
            texts.blob.copy(),
            texts.offsets,
        )
        _rendered(file, len(part.rel), _LONGEST_ROW, _relation_rows, columns)


def _names(file: BinaryIO, rows: SyntheticRows) -> None:
    counts, first_row = _names_of_concepts(rows), 0
    size = max(1, _NAMES_A_PART * len(counts) // int(counts.sum()))
    for first in range(0, len(counts), size):
        first_row += _names_of_part(file, rows, first, counts[first : first + size], first_row)


def _names_of_concepts(rows: SyntheticRows) -> Int64:
    """Number of names of each concept: none of one in a thousand, and unequal shares of the rest."""
    concepts = rows.release.concepts
    requested = 5 * concepts if rows.release.names is None else rows.release.names
    random = random_numbers(rows.release.seed, 30, concepts)
    named = random % np.uint64(1000) != 0
    shares = ((random >> np.uint64(11)) % np.uint64(1024)).astype(np.int64) ** 3 >> 20
    del random
    upto = np.cumsum(np.where(named, shares + 1, 0))
    counts: Int64 = named + np.diff(upto * (requested - np.count_nonzero(named)) // upto[-1], prepend=0)
    return counts


def _names_of_part(file: BinaryIO, rows: SyntheticRows, first_concept: int, counts: Int64, first_row: int) -> int:
    """Write the names of some concepts; return their number."""
    seed = rows.release.seed
    concept = first_concept + np.repeat(np.arange(len(counts)), counts)
    begin = np.concatenate([[0], np.cumsum(counts)])[concept - first_concept]
    nth = np.arange(len(concept)) - begin
    random = random_numbers(seed, 31, len(concept), first_row)
    text = random_numbers(seed, 32, len(concept), first_row)
    repeats = (nth > 0) & (random % np.uint64(10) < 3)  # the same name in another vocabulary
    text[repeats] = text[np.flatnonzero(repeats) - 1]
    texts, (_, language, sab, term_type, suppress, *_) = _listed(
        [*_WORDS, *_RARE_WORDS], LANGUAGES, SABS, TERM_TYPES, SUPPRESS
    )
    preference = np.where(nth == 0, 7, (random >> np.uint64(8)) % np.uint64(7))
    first_english = (nth == 0) & (concept % 100 != 0)
    columns = (
        first_row,
        rows.numbers[concept],
        rows.release.digits,
        _column(np.where(first_english, 0, (random >> np.uint64(16)) % np.uint64(12) // np.uint64(5)), language),
        _column(preference, 0),
        _column((random >> np.uint64(24)) % np.uint64(len(SABS)), sab),
        _column(np.where(nth == 0, 0, (random >> np.uint64(32)) % np.uint64(len(TERM_TYPES))), term_type),
        _column(
            np.where((random >> np.uint64(40)) % np.uint64(6) == 0, 1 + (random >> np.uint64(50)) % np.uint64(3), 0),
            suppress,
        ),
        text,
        len(_WORDS),
        len(_RARE_WORDS),
        texts.blob.copy(),
        texts.offsets,
    )
    _rendered(file, len(concept), _LONGEST_ROW, _name_rows, columns)
    return len(concept)


def _column(values: npt.NDArray[np.generic], start: int) -> UInt8:
    return (values.astype(np.int64) + start).astype(np.uint8)


def _types(file: BinaryIO, rows: SyntheticRows) -> None:
    texts, _ = _listed(["|".join(kind) for kind in _TYPES])
    columns = rows.numbers, rows.release.digits, rows.release.seed, texts.blob.copy(), texts.offsets
    _rendered(file, len(rows.numbers), _LONGEST_ROW, _type_rows, columns)


def _vocabularies(path: Path) -> None:
    rows = []
    for i, sab in enumerate((*SABS, "MTH")):
        fields = [""] * 25
        fields[2:5] = [f"{sab}_2098", sab, f"Synthetic vocabulary {i}"]
        fields[6] = _RELEASE if sab == "MTH" else "2098"
        fields[9] = _RELEASE
        fields[19:23] = ["ENG", "UTF-8", "Y", "Y"]
        rows.append("|".join(fields) + "|\n")
    path.write_text("".join(rows), encoding="utf-8", newline="\n")


def _history(file: BinaryIO, rows: SyntheticRows) -> None:
    """Retired concepts, of numbers not in use: most merged, some deleted, some with other successors."""
    numbers = rows.numbers
    gaps = np.flatnonzero(np.diff(numbers) > 1)[: rows.release.concepts // 10]
    texts, _ = _listed(["SY", "SY", "SY", "SY", "DEL", "DEL", "RO", "RB", "RN", "SY"])
    columns = numbers, gaps, rows.release.digits, rows.release.seed, texts.blob.copy(), texts.offsets
    _rendered(file, len(gaps), _LONGEST_ROW, _history_rows, columns)


@compiled
def _number(out: UInt8, at: int, letter: int, number: int, digits: int) -> int:
    """Write a letter, the number with leading zeros, and a bar."""
    out[at] = letter
    for i in range(digits, 0, -1):
        out[at + i] = 48 + number % 10
        number //= 10
    out[at + digits + 1] = _BAR
    return at + digits + 2


@compiled
def _list_text(out: UInt8, at: int, blob: UInt8, offsets: Int64, which: int, end: int) -> int:
    """Write one text of a list, and the byte that ends it."""
    for i in range(offsets[which], offsets[which + 1]):
        out[at] = blob[i]
        at += 1
    out[at] = end
    return at + 1


@compiled
def _relation_rows(
    out: UInt8,
    first: int,
    last: int,
    first_row: int,
    cui1: Int32,
    cui2: Int32,
    digits: int,
    rel: UInt8,
    rela: UInt8,
    sab: UInt8,
    suppress: UInt8,
    random: UInt64,
    blob: UInt8,
    offsets: Int64,
) -> int:
    """Write rows ``first`` up to ``last`` of a part of MRREL; small columns index the list. Returns the bytes."""
    at = 0
    for row in range(first, last):
        r = random[row]
        with_atoms = r % np.uint64(20) != 0
        for side in range(2):
            cui = cui1[row] if side == 0 else cui2[row]
            at = _number(out, at, 67, cui, digits)
            if with_atoms:
                at = _number(out, at, 65, (int(cui) * 7 + side * int(r % np.uint64(5))) % 100_000_000, 8)
                out[at] = 65  # STYPE is AUI; CUI for rows without atoms
            else:
                out[at] = _BAR
                at += 1
                out[at] = 67
            out[at + 1] = 85
            out[at + 2] = 73
            out[at + 3] = _BAR
            at += 4
            at = _list_text(out, at, blob, offsets, rel[row] if side == 0 else rela[row], _BAR)
        at = _number(out, at, 82, first_row + row, 8)
        out[at] = _BAR  # SRUI
        at = _list_text(out, at + 1, blob, offsets, sab[row], _BAR)
        at = _list_text(out, at, blob, offsets, sab[row], _BAR)  # SL
        out[at] = _BAR  # RG
        at += 1
        if r & np.uint64(1 << 20):  # DIR
            out[at] = 89
            at += 1
        out[at] = _BAR
        at = _list_text(out, at + 1, blob, offsets, suppress[row], _BAR)
        out[at] = _BAR  # CVF
        out[at + 1] = _LINE_FEED
        at += 2
    return at


@compiled
def _name_rows(
    out: UInt8,
    first: int,
    last: int,
    first_row: int,
    cui: Int32,
    digits: int,
    language: UInt8,
    preference: UInt8,
    sab: UInt8,
    term_type: UInt8,
    suppress: UInt8,
    text: UInt64,
    words: int,
    rare_words: int,
    blob: UInt8,
    offsets: Int64,
) -> int:
    """Write rows ``first`` up to ``last`` of a part of MRCONSO into ``out``. Returns the bytes.

    ``preference``: bit 0 TS=P, bit 1 STT=PF, bit 2 ISPREF=Y. ``text``: seed of the words of the name; the list
    begins with words, and with rare words, of which every 32nd name has one.
    """
    at = 0
    for row in range(first, last):
        atom = (first_row + row) % 100_000_000
        at = _number(out, at, 67, cui[row], digits)
        at = _list_text(out, at, blob, offsets, language[row], _BAR)
        out[at] = 80 if preference[row] & 1 else 83
        out[at + 1] = _BAR
        at = _number(out, at + 2, 76, atom, 8)
        if preference[row] & 2:
            out[at] = 80
            out[at + 1] = 70
        else:
            out[at] = 86
            out[at + 1] = 79
        out[at + 2] = _BAR
        at = _number(out, at + 3, 83, atom, 8)
        out[at] = 89 if preference[row] & 4 else 78
        out[at + 1] = _BAR
        at = _number(out, at + 2, 65, atom, 8)
        out[at] = out[at + 1] = out[at + 2] = _BAR  # SAUI, SCUI, SDUI
        at = _list_text(out, at + 3, blob, offsets, sab[row], _BAR)
        at = _list_text(out, at, blob, offsets, term_type[row], _BAR)
        at = _number(out, at, 68, cui[row], digits)  # CODE: a concept has one in each vocabulary
        t = text[row]
        for k in range(2 + int(t % np.uint64(4))):
            at = _list_text(out, at, blob, offsets, int((t >> np.uint64(8 + 9 * k)) % np.uint64(words)), _SPACE)
        if (t >> np.uint64(2)) % np.uint64(32) == 0:
            at = _list_text(out, at, blob, offsets, words + int((t >> np.uint64(7)) % np.uint64(rare_words)), _SPACE)
        at = _number(out, at, 35, int(t >> np.uint64(48)), 5)
        out[at] = 48  # SRL
        out[at + 1] = _BAR
        at = _list_text(out, at + 2, blob, offsets, suppress[row], _BAR)
        out[at] = _BAR  # CVF
        out[at + 1] = _LINE_FEED
        at += 2
    return at


@compiled
def _type_rows(
    out: UInt8, first: int, last: int, numbers: Int32, digits: int, seed: int, blob: UInt8, offsets: Int64
) -> int:
    """Write the MRSTY rows of the concepts ``first`` up to ``last``, one or two each. Returns the bytes."""
    random = start_of(seed, 40)
    types = offsets.size - 1
    at = 0
    for concept in range(first, last):
        r = number(random, concept)
        one = int(r % np.uint64(types))
        other = int((r >> np.uint64(8)) % np.uint64(4 * types))
        for which in range(2):
            if which == 1 and (other >= types or other == one):
                break
            kind = one if other >= types else min(one, other) if which == 0 else max(one, other)
            at = _number(out, at, 67, numbers[concept], digits)
            at = _list_text(out, at, blob, offsets, kind, _BAR)
            out[at] = 65
            at = _number(out, at + 1, 84, numbers[concept], 8)
            out[at], out[at + 1], out[at + 2], out[at + 3], out[at + 4] = 50, 53, 54, _BAR, _LINE_FEED
            at += 5
    return at


@compiled
def _history_rows(
    out: UInt8, first: int, last: int, numbers: Int32, gaps: Int64, digits: int, seed: int, blob: UInt8,
    offsets: Int64,
) -> int:  # fmt: skip
    """Write MRCUI rows ``first`` up to ``last``: of each gap the number after its begin. Returns the bytes."""
    random = start_of(seed, 50)
    at = 0
    for row in range(first, last):
        r = number(random, row)
        kind = int(r % np.uint64(10))
        at = _number(out, at, 67, numbers[gaps[row]] + 1, digits)
        for byte in (50, 48, 57, 56, 65, 66, _BAR):  # 2098AB
            out[at] = byte
            at += 1
        at = _list_text(out, at, blob, offsets, kind, _BAR)
        out[at] = out[at + 1] = _BAR
        at += 2
        if 4 <= kind < 6:  # deleted
            out[at] = out[at + 1] = _BAR
            at += 2
        else:
            at = _number(out, at, 67, numbers[int((r >> np.uint64(8)) % np.uint64(numbers.size))], digits)
            out[at], out[at + 1] = 89, _BAR
            at += 2
        out[at] = _LINE_FEED
        at += 1
    return at
