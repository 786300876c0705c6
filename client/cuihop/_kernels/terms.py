"""Hashes of sequences of tokens: those of names, their table, and the sequences of a text that it holds."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled, prefetch
from cuihop._kernels.tokens import (
    BREAK,
    CAPITALS,
    CASED,
    CLOSE,
    COMMA,
    END,
    GAP,
    HYPHEN,
    IN_TEXT,
    JOINED,
    LETTERS,
    OPEN,
    START,
    WORD,
)  # fmt: skip
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt32, UInt64

# How a sequence is made from its name: the low bits of its rule.
PLAIN, TAIL, INVERTED, SPACING, ACRONYM, TWIN = range(6)
RULE = 7
LOWER, GENERAL, LAST = 0x08, 0x40, 0x80

LONGEST_NAME = 64
"""Most tokens of a name that matches."""

_LONGEST_ACRONYM = 6  # characters
_MOST_HYPHENS = 3  # of a name, each of which may be left out
_MOST_SEQUENCES = 2 * (2 + _MOST_HYPHENS)  # of a name: as written, inverted, without a hyphen; and all without its end
_AHEAD = 4  # tokens ahead, at which the filter is fetched
_JOINS = 8  # tokens ahead, up to which a hyphen of the text may be left out
MOST_MATCHES = LONGEST_NAME * _JOINS + _LONGEST_ACRONYM + 1
"""Most matches that begin with one token."""

_SEED = np.uint64(0x9E3779B97F4A7C15)
_ACRONYM_SEED = np.uint64(0xC2B2AE3D27D4EB4F)


@compiled
def _step(state: np.uint64, key: np.uint64) -> np.uint64:
    state = (state ^ key) * np.uint64(0xD6E8FEB86659FD93)
    return state ^ (state >> np.uint64(32))


@compiled
def _end(state: np.uint64) -> np.uint64:
    """Hash of a sequence; never 0."""
    state *= np.uint64(0xFF51AFD7ED558CCD)
    state ^= state >> np.uint64(29)
    return state if state != 0 else np.uint64(1)


@compiled
def contains(table: UInt64, key: np.uint64) -> bool:
    """True where an open table of keys alone holds the key."""
    mask = np.uint64(table.size - 1)
    slot = key & mask
    while table[slot] != 0:
        if table[slot] == key:
            return True
        slot = (slot + np.uint64(1)) & mask
    return False


@compiled
def in_capitals(offsets: Int64, blob: UInt8) -> UInt8:
    """For each name, 2 where it has capitals and no small letters of ASCII, 1 where it has small letters, else 0."""
    case = np.zeros(offsets.size - 1, dtype=np.uint8)
    for name in range(case.size):
        for k in range(offsets[name], offsets[name + 1]):
            if 97 <= blob[k] <= 122:
                case[name] = 1
                break
            if 65 <= blob[k] <= 90:
                case[name] = 2
    return case


@compiled
def sequences_of_names(
    token_bounds: Int64, columns: Int32, keys: UInt64, brackets: UInt8, tails: UInt64, kinds: UInt64,
    function_words: UInt64, caseless: UInt8, words: UInt64,
) -> tuple[UInt64, Int32, UInt8, UInt64]:  # fmt: skip
    """Sequences of each name.

    A bracket is left out at the end where it says of what kind the concept is, or where two words or more are left.

    Args:
        token_bounds, columns, keys: see `cuihop._kernels.tokens.tokens_of`.
        brackets: shape (names,): bit 1 where a name begins with a bracket, bit 2 where it ends with one.
        tails: table of the words that may be left out at the end.
        kinds: table of words that end a bracket which says of what kind a concept is.
        function_words: table of words that are no name by themselves.
        caseless: shape (names,): 1 for a name of a vocabulary that writes all names in capitals.
        words: shape (names, 2), zeros: receives the last of several words of each name, and an only word.

    Returns:
        hashes; the name of each; its rule; and hashes of the beginnings of all sequences, repeated. The rule `TWIN`
        marks the sequence that an acronym would have as any other name.
    """
    names = token_bounds.size - 1
    # The most that there can be; unused memory is never touched.
    hashes = np.empty(_MOST_SEQUENCES * names, dtype=np.uint64)
    rows = np.empty(_MOST_SEQUENCES * names, dtype=np.int32)
    rules = np.empty(_MOST_SEQUENCES * names, dtype=np.uint8)
    prefixes = np.empty(_MOST_SEQUENCES * token_bounds[-1], dtype=np.uint64)
    count, begun = 0, 0
    order = np.empty(LONGEST_NAME, dtype=np.int64)
    for name in range(names):
        first, stop = token_bounds[name], token_bounds[name + 1]
        if first == stop or stop - first > LONGEST_NAME:
            continue
        begin, end = first, stop
        if brackets[name] & 1:
            for k in range(first + 1, stop):
                if columns[k, GAP] & CLOSE:
                    begin = k
                    break
        closed = brackets[name] & 2 != 0
        while True:
            if closed:
                k = end - 1
                while k > begin and not columns[k, GAP] & OPEN:
                    k -= 1
                if k == begin or (k - begin < 2 and not contains(kinds, keys[end - 1, WORD])):
                    break
                closed = columns[k, GAP] & CLOSE != 0
                end = k
            elif end - begin > 1 and contains(tails, keys[end - 1, WORD]):
                closed = columns[end - 1, GAP] & CLOSE != 0
                end -= 1
            else:
                break
        rule = PLAIN
        if begin != first or end != stop:
            count, begun = _add_name(
                first, stop, name, PLAIN, columns, keys, caseless[name] != 0, function_words, order,
                hashes, rows, rules, prefixes, count, begun,
            )  # fmt: skip
            rule = TAIL
        count, begun = _add_name(
            begin, end, name, rule, columns, keys, caseless[name] != 0, function_words, order,
            hashes, rows, rules, prefixes, count, begun,
        )  # fmt: skip
        if end - begin > 1:
            words[name, 0] = keys[end - 1, WORD]
        elif rules[count - 1] & RULE != TWIN:
            words[name, 1] = keys[begin, WORD]
    return hashes[:count].copy(), rows[:count].copy(), rules[:count].copy(), prefixes[:begun].copy()


@compiled
def _add_name(
    begin: int, end: int, name: int, rule: int, columns: Int32, keys: UInt64, caseless: bool,
    function_words: UInt64, order: Int64, hashes: UInt64, rows: Int32, rules: UInt8, prefixes: UInt64,
    count: int, begun: int,
) -> tuple[int, int]:  # fmt: skip
    """Add the sequences of the tokens ``begin`` up to ``end`` of a name."""
    capitals, written, general, commas, hyphens = 0, 0, True, 0, 0
    for k in range(begin, end):
        capitals += columns[k, CAPITALS]
        size = columns[k, END] - columns[k, START]
        written += size
        if general and size > 1 and columns[k, LETTERS]:
            general = contains(function_words, keys[k, WORD])
        if k > begin:
            commas += columns[k, GAP] & COMMA != 0
            hyphens += columns[k, GAP] & HYPHEN != 0
    flag = (GENERAL if general else 0) | (0 if capitals else LOWER)
    characters = columns[end - 1, END] - columns[begin, START]
    if not caseless and ((characters <= _LONGEST_ACRONYM and capitals >= 2) or written <= 2):
        state = _ACRONYM_SEED
        for k in range(begin, end):
            state = _step(state, keys[k, CASED])
        hashes[count], rows[count], rules[count] = _end(state), name, ACRONYM | flag
        state = _SEED
        for k in range(begin, end):
            state = _step(state, keys[k, WORD])
        hashes[count + 1], rows[count + 1], rules[count + 1] = _end(state), name, TWIN
        return count + 2, begun
    state = _SEED
    for k in range(begin, end):
        state = _step(state, keys[k, WORD])
        if k + 1 < end:
            prefixes[begun] = _end(state)
            begun += 1
    hashes[count], rows[count], rules[count] = _end(state), name, rule | flag
    count += 1
    if commas == 1 or commas == 2:
        filled = 0
        after = end
        for k in range(end - 1, begin - 1, -1):
            if k == begin or columns[k, GAP] & COMMA:
                for t in range(k, after):
                    order[filled] = t
                    filled += 1
                after = k
        state = _SEED
        for at in range(filled):
            state = _step(state, keys[order[at], WORD])
            if at + 1 < filled:
                prefixes[begun] = _end(state)
                begun += 1
        hashes[count], rows[count], rules[count] = _end(state), name, INVERTED | flag
        count += 1
    if 1 <= hyphens <= _MOST_HYPHENS:
        for at in range(begin + 1, end):
            if not columns[at, GAP] & HYPHEN:
                continue
            state = _SEED
            k = begin
            while k < end:
                joins = k + 1 == at
                state = _step(state, keys[at, JOINED] if joins else keys[k, WORD])
                k += 2 if joins else 1
                if k < end:
                    prefixes[begun] = _end(state)
                    begun += 1
            hashes[count], rows[count], rules[count] = _end(state), name, SPACING | flag
            count += 1
    return count, begun


@compiled
def text_hashes(offsets: Int64, blob: UInt8, rows: Int32) -> UInt64:
    """A hash of the bytes of each of these strings."""
    hashes = np.empty(rows.size, dtype=np.uint64)
    for i in range(rows.size):
        state = _SEED
        for byte in blob[offsets[rows[i]] : offsets[rows[i] + 1]]:
            state = _step(state, np.uint64(byte))
        hashes[i] = state
    return hashes


@compiled
def add_to_filter(keys: UInt64, prefixes: bool, words: UInt64) -> None:
    """Set two bits for each sequence, or for each beginning of one, in a filter of 64-bit words, a power of two."""
    for key in keys:
        words[_word(key, words)] |= _prefix_bits(key) if prefixes else _sequence_bits(key)


@compiled
def _word(key: np.uint64, words: UInt64) -> np.uint64:
    return (key >> np.uint64(12)) & np.uint64(words.size - 1)


@compiled
def _prefix_bits(key: np.uint64) -> np.uint64:
    return (np.uint64(1) << (key & np.uint64(63))) | (np.uint64(1) << ((key >> np.uint64(6)) & np.uint64(63)))


@compiled
def _sequence_bits(key: np.uint64) -> np.uint64:
    return (np.uint64(1) << (key >> np.uint64(58))) | (np.uint64(1) << ((key >> np.uint64(52)) & np.uint64(63)))


@compiled
def word_table(hashes: UInt64, table: UInt64) -> None:
    """Fill an open table of keys alone. Its size is a power of two; 0 is empty."""
    mask = np.uint64(table.size - 1)
    for key in hashes:
        slot = key & mask
        while table[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = key


@compiled
def brackets_of(bounds: Int64, text: UInt32) -> UInt8:
    """For each name, bit 1 where it begins with a bracket, round or square, and bit 2 where it ends with one."""
    brackets = np.zeros(bounds.size - 1, dtype=np.uint8)
    for name in range(brackets.size):
        begin, end = bounds[name], bounds[name + 1]
        if begin < end:
            brackets[name] = (text[begin] == 91 or text[begin] == 40) + 2 * (text[end - 1] == 93 or text[end - 1] == 41)
    return brackets


@compiled
def _bucket(key: np.uint64, bounds: Int32) -> np.int64:
    """The bucket of a hash: hashes ascend with their buckets."""
    return np.int64(((key >> np.uint64(32)) * np.uint64(bounds.size - 1)) >> np.uint64(32))


@compiled
def count_in_buckets(hashes: UInt64, bounds: Int32) -> None:
    """Add the number of hashes in each bucket to the bound after it."""
    for key in hashes:
        bounds[_bucket(key, bounds) + 1] += 1


@compiled
def put_in_buckets(
    hashes: UInt64, rows: Int32, rules: UInt8, bounds: Int32, ends: Int32,
    all_hashes: UInt64, all_rows: Int32, all_rules: UInt8,
) -> None:  # fmt: skip
    """Add candidates to their buckets, each after those of lower or equal hash. ``ends``: of each bucket so far."""
    for i in range(hashes.size):
        bucket = _bucket(hashes[i], bounds)
        at = ends[bucket]
        ends[bucket] += 1
        while at > bounds[bucket] and all_hashes[at - 1] > hashes[i]:
            all_hashes[at], all_rows[at], all_rules[at] = all_hashes[at - 1], all_rows[at - 1], all_rules[at - 1]
            at -= 1
        all_hashes[at], all_rows[at], all_rules[at] = hashes[i], rows[i], rules[i]


@compiled
def _first_candidate(key: np.uint64, hashes: UInt64, bounds: Int32) -> int:
    """The first candidate of a sequence, or -1."""
    bucket = _bucket(key, bounds)
    for at in range(bounds[bucket], bounds[bucket + 1]):
        if hashes[at] == key:
            return at
    return -1


@compiled
def _candidate(
    key: np.uint64, hashes: UInt64, bounds: Int32, rows: Int32, rules: UInt8, usable: UInt8, general: bool
) -> int:
    """The first candidate of a sequence that may be used, or -1."""
    at = _first_candidate(key, hashes, bounds)
    while at >= 0:
        if (usable.size == 0 or usable[rows[at]]) and (general or not rules[at] & GENERAL):
            return at
        at = -1 if rules[at] & LAST else at + 1
    return -1


@compiled
def names_of_sequences(keys: UInt64, hashes: UInt64, bounds: Int32, rows: Int32, rules: UInt8) -> Int32:
    """The names of all candidates of these sequences, int32."""
    names = np.empty(64, dtype=np.int32)
    count = 0
    for key in keys:
        at = _first_candidate(key, hashes, bounds)
        while at >= 0:
            if count == names.size:
                more = np.empty(2 * count, dtype=np.int32)
                more[:count] = names
                names = more
            names[count] = rows[at]
            count += 1
            at = -1 if rules[at] & LAST else at + 1
    return names[:count].copy()


@compiled
def _short_form(token: int, stop: int, keys: UInt64, shorts: Int64) -> tuple[int, int]:
    """The longest short form that begins with a token, or -1; and its tokens, or 1."""
    longest, length = -1, 0
    for s in range(shorts.shape[0]):
        size = shorts[s, 1] - shorts[s, 0]
        if size <= length or token + size > stop:
            continue
        same = True
        for k in range(size):
            same &= keys[token + k, CASED] == keys[shorts[s, 0] + k, CASED]
        if same:
            longest, length = s, size
    return longest, max(1, length)


@compiled
def expanded(first: int, stop: int, columns: Int32, keys: UInt64, shorts: Int64, longs: Int64) -> tuple[Int32, UInt64]:
    """Tokens of a text with each abbreviation replaced by the tokens of its long form.

    Args:
        columns, keys: see `cuihop._kernels.tokens.tokens_of`.
        shorts, longs: shape (abbreviations, 2): tokens of the short form and of the long form.

    Returns:
        columns and keys of the tokens; those that stand for a short form have its characters, and in the column
        `IN_TEXT` 2 for the first, 3 for those between, 4 for the last, 5 for an only one.
    """
    most = 0
    token = first
    while token < stop:
        pair, length = _short_form(token, stop, keys, shorts)
        most += 1 if pair < 0 else longs[pair, 1] - longs[pair, 0]
        token += length
    new_columns = np.empty((most, columns.shape[1]), dtype=np.int32)
    new_keys = np.empty((most, keys.shape[1]), dtype=np.uint64)
    count = 0
    token = first
    while token < stop:
        pair, length = _short_form(token, stop, keys, shorts)
        if pair < 0:
            new_columns[count] = columns[token]
            new_keys[count] = keys[token]
            # A bracket closed after an abbreviation does not separate.
            if count and new_columns[count - 1, IN_TEXT] >= 4:
                new_columns[count, GAP] &= ~np.int32(CLOSE)
                new_keys[count, JOINED] = np.uint64(0)
            count += 1
            token += 1
            continue
        begin, end = longs[pair, 0], longs[pair, 1]
        for k in range(begin, end):
            new_columns[count] = columns[k]
            new_keys[count] = keys[k]
            new_keys[count, CASED] = np.uint64(0)
            new_columns[count, START] = columns[token, START]
            new_columns[count, END] = columns[token + length - 1, END]
            if k == begin:
                new_columns[count, GAP] = columns[token, GAP] & ~np.int32(HYPHEN)
            new_columns[count, IN_TEXT] = 5 if end - begin == 1 else 2 if k == begin else 4 if k == end - 1 else 3
            count += 1
        token += length
    return new_columns[:count].copy(), new_keys[:count].copy()


@compiled
def matches(
    first: int, stop: int, columns: Int32, keys: UInt64, hashes: UInt64, bounds: Int32, rows: Int32, rules: UInt8,
    words: UInt64, usable: UInt8, general: bool, longest: bool, hits: Int32, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Add the matches that begin in the tokens ``first`` up to ``stop`` of a text, as far as there is room for them.

    Args:
        hashes, bounds, rows, rules: the table of names, and ``words`` its filter.
        usable: shape (names,): 0 for a name that must not match; empty where all may match.
        general: match general names too. longest: the longest match from the left only; otherwise all.
        hits: shape (room, 4): first and last character, candidate, 1 where a hyphen was left out, 2 where an
            abbreviation was replaced. `MOST_MATCHES` rows of room are enough to go on. count: matches in it so far.

    Returns:
        the token to go on from, or ``stop``; the matches in ``hits``.
    """
    separating = OPEN | CLOSE | BREAK
    token = first
    next_join = first  # the next token that a hyphen joins to the one before
    while token < stop and hits.shape[0] - count >= MOST_MATCHES:
        if token + _AHEAD + 1 < stop:
            one = _step(_SEED, keys[token + _AHEAD, WORD])
            prefetch(words, int(_word(_end(one), words)))
            prefetch(words, int(_word(_end(_step(one, keys[token + _AHEAD + 1, WORD])), words)))
        best_end, best, best_flags = token, -1, 0
        if columns[token, IN_TEXT] == 3 or columns[token, IN_TEXT] == 4:
            token += 1
            continue
        while next_join < stop and (next_join <= token or keys[next_join, JOINED] == 0):
            next_join += 1
        for join in range(token, min(stop, token + _JOINS) if next_join < token + _JOINS else token + 1):
            # With join == token, no hyphen is left out; otherwise that before token ``join``.
            if join > token and (keys[join, JOINED] == 0 or columns[join, IN_TEXT] != 1):
                continue
            state = _SEED
            k = token
            flags = 0 if join == token else 1
            while k < stop and k - token < LONGEST_NAME:
                joins = join > token and k + 1 == join
                if k > token and columns[k, GAP] & separating:
                    break
                state = _step(state, keys[join, JOINED] if joins else keys[k, WORD])
                flags |= 2 if columns[k, IN_TEXT] > 1 else 0
                k += 2 if joins else 1
                key = _end(state)
                bits = words[_word(key, words)]
                may_end = columns[k - 1, IN_TEXT] != 2 and columns[k - 1, IN_TEXT] != 3
                may_end &= join == token or k > join
                if may_end and bits & _sequence_bits(key) == _sequence_bits(key):
                    at = _candidate(key, hashes, bounds, rows, rules, usable, general)
                    if at >= 0:
                        if not longest:
                            count = _add(token, k, at, flags, columns, hits, count)
                        elif k > best_end:
                            best_end, best, best_flags = k, at, flags
                if bits & _prefix_bits(key) != _prefix_bits(key):
                    break
        # Acronyms, in their own capitals.
        state = _ACRONYM_SEED
        capitals, written = 0, 0
        k = token
        while k < stop and keys[k, CASED] != 0 and (k == token or not columns[k, GAP] & separating):
            if columns[k, END] - columns[token, START] > _LONGEST_ACRONYM + 1:
                break
            capitals += columns[k, CAPITALS]
            written += columns[k, END] - columns[k, START]
            state = _step(state, keys[k, CASED])
            k += 1
            if capitals < 2 and written > 2:
                continue
            key = _end(state)
            if words[_word(key, words)] & _sequence_bits(key) == _sequence_bits(key):
                at = _candidate(key, hashes, bounds, rows, rules, usable, general)
                if at >= 0:
                    if not longest:
                        count = _add(token, k, at, 0, columns, hits, count)
                    elif k >= best_end:
                        best_end, best, best_flags = k, at, 0
        if best >= 0:
            count = _add(token, best_end, best, best_flags, columns, hits, count)
            token = best_end
        else:
            token += 1
    return token, count


@compiled
def _add(token: int, end: int, at: int, flags: int, columns: Int32, hits: Int32, count: int) -> int:
    hits[count, 0] = columns[token, START]
    hits[count, 1] = columns[end - 1, END]
    hits[count, 2] = at
    hits[count, 3] = flags
    return count + 1
