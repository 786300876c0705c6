"""The table of names by which texts are annotated: hashes of token sequences, mapped with the snapshot.

A name gives one sequence or several: as it is written; without brackets and NOS or NEC at its end; in its natural
order, where commas invert it; with one hyphen left out. A short name with capitals gives one, in its own capitals. Two
sequences with one hash of 64 bits would be taken for one another: among ten million names and ten thousand million
sequences of texts, that happens once in a hundred runs.

Sections:

``term_hashes``    uint64, shape (candidates,): the sequence, ascending
``term_buckets``   int32, shape (buckets + 1,): bounds of the candidates in each of equal ranges of hashes
``term_rows``      int32, shape (candidates,): the name, of each sequence best first
``term_rules``     uint8, shape (candidates,): see `cuihop._kernels.terms`
``term_filter``    uint64, shape (words,): a Bloom filter of the sequences and of their beginnings
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.annotation.characters import coded
from cuihop.annotation.tokens import Tokeniser, word_hashes
from cuihop.errors import LimitExceeded, SnapshotError
from cuihop.resources.arrays import Bool, Int32, Int64, UInt8, UInt64, ascending, bounds_of, read_only
from cuihop.resources.cores import in_order
from cuihop.snapshot.file import Sections, opened_part, with_part
from cuihop.snapshot.layout import SUPPRESSED_NAME, TERM_TABLE
from cuihop.snapshot.name_index_builder import counted_descendants
from cuihop.snapshot.word_forms import form_of

Arrays = Mapping[str, npt.NDArray[Any]] | Sections

GENERAL_SHARE = 0.2
"""Share of a graph's linked concepts that lie below a concept that is too general."""
GENERAL_WORD_SHARE = 0.03
"""Share of the names of several words that end with the only word of a name that is too general."""

_TAILS = ("nos", "nec")
_KIND_WORDS = """
abnormality attribute cell concept diagnosis disease disorder entity event finding form function object observation
organism person phenomenon procedure product qualifier regime situation stage structure substance symptom syndrome
therapy value
"""
KINDS = frozenset(_KIND_WORDS.split())
"""Words that end a bracket which says of what kind a concept is."""
_FUNCTION_WORDS = """
a about above after again all also although am among an and another any are as at away back be because been before
being below between both but by can cannot could did do does doing done down due during each either else even ever
every few first following for from further had has have having he hence her here hers him his how however i if in into
is it its itself last least less like made make many may me might mine more most much must my near neither never next
no none nor not nothing now of off often on once one only onto or other others our out over own per perhaps quite
rather really same see seen seem several shall she should show shown since so some still such take than that the their
them then there therefore these they this those through thus to together too toward two three under until up upon us
use used using very via was we well were what when where whether which while who whose why will with within without
would yes yet you your
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English words that are no name by themselves."""
_NAMES_A_BLOCK = 1 << 14  # tokens of a block stay in the processor's cache
_CANDIDATES_A_BUCKET = 3
_FILTER_BITS = 8  # of each sequence, and of each beginning of one
_LONGEST_SHORT_NAME = 6  # bytes; an acronym is no longer
_FEWEST_LONG_NAMES = 10  # of a vocabulary whose use of capitals is judged
_FEWEST_NAMES = 1000  # of several words in a release in which a word may be too general
_FEWEST_LINKED = 100  # concepts of a graph in which a concept may be too general


def _word_tables() -> tuple[UInt64, UInt64, UInt64]:
    """Tables of the words left out at the end, of those that end a bracket left out, and of function words."""
    return _word_set(_TAILS), _word_set(KINDS), _word_set(FUNCTION_WORDS)


def _word_set(words: Collection[str]) -> UInt64:
    """An open table of the forms of words."""
    from cuihop._kernels import terms as kernels

    hashes = np.unique(word_hashes([form_of(word) for word in words]))
    table = np.zeros(1 << (2 * len(hashes)).bit_length(), dtype=np.uint64)
    kernels.word_table(hashes, table)
    return table


