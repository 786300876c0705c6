"""The index of names: which names begin so, and which have words that begin so, without reading all names.

Names are numbered anew by merit: preferred names before synonyms, short ones before long ones, then in the order of
the concepts. Among names that match a text equally well the one with the lower number comes first, so an answer is
found by looking for low numbers, and the search stops when it has enough.

Sections, all absent from snapshots that were made before there was an index:

``merit_rows``     int32, shape (names,): by merit, the row of the name in the snapshot
``name_order``     int32, shape (names,): the names in the order of their folded texts, each by its merit
``word_offsets``   int64, shape (words + 1,), and ``word_blob``, uint8: the distinct words of folded names, ascending
``word_indptr``    int64, shape (words + 1,), and ``word_names``, int32: the names that have each word, by their merit
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.errors import SnapshotError
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import NAME_INDEX
from cuihop.snapshot.string_table import StringTable, folded

__all__ = ["NAME_INDEX", "NameIndex", "check_name_index", "name_index_sections"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_AT_LEAST = 2048  # names that are looked at together
_WIDER = 16  # so many times more names are looked at where the best did not suffice


def name_index_sections(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The sections of the index, made of a snapshot's names.

    Args:
        arrays: the sections ``name_…`` and ``folded_…``.
    """
    from cuihop._kernels import name_index as kernels

    offsets: Int64 = arrays["name_offsets"]
    merit = _by_merit(arrays["name_indptr"], offsets)
    texts = [arrays[name] for name in ("name_offsets", "name_blob", "folded_rows", "folded_offsets", "folded_blob")]
    begins, numbers, word_offsets, word_blob = kernels.words_of(*(_read_only(array) for array in texts))
    words = len(word_offsets) - 1

    def letters(rows: Int64, level: int) -> npt.NDArray[np.uint64]:
        keys = np.empty(len(rows), dtype=np.uint64)
        kernels.letters(word_offsets, word_blob, rows, 8 * level, keys)
        return keys

    order = _ordered(np.arange(words), letters)
    sorted_words = _taken(StringTable(word_offsets, word_blob), order)
    place = np.empty(words, dtype=np.int32)
    place[order] = np.arange(1, words + 1, dtype=np.int32)
    numbers = place[numbers]
    bits = max(1, words.bit_length())
    each = 64 // bits

    def some_words(rows: Int64, level: int) -> npt.NDArray[np.uint64]:
        keys = np.empty(len(rows), dtype=np.uint64)
        kernels.sequence_keys(begins, numbers, rows, each * level, each, bits, keys)
        return keys

    # A space sorts before every letter, so folded texts sort as the lists of their words do.
    by_text = _ordered(merit.astype(np.int64), some_words)
    merit_of = np.empty(len(merit), dtype=np.int32)
    merit_of[merit] = np.arange(len(merit), dtype=np.int32)
    indptr, names = kernels.postings(begins, numbers, merit, words)
    return {
        "merit_rows": merit,
        "name_order": merit_of[by_text],
        "word_offsets": sorted_words.offsets,
        "word_blob": sorted_words.blob,
        "word_indptr": indptr,
        "word_names": names,
    }


def check_name_index(sections: Sections) -> None:
    """Check that the names of a snapshot are numbered by merit, which the checksums do not tell.

    Raises:
        SnapshotError: they are not.
    """
    if not np.array_equal(sections["merit_rows"], _by_merit(sections["name_indptr"], sections["name_offsets"])):
        raise SnapshotError(f"{sections.origin}: section 'merit_rows' is not that of these names; the file is damaged")


def _by_merit(indptr: Int32, offsets: Int64) -> Int32:
    """The rows of all names, preferred ones first, then by length in bytes, then as they stand."""
    rows = len(offsets) - 1
    keys = (np.diff(offsets).astype(np.uint64) << np.uint64(32)) | np.arange(rows, dtype=np.uint64)
    keys |= np.uint64(1 << 63)
    keys[indptr[:-1][np.diff(indptr) > 0]] &= np.uint64((1 << 63) - 1)
    keys.sort()
    return (keys & np.uint64(0xFFFFFFFF)).astype(np.int32)


def _ordered(rows: Int64, keys: Callable[[Int64, int], npt.NDArray[np.uint64]]) -> Int64:
    """The rows by their keys of level 0, those that are equal by their keys of level 1, and so on.

    A key of 0 says that the row has no more; rows that are equal throughout stay in the order given.
    """
    at = np.arange(len(rows))  # the places where rows are still to be put into order, in groups of equal ones
    group = np.zeros(len(rows), dtype=np.int64)
    level = 0
    rows = rows.copy()
    while len(at):
        here = rows[at]
        key = keys(here, level)
        by = np.lexsort((key, group)) if level else np.argsort(key, kind="stable")
        rows[at] = here[by]
        key = key[by]
        first = np.r_[True, (key[1:] != key[:-1]) | (group[1:] != group[:-1])]
        equal = (~first | np.r_[~first[1:], False]) & (key != 0)
        group = np.cumsum(first)[equal]
        at = at[equal]
        level += 1
    return rows


