"""Parts of an index of names: the words of every name, numbered, and the names of every word."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled, prefetch
from cuihop.resources.arrays import Bool, Int32, Int64, UInt8, UInt64

_FIRST_TABLE = 1 << 12
_FIRST_TEXT = 1 << 14
_MIX = np.uint64(0x9E3779B97F4A7C15)
_AHEAD = 16  # names ahead, at which words are fetched
_BITS = 32  # of a filter for each candidate
_SEARCHED = 32  # a list this many times as long as the candidates is searched for each of them


def _folding() -> UInt8:
    """For each byte, itself in lower case where it belongs to a word, and 0 where it separates words."""
    fold = np.zeros(256, dtype=np.uint8)
    for byte in range(256):
        if byte >= 128 or chr(byte).isalnum():
            fold[byte] = ord(chr(byte).lower()) if byte < 128 else byte
    return fold


FOLD = _folding()


@compiled
def words_of(
    offsets: Int64, blob: UInt8, folded_rows: Int32, folded_offsets: Int64, folded_blob: UInt8
) -> tuple[Int64, Int32, Int64, UInt8]:
    """Split every name into words. Names with letters beyond ASCII are read in their folded form.

    Returns:
        offsets of each name's words in the next array, int64, shape (names + 1,); the number of each word, by first
        occurrence; offsets of each word's text, int64, shape (words + 1,); the texts.
    """
    names = offsets.size - 1
    begins = np.empty(names + 1, dtype=np.int64)
    begins[0] = 0
    # A word has a letter at least, and something between it and the next. Unused memory is never touched.
    numbers = np.empty((blob.size + folded_blob.size + names) // 2 + 1, dtype=np.int32)
    table = np.zeros((_FIRST_TABLE, 2), dtype=np.uint64)
    starts = np.zeros(_FIRST_TABLE, dtype=np.int64)
    texts = np.empty(_FIRST_TEXT, dtype=np.uint8)
    words, row, f = 0, 0, 0
    while row < names:
        words, row, f = _some_words(
            offsets, blob, folded_rows, folded_offsets, folded_blob, begins, numbers, table, starts, texts,
            words, row, f,
        )  # fmt: skip
        if row < names:
            begin, end = offsets[row], offsets[row + 1]
            if f < folded_rows.size and folded_rows[f] == row:
                begin, end = folded_offsets[f], folded_offsets[f + 1]
            while 2 * (words + end - begin + 2) > table.shape[0]:
                table = _twice(table)
            more_starts = np.empty(table.shape[0], dtype=np.int64)
            more_starts[: words + 1] = starts[: words + 1]
            starts = more_starts
            more = np.empty(2 * texts.size + end - begin, dtype=np.uint8)
            more[: starts[words]] = texts[: starts[words]]
            texts = more
    return begins, numbers[: begins[names]], starts[: words + 1].copy(), texts[: starts[words]].copy()


@compiled
def _some_words(
    offsets: Int64, blob: UInt8, folded_rows: Int32, folded_offsets: Int64, folded_blob: UInt8,
    begins: Int64, numbers: Int32, table: UInt64, starts: Int64, texts: UInt8, words: int, row: int, f: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Split names from ``row`` on, up to one whose words may not fit into the tables.

    Apart from `words_of`, because a loop that may replace an array counts its references at each step.
    """
    while row < offsets.size - 1:
        count = begins[row]
        if f < folded_rows.size and folded_rows[f] == row:
            begin, end = folded_offsets[f], folded_offsets[f + 1]
            if 2 * (words + end - begin + 2) > table.shape[0] or starts[words] + end - begin > texts.size:
                break
            words, count = _split(folded_blob, begin, end, numbers, table, starts, texts, words, count)
            f += 1
        else:
            begin, end = offsets[row], offsets[row + 1]
            if 2 * (words + end - begin + 2) > table.shape[0] or starts[words] + end - begin > texts.size:
                break
            words, count = _split(blob, begin, end, numbers, table, starts, texts, words, count)
        row += 1
        begins[row] = count
    return words, row, f


