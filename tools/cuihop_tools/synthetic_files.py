"""Files of a synthetic release, in the exact layout of RRF. Columns of numbers are rendered by compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled
from cuihop.snapshot.string_table import StringTable
from cuihop_tools.synthetic_release import (
    LANGUAGES,
    RELAS,
    RELS,
    SABS,
    SUPPRESS,
    TERM_TYPES,
    SyntheticTables,
    random_numbers,
)

__all__ = ["write_files"]

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]


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
_RELEASE = "2099AA"
_LONGEST_ROW = 512  # bytes, as long as no word or code has more than 32
_BAR, _SPACE, _LINE_FEED = 124, 32, 10


def write_files(folder: Path, tables: SyntheticTables) -> None:
    """Write MRREL, MRCONSO, MRSTY, MRRANK, MRSAB and MRCUI into the folder."""
    _relations(folder / "MRREL.RRF", tables)
    _names(folder / "MRCONSO.RRF", tables)
    _types(folder / "MRSTY.RRF", tables)
    ranks = [
        f"{rank:04d}|{sab}|{term_type}|{suppress}|"
        for rank, (suppress, term_type, sab) in enumerate(
            ((s, t, v) for s in reversed(SUPPRESS) for t in reversed(TERM_TYPES) for v in SABS), start=1
        )
    ]
    (folder / "MRRANK.RRF").write_text("\n".join(reversed(ranks)), encoding="utf-8")  # UMLS ends it without line feed
    _vocabularies(folder / "MRSAB.RRF")
    _history(folder / "MRCUI.RRF", tables)


def _listed(*lists: Sequence[str]) -> tuple[StringTable, list[int]]:
    """The texts of all lists in one table, and the begin of each list in it."""
    starts = np.cumsum([0, *(len(texts) for texts in lists)]).tolist()
    return StringTable.of([text for texts in lists for text in texts]), starts


def _rendered(path: Path, rows: int, longest: int, render: Callable[[UInt8, int, int], int]) -> None:
    out = np.empty(_ROWS_A_BLOCK * longest, dtype=np.uint8)
    with path.open("wb") as file:
        for first in range(0, rows, _ROWS_A_BLOCK):
            size = render(out, first, min(first + _ROWS_A_BLOCK, rows))
            file.write(out[:size].data)


def _relations(path: Path, tables: SyntheticTables) -> None:
    texts, (_, rela, sab, suppress, *_) = _listed(RELS, RELAS, SABS, SUPPRESS)
    columns = (
        tables.numbers[tables.cui1],
        tables.numbers[tables.cui2],
        tables.rel,
        tables.rela + np.uint8(rela),
        tables.sab + np.uint8(sab),
        tables.suppress + np.uint8(suppress),
        random_numbers(tables.release.seed, 20, len(tables.rel)),
        texts.blob.copy(),
        texts.offsets,
    )
    _rendered(path, len(tables.rel), _LONGEST_ROW, lambda out, first, last: _relation_rows(out, first, last, *columns))


def _names(path: Path, tables: SyntheticTables) -> None:
    concepts, seed = tables.release.concepts, tables.release.seed
    wanted = 5 * concepts if tables.release.names is None else tables.release.names
    random = random_numbers(seed, 30, concepts)
    # One concept in a thousand has no name; each of the others has one, and an unequal share of the rest.
    named = random % np.uint64(1000) != 0
    shares = ((random >> np.uint64(11)) % np.uint64(1024)).astype(np.int64) ** 3 >> 20
    upto = np.cumsum(np.where(named, shares + 1, 0))
    counts = named + np.diff(upto * (wanted - np.count_nonzero(named)) // upto[-1], prepend=0)
    concept = np.repeat(np.arange(concepts), counts)
    begin = np.concatenate([[0], np.cumsum(counts)])[concept]
    nth = np.arange(len(concept)) - begin
    random = random_numbers(seed, 31, len(concept))
    text = random_numbers(seed, 32, len(concept))
    repeats = (nth > 0) & (random % np.uint64(10) < 3)  # the same name in another vocabulary
    text[repeats] = text[np.flatnonzero(repeats) - 1]
    texts, (_, language, sab, term_type, suppress, *_) = _listed(
        [*_WORDS, *_RARE_WORDS], LANGUAGES, SABS, TERM_TYPES, SUPPRESS
    )
    preference = np.where(nth == 0, 7, (random >> np.uint64(8)) % np.uint64(7))
    first_english = (nth == 0) & (concept % 100 != 0)
    columns = (
        tables.numbers[concept],
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
    _rendered(path, len(concept), _LONGEST_ROW, lambda out, first, last: _name_rows(out, first, last, *columns))


def _column(values: npt.NDArray[np.generic], start: int) -> UInt8:
    return (values.astype(np.int64) + start).astype(np.uint8)


def _types(path: Path, tables: SyntheticTables) -> None:
    random = random_numbers(tables.release.seed, 40, tables.release.concepts)
    first = (random % np.uint64(len(_TYPES))).tolist()
    second = ((random >> np.uint64(8)) % np.uint64(4 * len(_TYPES))).tolist()
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for number, a, b in zip(tables.numbers.tolist(), first, second, strict=True):
            for which in sorted({a, b} if b < len(_TYPES) else {a}):
                file.write(f"C{number:07d}|{'|'.join(_TYPES[which])}|AT{number:08d}|256|\n")


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


def _history(path: Path, tables: SyntheticTables) -> None:
    """Retired concepts, of numbers not in use: most merged, some deleted, some with other successors."""
    numbers = tables.numbers
    gaps = np.flatnonzero(np.diff(numbers) > 1)[: tables.release.concepts // 10]
    random = random_numbers(tables.release.seed, 50, len(gaps))
    relations = np.array(["SY", "SY", "SY", "SY", "DEL", "DEL", "RO", "RB", "RN", "SY"])
    kinds = relations[(random % np.uint64(10)).astype(np.int64)]
    successors = numbers[((random >> np.uint64(8)) % np.uint64(len(numbers))).astype(np.int64)]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for old, kind, new in zip((numbers[gaps] + 1).tolist(), kinds.tolist(), successors.tolist(), strict=True):
            successor = ("", "") if kind == "DEL" else (f"C{new:07d}", "Y")
            file.write(f"C{old:07d}|2098AB|{kind}|||{successor[0]}|{successor[1]}|\n")


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
    cui1: Int32,
    cui2: Int32,
    rel: UInt8,
    rela: UInt8,
    sab: UInt8,
    suppress: UInt8,
    random: UInt64,
    blob: UInt8,
    offsets: Int64,
) -> int:
    """Write MRREL rows ``first`` up to ``last`` into ``out``; small columns index the list. Returns the bytes."""
    at = 0
    for row in range(first, last):
        r = random[row]
        with_atoms = r % np.uint64(20) != 0
        for side in range(2):
            cui = cui1[row] if side == 0 else cui2[row]
            at = _number(out, at, 67, cui, 7)
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
        at = _number(out, at, 82, row, 8)
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
    cui: Int32,
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
    """Write MRCONSO rows ``first`` up to ``last`` into ``out``. Returns the bytes.

    ``preference``: bit 0 TS=P, bit 1 STT=PF, bit 2 ISPREF=Y. ``text``: seed of the words of the name; the list
    begins with words, and with rare words, of which every 32nd name has one.
    """
    at = 0
    for row in range(first, last):
        at = _number(out, at, 67, cui[row], 7)
        at = _list_text(out, at, blob, offsets, language[row], _BAR)
        out[at] = 80 if preference[row] & 1 else 83
        out[at + 1] = _BAR
        at = _number(out, at + 2, 76, row % 100_000_000, 8)
        if preference[row] & 2:
            out[at] = 80
            out[at + 1] = 70
        else:
            out[at] = 86
            out[at + 1] = 79
        out[at + 2] = _BAR
        at = _number(out, at + 3, 83, row % 100_000_000, 8)
        out[at] = 89 if preference[row] & 4 else 78
        out[at + 1] = _BAR
        at = _number(out, at + 2, 65, row % 100_000_000, 8)
        out[at] = out[at + 1] = out[at + 2] = _BAR  # SAUI, SCUI, SDUI
        at = _list_text(out, at + 3, blob, offsets, sab[row], _BAR)
        at = _list_text(out, at, blob, offsets, term_type[row], _BAR)
        at = _number(out, at, 68, row % 1_000_000, 6)
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
