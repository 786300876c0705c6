"""Construction of the index of names, from a snapshot's names and edges. For its sections see `name_index`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.resources.arrays import Bool, Int32, Int64, UInt64, bounds_of, read_only
from cuihop.resources.cores import cores, in_threads
from cuihop.snapshot.file import Sections
from cuihop.snapshot.spelling import spelling_sections
from cuihop.snapshot.string_table import StringTable
from cuihop.snapshot.word_forms import STOP_WORDS, form_of

Arrays = Mapping[str, npt.NDArray[Any]] | Sections

_TIERS = (1 << 16, 1 << 20)
_MOST_ANCESTORS = 256  # of a concept, counted
_CONCEPTS_A_CALL = 1 << 16  # a compiled call cannot be interrupted
_MOST_THREADS = 4  # each has 16 bytes for each concept
_ROWS_A_SORT = 1 << 23


def tier_bounds(names: int) -> list[int]:
    """Bounds of the tiers, in names by merit: a search reads the lists of the first tier, and others only if it must.

    >>> tier_bounds(1000), tier_bounds(17_000_000)
    ([0, 1000], [0, 65536, 1048576, 17000000])
    """
    return [0, *(bound for bound in _TIERS if bound < names), names]


def name_index_sections(arrays: Arrays, descendants: Int32 | None = None) -> dict[str, npt.NDArray[Any]]:
    """Build the sections of the index from the sections ``name_…``, ``folded_…`` and ``up_…`` of a snapshot."""
    from cuihop._kernels import name_index as kernels

    merit = name_merits(arrays, descendants)
    texts = [arrays[name] for name in ("name_offsets", "name_blob", "folded_rows", "folded_offsets", "folded_blob")]
    begins, numbers, word_offsets, word_blob = kernels.words_of(*(read_only(array) for array in texts))
    order = ordered_texts(StringTable(word_offsets, word_blob))
    words = taken_texts(StringTable(word_offsets, word_blob), order)
    position = np.empty(len(words), dtype=np.int32)
    position[order] = np.arange(1, len(words) + 1, dtype=np.int32)
    for first in range(0, len(numbers), _ROWS_A_SORT):
        numbers[first : first + _ROWS_A_SORT] = position[numbers[first : first + _ROWS_A_SORT]]
    spelt = list(words.slice(0, len(words)))
    forms = [form_of(word) for word in spelt]
    by_form = ordered_texts(StringTable.of([f"{form} {word}" for form, word in zip(forms, spelt, strict=True)]))
    ordered = ["", *(forms[i] for i in by_form.tolist())]  # no form is empty
    starts = np.array([form != before for before, form in pairwise(ordered)], dtype=np.bool_)
    form_numbers = np.empty(len(words), dtype=np.int32)
    form_numbers[by_form] = np.cumsum(starts, dtype=np.int32)
    stops = np.array([word in STOP_WORDS for word in spelt], dtype=np.bool_)
    bounds = np.array(tier_bounds(len(merit)), dtype=np.int64)
    merit_of = np.empty(len(merit), dtype=np.int32)
    merit_of[merit] = np.arange(len(merit), dtype=np.int32)
    indptr, names = kernels.postings(begins, numbers, merit, merit_of, len(words), bounds)
    kernels.form_sets(begins, numbers, form_numbers, stops)
    return {
        "search_rows": merit,
        "search_keys": _by_key(begins, numbers, int(form_numbers.max(initial=0)), merit, merit_of),
        "search_word_offsets": words.offsets,
        "search_word_blob": words.blob,
        "search_forms": by_form.astype(np.int32),
        "search_indptr": indptr,
        "search_names": names,
        **_spellings(spelt, by_form, starts, indptr, len(bounds) - 1),
    }


def _spellings(
    words: list[str], by_form: Int32, starts: Bool, indptr: Int64, tiers: int
) -> dict[str, npt.NDArray[Any]]:
    """Sections of the spelling: the word of most names of each form."""
    counts = np.diff(indptr).reshape(tiers, len(words)).sum(axis=0)
    groups = np.cumsum(starts) - 1
    most = by_form[np.lexsort((-counts[by_form], groups))][starts]
    sections = spelling_sections([words[i] for i in most.tolist()], np.bincount(groups, weights=counts[by_form]))
    return {**sections, "spelling_words": most[sections["spelling_words"]].astype(np.int32)}


def _by_key(begins: Int64, forms: Int32, largest: int, merit: Int32, merit_of: Int32) -> Int32:
    """Names by their sorted distinct forms (see `form_sets`), then by merit, each as its merit."""
    from cuihop._kernels import name_index as kernels

    bits = max(1, largest.bit_length())
    each = 64 // bits

    def some_forms(rows: Int32, level: int) -> UInt64:
        if not level:  # read all names in their order
            return some_forms(np.arange(len(merit), dtype=np.int32), -1)[rows]
        keys = np.empty(len(rows), dtype=np.uint64)
        kernels.sequence_keys(begins, forms, rows, each * max(0, level), each, bits, keys)
        return keys

    # A space sorts before every letter, so keys sort as the lists of their forms do.
    return merit_of[_ordered(merit, some_forms)]


def counted_descendants(arrays: Arrays) -> Int32:
    """Descendants of each concept, int32, shape (concepts,).

    A concept counts for the nearest 256 of its ancestors: most have fewer in the hierarchies of vocabularies, and
    where all relations are taken, some have most of the graph above them.
    """
    from cuihop._kernels.csr import COUNT, count_descendants

    indptr, indices = read_only(arrays["up_indptr"]), read_only(arrays["up_indices"])
    concepts = len(indptr) - 1
    local, of_threads = threading.local(), []

    def count(first: int) -> None:
        if not hasattr(local, "records"):
            local.records = np.zeros((concepts, 4), dtype=np.int32)
            local.records[:, 0], local.records[:, 1], local.records[:, 2] = indptr[:-1], indptr[1:], -1
            of_threads.append(local.records)
        last = min(first + _CONCEPTS_A_CALL, concepts)
        count_descendants(indices, _MOST_ANCESTORS, first, last, local.records)

    in_threads(count, range(0, concepts, _CONCEPTS_A_CALL), min(_MOST_THREADS, cores()))
    total: Int32 = np.zeros(concepts, dtype=np.int32)
    for records in of_threads:
        total += records[:, COUNT]
    return total


def concept_weights(arrays: Arrays, descendants: Int32 | None = None) -> Int64:
    """Descendants of each concept in powers of two, int64, shape (concepts,).

    0 for none, 1 for one, 2 for two or three, 3 for four to seven, and so on: see `counted_descendants`.
    """
    counts = counted_descendants(arrays) if descendants is None else descendants
    weights: Int64 = np.ceil(np.log2(counts + 1.0)).astype(np.int64)
    return weights


def name_merits(arrays: Arrays, descendants: Int32 | None = None) -> Int32:
    """Rows of all names: preferred ones first, those of concepts with most descendants, short ones, then in order."""
    indptr, offsets = arrays["name_indptr"], arrays["name_offsets"]
    rows = len(offsets) - 1
    lightness = (31 - concept_weights(arrays, descendants)).astype(np.uint64) << np.uint64(56)
    keys = np.minimum(np.diff(offsets), (1 << 24) - 1).astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= np.repeat(lightness, np.diff(indptr))
    keys |= np.arange(rows, dtype=np.uint64)
    keys |= np.uint64(1 << 63)
    keys[indptr[:-1][np.diff(indptr) > 0]] &= np.uint64((1 << 63) - 1)
    keys.sort()
    keys &= np.uint64(0xFFFFFFFF)
    return keys.astype(np.int32)


def ordered_texts(texts: StringTable) -> Int32:
    """Positions of texts in the order of their bytes; equal ones in their own order."""
    from cuihop._kernels import name_index as kernels

    def letters(rows: Int32, level: int) -> UInt64:
        keys = np.empty(len(rows), dtype=np.uint64)
        kernels.letters(texts.offsets, read_only(texts.blob), rows, 8 * level, keys)
        return keys

    return _ordered(np.arange(len(texts), dtype=np.int32), letters)


def _ordered(rows: Int32, keys: Callable[[Int32, int], UInt64]) -> Int32:
    """Sort rows by their keys of level 0, equal ones by their keys of level 1, and so on.

    A key of 0 marks the end of a row; rows that are equal throughout stay in the order given. Many rows are sorted in
    ranges of their first key, one after the other, to bound memory.
    """
    if len(rows) <= _ROWS_A_SORT:
        return _sorted_range(rows, keys)
    first = keys(rows, 0)
    ranges = -(-len(rows) // _ROWS_A_SORT)
    sample = np.sort(first[:: max(1, len(rows) // (64 * ranges))])
    bounds = np.unique(sample[np.arange(1, ranges) * len(sample) // ranges])
    of_part = np.searchsorted(bounds, first, side="right").astype(np.int16)
    del first
    return np.concatenate(
        [_sorted_range(rows[of_part == range_number], keys) for range_number in range(len(bounds) + 1)]
    )


def _sorted_range(rows: Int32, keys: Callable[[Int32, int], UInt64]) -> Int32:
    from cuihop._kernels import name_index as kernels

    key = keys(rows, 0)
    by = np.argsort(key)  # many times faster than a stable sort
    key = key[by]
    kernels.sort_ties(key, by)
    rows = rows[by]
    del by
    at, group = _ties(key, key)
    level = 1
    while len(at):  # rows not yet sorted, in groups of equal ones
        here = rows[at]
        key = keys(here, level)
        by = np.lexsort((key, group))
        rows[at] = here[by]
        tied, group = _ties(key[by], group)
        at = at[tied]
        level += 1
    return rows


def _ties(key: UInt64, group: npt.NDArray[Any]) -> tuple[Int64, Int64]:
    """Positions of the keys that are equal within their group, but for 0, and the number of each one's new group."""
    first = np.r_[True, (key[1:] != key[:-1]) | (group[1:] != group[:-1])][: len(key)]
    tied = np.flatnonzero((~first | np.r_[~first[1:], False][: len(key)]) & (key != 0))
    return tied, np.cumsum(first)[tied]


def taken_texts(strings: StringTable, rows: Int32) -> StringTable:
    """The strings of these rows, as a table."""
    lengths = np.diff(strings.offsets)[rows]
    offsets = bounds_of(lengths)
    positions = np.arange(offsets[-1]) + np.repeat(strings.offsets[:-1][rows] - offsets[:-1], lengths)
    return StringTable(offsets, strings.blob[positions])