def _taken(strings: StringTable, rows: Int64) -> StringTable:
    """The strings of these rows."""
    lengths = np.diff(strings.offsets)[rows]
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    places = np.arange(offsets[-1]) + np.repeat(strings.offsets[:-1][rows] - offsets[:-1], lengths)
    return StringTable(offsets, strings.blob[places])


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as one that cannot be written to, as mapped ones are: code is compiled for one kind only."""
    view = array.view()
    view.flags.writeable = False
    return view


class NameIndex:
    """Finds the best names of a text.

    Args:
        sections: of a snapshot that holds the index.
    """

    def __init__(self, sections: Sections) -> None:
        self._names = StringTable(sections["name_offsets"], sections["name_blob"])
        self._indptr: Int32 = sections["name_indptr"]
        self._merit_rows: Int32 = sections["merit_rows"]
        self._order: Int32 = sections["name_order"]
        self._words = StringTable(sections["word_offsets"], sections["word_blob"])
        self._word_indptr: Int64 = sections["word_indptr"]
        self._word_names: Int32 = sections["word_names"]

    def best(self, text: str, most: int) -> list[tuple[int, int]]:
        """The best concepts, at most so many, each with the row of the name that matches best.

        Args:
            text: folded, not empty.
            most: the most concepts wanted.
        """
        found: dict[int, int] = {}
        for kind in self._kinds(text):
            for merits in _ascending(kind, len(self._merit_rows), most):
                rows = self._merit_rows[merits]
                concepts = np.searchsorted(self._indptr, rows, side="right") - 1
                for concept, row in zip(concepts.tolist(), rows.tolist(), strict=True):
                    if len(found) == most:
                        return list(found.items())
                    found.setdefault(concept, row)
        return list(found.items())

    def warm_up(self) -> None:
        """Have what cuts the lists of several words compiled."""
        from cuihop._kernels import name_index as kernels

        kernels.see(self._word_names[:1], 0, np.zeros(1, dtype=np.uint8))

    def prefixes(self, at_least: int) -> Iterator[str]:
        """The beginnings of words that so many names have, counted once for each word of theirs, ascending."""
        count = len(self._words)

        def below(prefix: str, low: int, high: int) -> Iterator[str]:
            """Those that begin with the prefix, which the words ``low`` up to ``high`` do."""
            at = low
            while at < high:
                word = self._words[at]
                if len(word) == len(prefix):  # the prefix itself
                    at += 1
                    continue
                longer = word[: len(prefix) + 1]
                end = self._first_beyond(longer.encode(), at, high)
                if self._word_indptr[end] - self._word_indptr[at] >= at_least:
                    yield longer
                    yield from below(longer, at, end)
                at = end

        return below("", 0, count)

    # What matches a text: names by their merit

    def _kinds(self, text: str) -> Iterator[list[Int32]]:
        """The names that match in each of the four ways, best way first, each as lists to be cut with one another."""
        wanted = text.encode()
        low = bisect_left(range(len(self._order)), wanted, key=self._folded_name)
        high = bisect_right(range(len(self._order)), wanted, lo=low, key=self._folded_name)
        beyond = bisect_right(
            range(len(self._order)), wanted, lo=low, key=lambda i: self._folded_name(i)[: len(wanted)]
        )
        yield [self._order[low:high]]
        yield [self._order[high:beyond]]
        words = sorted(set(text.split(" ")))
        yield [self._word_names[slice(*self._extent(word.encode(), whole=True))] for word in words]
        yield [self._word_names[slice(*self._extent(word.encode(), whole=False))] for word in words]

    def _folded_name(self, at: int) -> bytes:
        return folded(self._names[int(self._merit_rows[self._order[at]])]).encode()

    def _word(self, at: int) -> bytes:
        return self._words.blob[self._words.offsets[at] : self._words.offsets[at + 1]].tobytes()

    def _first_beyond(self, prefix: bytes, low: int, high: int) -> int:
        """The first word of a range that does not begin so; before it all do."""
        return bisect_right(
            range(len(self._words)), prefix, lo=low, hi=high, key=lambda i: self._word(i)[: len(prefix)]
        )

    def _extent(self, word: bytes, *, whole: bool) -> tuple[int, int]:
        """Where the names lie that have the word, or one that begins so."""
        low = bisect_left(range(len(self._words)), word, key=self._word)
        if whole:
            high = low + (low < len(self._words) and self._word(low) == word)
        else:
            high = self._first_beyond(word, low, len(self._words))
        return int(self._word_indptr[low]), int(self._word_indptr[high])


def _ascending(lists: Sequence[Int32], names: int, most: int) -> Iterator[Int32]:
    """The numbers that are in every list, ascending, in parts: far fewer than all are looked at where few are wanted.

    Args:
        lists: numbers below ``names``, in any order, perhaps repeated.
        names: how many numbers there are.
        most: how many are wanted, about.
    """
    lists = sorted(lists, key=len)
    shortest = len(lists[0])
    if not shortest:
        return
    width = max(_AT_LEAST, 8 * most)
    low = 0
    while low < names:
        # Numbers are spread evenly enough: below `high` there are about `width` of the shortest list.
        high = names if width >= shortest else min(names, max(low + 1, names * width // shortest))
        yield _in_all(lists, low, high)
        low = high
        width *= _WIDER


def _in_all(lists: Sequence[Int32], low: int, high: int) -> Int32:
    """The numbers from ``low`` up to ``high`` that are in every list, ascending."""
    kept = _between(lists[0], low, high)
    for numbers in lists[1:]:
        if len(kept):
            kept = _also_in(kept, numbers, low, high)
    kept = np.sort(kept)
    distinct: Int32 = kept[np.diff(kept, prepend=-1) > 0]
    return distinct


def _also_in(kept: Int32, numbers: Int32, low: int, high: int) -> Int32:
    """Those of the numbers that are among the others, too; compiled where numba is loaded anyway."""
    marks = np.zeros(high - low, dtype=np.uint8)
    marks[kept - low] = 1
    if "numba" not in sys.modules:
        others = _between(numbers, low, high)
        both: Int32 = others[marks[others - low] == 1]
        return both
    from cuihop._kernels import name_index as kernels

    kernels.see(numbers, low, marks)
    seen: Int32 = kept[marks[kept - low] == 2]
    return seen


def _between(numbers: Int32, low: int, high: int) -> Int32:
    inside: Int32 = numbers[(numbers >= low) & (numbers < high)]
    return inside