def term_table_sections(arrays: Arrays, descendants: Int32 | None = None) -> dict[str, npt.NDArray[Any]]:
    """Build the sections of the table from the sections ``name_…``, ``up_…`` and ``down_…`` of a snapshot."""
    from cuihop._kernels import terms as kernels

    sequences = _sequences(arrays)
    hashes, rows, rules, positions = sequences.hashes, sequences.rows, sequences.rules, sequences.concepts
    starts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]][: len(hashes)])
    general = _too_general(arrays, descendants) | _named_by_general_words(
        sequences, starts, len(arrays["name_indptr"]) - 1
    )
    rules |= np.where(general[positions], np.uint8(kernels.GENERAL), np.uint8(0))
    shared, best = _best_first(arrays, starts, rows, rules, positions)
    rows[shared], rules[shared] = rows[best], rules[best]
    rules[np.r_[starts[1:], len(rows)].astype(np.int64)[: len(starts)] - 1] |= np.uint8(kernels.LAST)
    if not len(rows):  # one candidate, of no sequence
        hashes, rows, rules = np.zeros(1, np.uint64), np.zeros(1, np.int32), np.full(1, kernels.LAST, np.uint8)
    return {
        "term_hashes": hashes,
        "term_buckets": _buckets([hashes]),
        "term_rows": rows,
        "term_rules": rules,
        "term_filter": sequences.words,
    }


