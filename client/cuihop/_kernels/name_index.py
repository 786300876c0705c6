"""Parts of an index of names: the words of every name, numbered, and the names of every word."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Bool, Int32, Int64, UInt8, UInt64

_FIRST_TABLE = 1 << 12
_FIRST_TEXT = 1 << 14


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
    table = np.full(_FIRST_TABLE, -1, dtype=np.int32)
    hashes = np.empty(_FIRST_TABLE, dtype=np.uint64)  # of each word
    starts = np.zeros(_FIRST_TABLE, dtype=np.int64)
    texts = np.empty(_FIRST_TEXT, dtype=np.uint8)
    words, row, f = 0, 0, 0
    while row < names:
        words, row, f = _some_words(
            offsets, blob, folded_rows, folded_offsets, folded_blob, begins, numbers, table, hashes, starts, texts,
            words, row, f,
        )  # fmt: skip
        if row < names:
            begin, end = offsets[row], offsets[row + 1]
            if f < folded_rows.size and folded_rows[f] == row:
                begin, end = folded_offsets[f], folded_offsets[f + 1]
            while 2 * (words + end - begin + 2) > table.size:
                table, hashes, starts = _twice(table, hashes, starts, words)
            more = np.empty(2 * texts.size + end - begin, dtype=np.uint8)
            more[: starts[words]] = texts[: starts[words]]
            texts = more
    return begins, numbers[: begins[names]], starts[: words + 1].copy(), texts[: starts[words]].copy()


@compiled
def _some_words(
    offsets: Int64, blob: UInt8, folded_rows: Int32, folded_offsets: Int64, folded_blob: UInt8,
    begins: Int64, numbers: Int32, table: Int32, hashes: UInt64, starts: Int64, texts: UInt8,
    words: int, row: int, f: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Split names from ``row`` on, up to one whose words may not fit into the tables.

    Apart from `words_of`, because a loop that may replace an array counts its references at each step.
    """
    while row < offsets.size - 1:
        count = begins[row]
        if f < folded_rows.size and folded_rows[f] == row:
            begin, end = folded_offsets[f], folded_offsets[f + 1]
            if 2 * (words + end - begin + 2) > table.size or starts[words] + end - begin > texts.size:
                break
            words, count = _split(folded_blob, begin, end, numbers, table, hashes, starts, texts, words, count)
            f += 1
        else:
            begin, end = offsets[row], offsets[row + 1]
            if 2 * (words + end - begin + 2) > table.size or starts[words] + end - begin > texts.size:
                break
            words, count = _split(blob, begin, end, numbers, table, hashes, starts, texts, words, count)
        row += 1
        begins[row] = count
    return words, row, f


@compiled
def _split(
    blob: UInt8, i: int, end: int, numbers: Int32, table: Int32, hashes: UInt64, starts: Int64, texts: UInt8,
    words: int, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Number the words of one name; new ones are entered."""
    while True:
        while i < end and FOLD[blob[i]] == 0:
            i += 1
        if i >= end:
            return words, count
        begin = i
        key = np.uint64(14695981039346656037)
        while i < end:
            byte = FOLD[blob[i]]
            if byte == 0:
                break
            key = (key ^ np.uint64(byte)) * np.uint64(1099511628211)
            i += 1
        key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(table.size - 1))
        while table[slot] >= 0:
            other = table[slot]
            if hashes[other] == key and starts[other + 1] - starts[other] == i - begin:
                k = 0
                while k < i - begin and texts[starts[other] + k] == FOLD[blob[begin + k]]:
                    k += 1
                if k == i - begin:
                    break
            slot = (slot + 1) & (table.size - 1)
        if table[slot] < 0:
            table[slot] = words
            hashes[words] = key
            for k in range(i - begin):
                texts[starts[words] + k] = FOLD[blob[begin + k]]
            starts[words + 1] = starts[words] + i - begin
            words += 1
        numbers[count] = table[slot]
        count += 1


@compiled
def _twice(table: Int32, hashes: UInt64, starts: Int64, words: int) -> tuple[Int32, UInt64, Int64]:
    """The table of words with twice the capacity."""
    size = 2 * table.size
    new_table = np.full(size, -1, dtype=np.int32)
    new_hashes = np.empty(size, dtype=np.uint64)
    new_starts = np.empty(size, dtype=np.int64)
    new_hashes[:words] = hashes[:words]
    new_starts[: words + 1] = starts[: words + 1]
    for word in range(words):
        slot = np.int64(new_hashes[word] & np.uint64(size - 1))
        while new_table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        new_table[slot] = word
    return new_table, new_hashes, new_starts


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
def postings(begins: Int64, numbers: Int32, rows: Int32, words: int, bounds: Int64) -> tuple[Int64, Int32]:
    """The names of each word in each tier, by their positions in ``rows``, ascending, each once.

    Args:
        begins, numbers: the words of each name, numbered from 1 on. bounds: of the tiers, in positions.

    Returns:
        offsets of each word's names in the next array, tier by tier, shape (tiers * words + 1,); the names.
    """
    last = np.full(words, -1, dtype=np.int32)
    indptr = np.zeros((bounds.size - 1) * words + 1, dtype=np.int64)
    for tier in range(bounds.size - 1):
        for position in range(bounds[tier], bounds[tier + 1]):
            for k in range(begins[rows[position]], begins[rows[position] + 1]):
                word = numbers[k] - 1
                if last[word] != position:
                    last[word] = position
                    indptr[tier * words + word + 1] += 1
    for cell in range(indptr.size - 1):
        indptr[cell + 1] += indptr[cell]
    positions = np.empty(indptr[-1], dtype=np.int32)
    filled = indptr[:-1].copy()
    last[:] = -1
    for tier in range(bounds.size - 1):
        for position in range(bounds[tier], bounds[tier + 1]):
            for k in range(begins[rows[position]], begins[rows[position] + 1]):
                word = numbers[k] - 1
                if last[word] != position:
                    last[word] = position
                    positions[filled[tier * words + word]] = position
                    filled[tier * words + word] += 1
    return indptr, positions


@compiled
def see(numbers: Int32, low: int, marks: UInt8) -> None:
    """Raise each 1 among the marks of these numbers to 2. The marks belong to ``low`` and the numbers after it."""
    for number in numbers:
        index = number - low
        if 0 <= index < marks.size and marks[index]:
            marks[index] = 2
