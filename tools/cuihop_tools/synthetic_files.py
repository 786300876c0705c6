"""Files of a synthetic release, in the exact layout of RRF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

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


def _rendered(path: Path, rows: int, longest: int, render: Callable[[npt.NDArray[np.uint8], int, int], int]) -> None:
    out = np.empty(_ROWS_A_BLOCK * longest, dtype=np.uint8)
    with path.open("wb") as file:
        for first in range(0, rows, _ROWS_A_BLOCK):
            size = render(out, first, min(first + _ROWS_A_BLOCK, rows))
            file.write(out[:size].data)


def _relations(path: Path, tables: SyntheticTables) -> None:
    from cuihop_tools.rendering import LONGEST_ROW, relation_rows

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
    _rendered(path, len(tables.rel), LONGEST_ROW, lambda out, first, last: relation_rows(out, first, last, *columns))


def _names(path: Path, tables: SyntheticTables) -> None:
    from cuihop_tools.rendering import LONGEST_ROW, name_rows

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
    _rendered(path, len(concept), LONGEST_ROW, lambda out, first, last: name_rows(out, first, last, *columns))


def _column(values: npt.NDArray[np.generic], start: int) -> npt.NDArray[np.uint8]:
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