@compiled
def _split(
    blob: UInt8, i: int, end: int, numbers: Int32, table: UInt64, starts: Int64, texts: UInt8, words: int, count: int
) -> tuple[int, int]:
    """Number the words of one name; new ones are entered.

    ``table``, shape (slots, 2): letters of a word of up to 8 bytes, or a hash of a longer one; and twice its number
    from 1 on, plus 1 for a longer one; 0 is empty.
    """
    while True:
        while i < end and FOLD[blob[i]] == 0:
            i += 1
        if i >= end:
            return words, count
        begin = i
        key, before = np.uint64(0), np.uint64(0)
        while i < end:
            byte = FOLD[blob[i]]
            if byte == 0:
                break
            if (i - begin) & 7 == 0:
                before = (before ^ key) * _MIX
                before ^= before >> np.uint64(32)
                key = np.uint64(0)
            key = (key << np.uint64(8)) | np.uint64(byte)
            i += 1
        long = np.uint64(i - begin > 8)
        if long:
            key = (before ^ key) * _MIX
        slot = _slot(key, table)
        while table[slot, 1] != 0:
            if table[slot, 0] == key and table[slot, 1] & np.uint64(1) == long:
                if not long:
                    break
                other = np.int64(table[slot, 1] >> np.uint64(1)) - 1
                k = 0
                while k < i - begin and starts[other] + k < starts[other + 1]:
                    if texts[starts[other] + k] != FOLD[blob[begin + k]]:
                        break
                    k += 1
                if k == i - begin and starts[other] + k == starts[other + 1]:
                    break
            slot = (slot + 1) & (table.shape[0] - 1)
        if table[slot, 1] == 0:
            for k in range(i - begin):
                texts[starts[words] + k] = FOLD[blob[begin + k]]
            starts[words + 1] = starts[words] + i - begin
            words += 1
            table[slot, 0] = key
            table[slot, 1] = np.uint64(2 * words) | long
        numbers[count] = np.int64(table[slot, 1] >> np.uint64(1)) - 1
        count += 1


@compiled
def _slot(key: np.uint64, table: UInt64) -> np.int64:
    return np.int64((key * _MIX) >> np.uint64(32)) & np.int64(table.shape[0] - 1)


@compiled
def _twice(table: UInt64) -> UInt64:
    """The table of words with twice the capacity."""
    new = np.zeros((2 * table.shape[0], 2), dtype=np.uint64)
    for old in range(table.shape[0]):
        if table[old, 1] != 0:
            slot = _slot(table[old, 0], new)
            while new[slot, 1] != 0:
                slot = (slot + 1) & (new.shape[0] - 1)
            new[slot] = table[old]
    return new


@compiled
def sort_ties(keys: UInt64, order: Int64) -> None:
    """Sort the numbers in ``order`` that have equal keys, which ascend."""
    begin = 0
    for end in range(1, keys.size + 1):
        if end < keys.size and keys[end] == keys[begin]:
            continue
        if end - begin > 1:
            order[begin:end].sort()
        begin = end


@compiled
def letters(offsets: Int64, blob: UInt8, rows: Int32, first: int, keys: UInt64) -> None:
    """Eight bytes of each string, from byte ``first`` on, as one number that sorts as they do; 0 beyond the end."""
    for i in range(rows.size):
        begin = offsets[rows[i]] + first
        end = offsets[rows[i] + 1]
        key = np.uint64(0)
        for k in range(begin, begin + 8):
            key = (key << np.uint64(8)) | np.uint64(blob[k] if k < end else 0)
        keys[i] = key


@compiled
def sequence_keys(begins: Int64, numbers: Int32, rows: Int32, first: int, each: int, bits: int, keys: UInt64) -> None:
    """Some words of each name, ``each`` of them from word ``first`` on, as one number that sorts as they do.

    ``numbers`` are those of the words in sorted order, from 1 on; 0 means no more words. A number has ``bits`` bits.
    """
    for i in range(rows.size):
        _fetch(begins, numbers, rows, i)
        begin = begins[rows[i]] + first
        end = begins[rows[i] + 1]
        key = np.uint64(0)
        for k in range(begin, begin + each):
            key = (key << np.uint64(bits)) | np.uint64(numbers[k] if k < end else 0)
        keys[i] = key


