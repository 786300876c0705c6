"""Search by name in a snapshot: with its index of names, or by a scan of all names where it has none.

The index finds names by prefix, and names by the prefixes of their words. Names are renumbered by merit: preferred
names before synonyms, short ones before long ones, then in the order of the concepts. Among names that match a text
equally well the lower number comes first, so a search takes numbers in ascending order and stops when it has enough.

Sections, all absent from snapshots written before cuihop had an index of names:

``merit_rows``     int32, shape (names,): by merit, the row of the name in the snapshot
``name_order``     int32, shape (names,): the names in the order of their folded texts, each by its merit
``word_offsets``   int64, shape (words + 1,), and ``word_blob``, uint8: the distinct words of folded names, ascending
``word_indptr``    int64, shape (words + 1,), and ``word_names``, int32: the names that have each word, by their merit
"""

from __future__ import annotations

import sys
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cuihop.errors import DamageWarning, SnapshotError
from cuihop.resources.cores import in_threads
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import NAME_INDEX
from cuihop.snapshot.string_table import StringTable, bounds_of, folded

__all__ = [
    "NAME_INDEX",
    "EveryName",
    "NameIndex",
    "NameSearch",
    "check_name_index",
    "name_index_sections",
    "name_search",
]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_AT_LEAST = 2048  # names examined together
_WIDER = 16  # growth of the range examined where the best names did not suffice