def _buckets(hashes: Sequence[UInt64]) -> Int32:
    """Bounds of the buckets of all these hashes."""
    from cuihop._kernels import terms as kernels

    bounds = np.zeros(max(1, sum(map(len, hashes)) // _CANDIDATES_A_BUCKET) + 1, dtype=np.int32)
    for some in hashes:
        kernels.count_in_buckets(some, bounds)
    return np.cumsum(bounds, out=bounds)


@dataclass(frozen=True, eq=False)
class _Sequences:
    """Sequences of all names.

    Attributes:
        hashes, rows, rules: of each sequence, ascending by hash: see `cuihop._kernels.terms.sequences_of_names`.
        last_words: uint64, shape (names, 2): the last of several words of each name, and an only word.
    """

    hashes: UInt64
    rows: Int32
    rules: UInt8
    concepts: Int32
    words: UInt64
    last_words: UInt64


def _sequences(arrays: Arrays) -> _Sequences:
    from cuihop._kernels import terms as kernels
    from cuihop._kernels import tokens as token_kernels

    offsets, blob = read_only(arrays["name_offsets"]), read_only(arrays["name_blob"])
    tokeniser, tables, caseless = Tokeniser(form_of), _word_tables(), _caseless(arrays)
    last_words = np.zeros((len(offsets) - 1, 2), dtype=np.uint64)

    def block(number: int) -> tuple[UInt64, Int32, UInt8, UInt64]:
        first = number * _NAMES_A_BLOCK
        bounds, text = token_kernels.code_points(offsets, blob, first, min(first + _NAMES_A_BLOCK, len(offsets) - 1))
        tokens = tokeniser.tokens(bounds, text)
        names = slice(first, first + len(bounds) - 1)
        hashes, rows, rules, prefixes = kernels.sequences_of_names(
            tokens.bounds, tokens.places, tokens.keys, kernels.brackets_of(bounds, text), *tables,
            caseless[names], last_words[names],
        )  # fmt: skip
        return hashes, rows + np.int32(first), rules, ascending(prefixes)

    blocks = deque(in_order(block, range(-(-(len(offsets) - 1) // _NAMES_A_BLOCK))))
    count = sum(len(chunk[0]) for chunk in blocks)
    if count > np.iinfo(np.int32).max:
        raise LimitExceeded(f"more than {np.iinfo(np.int32).max:,} forms of names: load fewer vocabularies")
    hashes, rows, rules = np.empty(count, np.uint64), np.empty(count, np.int32), np.empty(count, np.uint8)
    size = _FILTER_BITS * (count + sum(len(chunk[3]) for chunk in blocks)) // 64
    words = np.zeros(1 << max(1, size).bit_length(), dtype=np.uint64)
    buckets = _buckets([chunk[0] for chunk in blocks])
    ends = buckets[:-1].copy()
    while blocks:  # each is released when it is copied
        chunk = blocks.popleft()
        kernels.put_in_buckets(*chunk[:3], buckets, ends, hashes, rows, rules)
        kernels.add_to_filter(chunk[3], True, words)
    names_each = np.diff(arrays["name_indptr"])
    positions = np.repeat(np.arange(len(names_each), dtype=np.int32), names_each)[rows]  # the concept of each name
    left_out = _left_out(arrays, hashes, rows, rules, positions)
    if left_out.any():
        usable = ~left_out
        hashes, rows, rules, positions = hashes[usable], rows[usable], rules[usable], positions[usable]
    kernels.add_to_filter(hashes, False, words)
    return _Sequences(hashes, rows, rules, positions, words, last_words)


def _caseless(arrays: Arrays) -> UInt8:
    """1 for the names of vocabularies that write most longer names in capitals alone, uint8, shape (names,)."""
    from cuihop._kernels import terms as kernels

    offsets = read_only(arrays["name_offsets"])
    case = kernels.in_capitals(offsets, read_only(arrays["name_blob"]))
    sets = arrays["name_sab_sets"] if "name_sab_sets" in arrays else np.zeros(len(case), dtype=np.uint16)
    long = (np.diff(offsets) > _LONGEST_SHORT_NAME) & (case > 0)
    count = int(sets.max(initial=0)) + 1
    capitals = np.bincount(sets[long & (case == 2)], minlength=count)
    total = np.bincount(sets[long], minlength=count)
    caseless = (total >= _FEWEST_LONG_NAMES) & (2 * capitals > total)
    of_names: UInt8 = caseless[sets].astype(np.uint8)
    return of_names


def _left_out(arrays: Arrays, hashes: UInt64, rows: Int32, rules: UInt8, positions: Int32) -> Bool:
    """True for suppressed names, and small-letter names that an acronym of the concept has in capitals. By hash."""
    from cuihop._kernels import terms as kernels

    rule = rules & np.uint8(kernels.RULE)
    out: Bool = rule == kernels.TWIN
    twins = np.flatnonzero(out)
    low, high = (np.searchsorted(hashes, hashes[twins], side=side) for side in ("left", "right"))
    for twin, begin, end in zip(twins.tolist(), low.tolist(), high.tolist(), strict=True):
        if end - begin > 1:
            lower = (rules[begin:end] & np.uint8(kernels.LOWER)) != 0
            out[begin:end] |= lower & (positions[begin:end] == positions[twin])
    if "name_grades" in arrays:
        out |= (arrays["name_grades"][rows] & np.uint32(SUPPRESSED_NAME)) != 0
    return out


def _named_by_general_words(sequences: _Sequences, starts: Int64, concepts: int) -> Bool:
    """Concepts with a name of one word with which many names end."""
    from cuihop._kernels import terms as kernels

    general = np.zeros(concepts, dtype=np.bool_)
    as_written = (sequences.rules[starts] & np.uint8(kernels.RULE)) == kernels.PLAIN
    last = sequences.last_words[sequences.rows[starts[as_written]], 0]
    words, counts = np.unique(last[last != 0], return_counts=True)
    total = int(counts.sum())
    if total >= _FEWEST_NAMES:
        general_rows = np.isin(sequences.last_words[sequences.rows, 1], words[counts >= GENERAL_WORD_SHARE * total])
        rules_used = sequences.rules & np.uint8(kernels.RULE)
        general[sequences.concepts[general_rows & ((rules_used == kernels.PLAIN) | (rules_used == kernels.TAIL))]] = (
            True
        )
    return general


def _too_general(arrays: Arrays, descendants: Int32 | None) -> Bool:
    """Concepts above more than a fifth of the concepts that have an edge."""
    up, down = arrays["up_indptr"], arrays["down_indptr"]
    linked = int(np.count_nonzero((np.diff(up) > 0) | (np.diff(down) > 0)))
    if linked < _FEWEST_LINKED:
        return np.zeros(len(up) - 1, dtype=np.bool_)
    counts = counted_descendants(arrays) if descendants is None else descendants
    above: Bool = counts > GENERAL_SHARE * linked
    return above


def _best_first(arrays: Arrays, starts: Int64, rows: Int32, rules: UInt8, positions: Int32) -> tuple[Int64, Int64]:
    """Places of the candidates that share a sequence, and the candidates that belong there.

    Ordered by the way in which the sequence is made from the name, by the name's grade, by the number of concepts that
    have the name, then by identifier.
    """
    from cuihop._kernels import terms as kernels

    sizes = np.diff(starts, append=len(rows))
    shared = np.flatnonzero(sizes > 1)
    bounds = bounds_of(sizes[shared])
    candidates = np.repeat(starts[shared] - bounds[:-1], sizes[shared]) + np.arange(bounds[-1])
    group = np.repeat(np.arange(len(shared)), sizes[shared])
    ways = np.zeros(8, dtype=np.uint8)
    ways[[kernels.SPACING, kernels.INVERTED, kernels.TAIL]] = 1, 2, 3
    rule = ways[rules[candidates] & np.uint8(kernels.RULE)]
    grades = arrays["name_grades"] if "name_grades" in arrays else _positions(arrays["name_indptr"])
    senses = _senses(arrays, rows[candidates], positions[candidates], group)
    return candidates, candidates[
        np.lexsort((rows[candidates], positions[candidates], senses, grades[rows[candidates]], rule, group))
    ]


def _positions(indptr: Int32) -> Int32:
    """0 for the preferred name of each concept, 1 for the others."""
    ranks = np.ones(int(indptr[-1]), dtype=np.int32)
    ranks[indptr[:-1][np.diff(indptr) > 0]] = 0
    return ranks


def _senses(arrays: Arrays, rows: Int32, positions: Int32, group: Int64) -> Int64:
    """Number of concepts with the very name of each row, among those of its sequence."""
    from cuihop._kernels import terms as kernels

    texts = kernels.text_hashes(read_only(arrays["name_offsets"]), read_only(arrays["name_blob"]), rows)
    order = np.lexsort((positions, texts, group))
    new_text = np.r_[True, (texts[order][1:] != texts[order][:-1]) | (np.diff(group[order]) != 0)]
    new_concept = new_text | np.r_[True, np.diff(positions[order]) != 0]
    number = np.cumsum(new_text) - 1
    senses = np.empty(len(rows), dtype=np.int64)
    senses[order] = np.bincount(number, weights=new_concept)[number]
    return senses


class TermTable:
    """The table of a snapshot, opened.

    Attributes:
        hashes, buckets, rows, rules, words: the sections, in their order.

    Raises:
        SnapshotError: a section is damaged, or compiled code would not end with its values.
    """

    def __init__(self, sections: Sections) -> None:
        from cuihop._kernels import terms as kernels

        self.hashes, self.buckets, self.rows, self.rules, self.words = (sections[name] for name in TERM_TABLE)
        if not (count := len(self.words)) or count & (count - 1):
            raise SnapshotError(f"{sections.origin}: section 'term_filter' has {count:,} values, no power of two")
        if not len(self.rules) or not self.rules[-1] & kernels.LAST or not self._in_buckets():
            raise SnapshotError(
                f"{sections.origin}: section 'term_hashes' or 'term_rules' holds values that it must not; "
                "the file is damaged"
            )

    def _in_buckets(self) -> bool:
        """True where each bucket begins and ends with a hash that belongs there."""
        count = np.uint64(len(self.buckets) - 1)
        filled = np.flatnonzero(np.diff(self.buckets))
        ends = self.hashes[np.concatenate([self.buckets[filled], self.buckets[filled + 1] - 1])]
        return bool((((ends >> np.uint64(32)) * count) >> np.uint64(32) == np.tile(filled, 2)).all())

    def names_of(self, texts: Sequence[str]) -> Int32:
        """All names with the sequence of one of these texts, int32. One in capitals is taken as acronym and as word."""
        from cuihop._kernels import terms as kernels

        text, bounds = coded(texts)
        tokens = Tokeniser(form_of).tokens(bounds, text)
        hashes, _, rules, _ = kernels.sequences_of_names(
            tokens.bounds, tokens.places, tokens.keys, np.zeros(len(texts), dtype=np.uint8), *_word_tables(),
            np.zeros(len(texts), dtype=np.uint8), np.zeros((len(texts), 2), dtype=np.uint64),
        )  # fmt: skip
        as_written = np.isin(rules & np.uint8(kernels.RULE), (kernels.PLAIN, kernels.ACRONYM, kernels.TWIN))
        return kernels.names_of_sequences(hashes[as_written], self.hashes, self.buckets, self.rows, self.rules)


def term_table(sections: Sections) -> TermTable | None:
    """The table of a snapshot; ``None`` where it has no names.

    A snapshot of an earlier cuihop has none: it is built in memory, with a warning. So is that of a damaged one.
    """
    missing = "the table of names for annotation is missing, or that of an earlier cuihop, and is built in memory"
    return opened_part(
        sections, TERM_TABLE, TermTable, lambda old: TermTable(with_term_table(old)), "table of names", missing
    )


def with_term_table(sections: Sections) -> Sections:
    """The sections with the table that belongs to them, built in memory."""
    return with_part(sections, TERM_TABLE, term_table_sections)