@compiled
def form_sets(begins: Int64, numbers: Int32, forms: Int32, stops: Bool) -> int:
    """The distinct forms of each name, ascending; without stop words, if any other word is left. In place.

    Returns the number of forms of all names.

    Args:
        begins: offsets of each name's words in the next array; afterwards, of its forms.
        numbers: number of each word, from 1 on; afterwards, of each form.
        forms: number of the form of each word, from 1 on. stops: true for a stop word.
    """
    filled = 0
    low = begins[0]
    for name in range(begins.size - 1):
        high = begins[name + 1]
        all_stop = True
        for k in range(low, high):
            all_stop &= stops[numbers[k] - 1]
        first = filled
        for k in range(low, high):
            word = numbers[k] - 1
            if stops[word] and not all_stop:
                continue
            form = forms[word]
            i = filled
            while i > first and numbers[i - 1] > form:
                i -= 1
            if i > first and numbers[i - 1] == form:
                continue
            for m in range(filled, i, -1):
                numbers[m] = numbers[m - 1]
            numbers[i] = form
            filled += 1
        begins[name + 1] = filled
        low = high
    return filled


@compiled
def _fetch(begins: Int64, numbers: Int32, rows: Int32, i: int) -> None:
    """Fetch the words of a name some rows after row ``i``, and where those of a later one begin."""
    if i + 2 * _AHEAD < rows.size:
        prefetch(begins, rows[i + 2 * _AHEAD])
        prefetch(numbers, begins[rows[i + _AHEAD]])


@compiled
def postings(
    begins: Int64, numbers: Int32, rows: Int32, positions: Int32, words: int, bounds: Int64
) -> tuple[Int64, Int32]:
    """The names of each word in each tier, by their positions in ``rows``, ascending, each once.

    Args:
        begins, numbers: the words of each name, numbered from 1 on. positions: of each name in ``rows``.
        bounds: of the tiers, in positions.

    Returns:
        offsets of each word's names in the next array, tier by tier, shape (tiers * words + 1,); the names.
    """
    last = np.full(words, -1, dtype=np.int32)
    indptr = np.zeros((bounds.size - 1) * words + 1, dtype=np.int64)
    for name in range(positions.size):
        first = 0  # cell of the tier
        while positions[name] >= bounds[first // words + 1]:
            first += words
        for k in range(begins[name], begins[name + 1]):
            word = numbers[k] - 1
            if last[word] != name:
                last[word] = name
                indptr[first + word + 1] += 1
    for cell in range(indptr.size - 1):
        indptr[cell + 1] += indptr[cell]
    names = np.empty(indptr[-1], dtype=np.int32)
    filled = indptr[:-1].copy()
    last[:] = -1
    for tier in range(bounds.size - 1):
        for position in range(bounds[tier], bounds[tier + 1]):
            _fetch(begins, numbers, rows, position)
            for k in range(begins[rows[position]], begins[rows[position] + 1]):
                word = numbers[k] - 1
                if last[word] != position:
                    last[word] = position
                    names[filled[tier * words + word]] = position
                    filled[tier * words + word] += 1
    return indptr, names


@compiled
def in_lists(candidates: Int32, numbers: Int32, begins: Int64, ends: Int64) -> Bool:
    """True for each candidate that stands in some list of numbers.

    A long list is searched for each candidate; of a short one each number is looked up, first in a filter of bits.

    Args:
        candidates: ascending. begins, ends: of each list in ``numbers``, each ascending.
    """
    seen = np.zeros(candidates.size, dtype=np.bool_)
    size = 64
    while size < candidates.size * _BITS:
        size *= 2
    bits = np.zeros(size >> 6, dtype=np.uint64)
    for candidate in candidates:
        bits[(candidate & (size - 1)) >> 6] |= np.uint64(1) << np.uint64(candidate & 63)
    for i in range(begins.size):
        at, end = begins[i], ends[i]
        if end - at > _SEARCHED * candidates.size:
            for k in range(candidates.size):
                at = _first_from(numbers, at, end, candidates[k])
                if at == end:
                    break
                seen[k] |= numbers[at] == candidates[k]
        else:
            for number in numbers[at:end]:
                if (bits[(number & (size - 1)) >> 6] >> np.uint64(number & 63)) & np.uint64(1):
                    k = _first_from(candidates, 0, candidates.size, number)
                    if k < candidates.size and candidates[k] == number:
                        seen[k] = True
    return seen


@compiled
def _first_from(numbers: Int32, low: int, high: int, least: int) -> int:
    """The first position from ``low`` on of a number that is not below ``least``, or ``high``."""
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low