def name_index_sections(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Build the sections of the index from a snapshot's names.

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
    """Check that the names of a snapshot are numbered by merit, which checksums do not show.

    Raises:
        SnapshotError: they are not.
    """
    if not np.array_equal(sections["merit_rows"], _by_merit(sections["name_indptr"], sections["name_offsets"])):
        raise SnapshotError(f"{sections.origin}: section 'merit_rows' is not that of these names; the file is damaged")


def _by_merit(indptr: Int32, offsets: Int64) -> Int32:
    """Rows of all names, preferred ones first, then by length in bytes, then in their order."""
    rows = len(offsets) - 1
    keys = (np.diff(offsets).astype(np.uint64) << np.uint64(32)) | np.arange(rows, dtype=np.uint64)
    keys |= np.uint64(1 << 63)
    keys[indptr[:-1][np.diff(indptr) > 0]] &= np.uint64((1 << 63) - 1)
    keys.sort()
    return (keys & np.uint64(0xFFFFFFFF)).astype(np.int32)


def _ordered(rows: Int64, keys: Callable[[Int64, int], npt.NDArray[np.uint64]]) -> Int64:
    """Sort rows by their keys of level 0, equal ones by their keys of level 1, and so on.

    A key of 0 marks the end of a row; rows that are equal throughout stay in the order given.
    """
    at = np.arange(len(rows))  # positions of rows not yet sorted, in groups of equal ones
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
    """The strings of these rows, as a table."""
    lengths = np.diff(strings.offsets)[rows]
    offsets = bounds_of(lengths)
    places = np.arange(offsets[-1]) + np.repeat(strings.offsets[:-1][rows] - offsets[:-1], lengths)
    return StringTable(offsets, strings.blob[places])


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A read-only view of an array: mapped arrays are read-only, and code is compiled for that type alone."""
    view = array.view()
    view.flags.writeable = False
    return view


class NameIndex:
    """Search with the index.

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
        """See `NameSearch.best`."""
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
        """Compile the intersection of word lists."""
        from cuihop._kernels import name_index as kernels

        kernels.see(self._word_names[:1], 0, np.zeros(1, dtype=np.uint8))

    def prefixes(self, at_least: int) -> Iterator[str]:
        """Prefixes of words with at least this many matches, ascending; a name counts once for each of its words."""
        count = len(self._words)

        def below(prefix: str, low: int, high: int) -> Iterator[str]:
            """Longer prefixes among the words ``low`` up to ``high``, all of which begin with ``prefix``."""
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

    # Names that match a text, by their merit

    def _kinds(self, text: str) -> Iterator[list[Int32]]:
        """Names that match in each of the four ways, best way first, each as lists to be intersected."""
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
        """The first word of a range beyond those with the prefix."""
        return bisect_right(
            range(len(self._words)), prefix, lo=low, hi=high, key=lambda i: self._word(i)[: len(prefix)]
        )

    def _extent(self, word: bytes, *, whole: bool) -> tuple[int, int]:
        """Range in ``word_names`` of the names with the word or, unless ``whole``, with a word that begins with it."""
        low = bisect_left(range(len(self._words)), word, key=self._word)
        if whole:
            high = low + (low < len(self._words) and self._word(low) == word)
        else:
            high = self._first_beyond(word, low, len(self._words))
        return int(self._word_indptr[low]), int(self._word_indptr[high])


def _ascending(lists: Sequence[Int32], names: int, most: int) -> Iterator[Int32]:
    """Numbers common to all lists, ascending, in parts: where few are wanted, far fewer than all are examined.

    Args:
        lists: numbers below ``names``, in any order, perhaps repeated.
        names: exclusive upper bound of the numbers.
        most: approximate count wanted.
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
    """Numbers from ``low`` up to ``high`` that are in every list, ascending."""
    common = _between(lists[0], low, high)
    for numbers in lists[1:]:
        if len(common):
            common = _intersection(common, numbers, low, high)
    common = np.sort(common)
    distinct: Int32 = common[np.diff(common, prepend=-1) > 0]
    return distinct


def _intersection(some: Int32, numbers: Int32, low: int, high: int) -> Int32:
    """Intersection of two lists from ``low`` up to ``high``; compiled where numba is loaded anyway."""
    marks = np.zeros(high - low, dtype=np.uint8)
    marks[some - low] = 1
    if "numba" not in sys.modules:
        others = _between(numbers, low, high)
        both: Int32 = others[marks[others - low] == 1]
        return both
    from cuihop._kernels import name_index as kernels

    kernels.see(numbers, low, marks)
    seen: Int32 = some[marks[some - low] == 2]
    return seen


def _between(numbers: Int32, low: int, high: int) -> Int32:
    inside: Int32 = numbers[(numbers >= low) & (numbers < high)]
    return inside


_CONCEPTS_A_CALL = 1 << 18


class NameSearch(Protocol):
    """Search for the names that match a text best."""

    def best(self, text: str, most: int) -> list[tuple[int, int]]:
        """The best concepts, each with the row of its best matching name.

        Args:
            text: folded, not empty.
            most: the most concepts to return.
        """

    def warm_up(self) -> None:
        """Compile before the first search."""


def name_search(sections: Sections, *, thoroughly: bool = False) -> NameSearch:
    """The search of a snapshot; one of an early cuihop has no index of names.

    Where the index is damaged, a warning says so, and all names are scanned, with the same answers.

    Args:
        sections: of the snapshot.
        thoroughly: check more of the index than its checksums.
    """
    if not any(name in sections for name in NAME_INDEX):
        return EveryName(sections)
    try:
        for name in NAME_INDEX:
            sections[name]
        if thoroughly:
            check_name_index(sections)
    except SnapshotError as error:
        warnings.warn(f"{error}. It is not used; every name is read", DamageWarning, stacklevel=2)
        return EveryName(sections)
    return NameIndex(sections)


class EveryName:
    """Compiled scan of every name, about a tenth of a second for a million of them.

    Args:
        sections: of a snapshot.
    """

    def __init__(self, sections: Sections) -> None:
        self._sections = sections

    def warm_up(self) -> None:
        """See `NameSearch.warm_up`."""
        self.best("a", 1)

    def best(self, text: str, most: int) -> list[tuple[int, int]]:
        """See `NameSearch.best`."""
        from cuihop._kernels import names

        section = self._sections
        letters = text.encode()
        spaces = [-1, *(i for i, byte in enumerate(letters) if byte == ord(" ")), len(letters)]
        word_starts = np.array(spaces[:-1], dtype=np.int32) + 1
        word_ends = np.array(spaces[1:], dtype=np.int32)
        concepts = len(section["name_indptr"]) - 1
        scores = np.empty(concepts, dtype=np.uint8)
        rows = np.empty(concepts, dtype=np.int32)

        def answer(first: int) -> None:
            part = slice(first, first + _CONCEPTS_A_CALL)
            names.search(
                section["name_indptr"], section["name_offsets"], section["name_blob"],
                section["folded_rows"], section["folded_offsets"], section["folded_blob"],
                np.frombuffer(letters, dtype=np.uint8), word_starts, word_ends, first, scores[part], rows[part],
            )  # fmt: skip

        in_threads(answer, range(0, concepts, _CONCEPTS_A_CALL))
        found = np.flatnonzero(rows >= 0)
        lengths = np.diff(section["name_offsets"])[rows[found]]
        best = found[np.lexsort((found, lengths, scores[found]))[:most]]
        return list(zip(best.tolist(), rows[best].tolist(), strict=True))
