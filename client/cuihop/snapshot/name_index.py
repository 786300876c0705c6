"""Search by name in a snapshot, with its index of names.

A name matches a text in one of the ways of `cuihop.graph.MATCHES`; better ways come first. Names are renumbered by
merit: preferred names before synonyms, those of concepts with many descendants before others (in powers of two), short
ones before long ones, then in the order of the concepts. Among names that match a text equally well the lower number
comes first, so a search takes numbers in ascending order and stops when it has enough.

The names of each word are stored tier by tier: those among the first 65,536 names by merit, among the first million,
and all others. A frequent word or beginning is answered from the first tier, whatever the size of the release.

Sections; absent from snapshots that an earlier cuihop wrote:

``search_rows``     int32, shape (names,): by merit, the row of the name in the snapshot
``search_keys``     int32, shape (names,): the names by their forms (`form_key`) and merit, each as its merit
``search_word_offsets``  int64, shape (words + 1,), and ``search_word_blob``, uint8: the distinct words, ascending
``search_forms``    int32, shape (words,): the words in the order of their forms, then of their letters
``search_indptr``   int64, shape (tiers * words + 1,), and ``search_names``, int32: the names of each word, by merit
``spelling_…``      see `cuihop.snapshot.spelling`
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice, pairwise

import numpy as np

from cuihop.errors import SnapshotError
from cuihop.graph import MatchKind
from cuihop.resources.arrays import Bool, Int32, Int64, ascending
from cuihop.snapshot.file import Sections, opened_part, with_part
from cuihop.snapshot.layout import NAME_INDEX
from cuihop.snapshot.name_index_builder import name_index_sections, tier_bounds
from cuihop.snapshot.spelling import Spelling
from cuihop.snapshot.string_table import StringTable, folded
from cuihop.snapshot.word_forms import (
    MOST_READINGS,
    MOST_WORDS,
    form_key,
    form_of,
    form_prefixes,
    name_forms,
    respaced,
    searched_words,
)

Words = range | Int32
"""Numbers of words: adjacent ones, or any."""

_SAME_KEY = 1000  # most names of the same forms that are compared with a text
_KEPT = 1 << 14  # texts that bisections compare
_FEW_LISTS = 64  # read one by one
_MARKED = 8  # names of a tier for each listed one, beyond which the listed ones are sorted
_BEGUN_FORMS = 4096  # most words whose forms begin so, besides those that begin with the same letters


class NameIndex:
    """Search with the index of a snapshot that holds it."""

    def __init__(self, sections: Sections) -> None:
        self._names = StringTable.stored(sections, "name")
        self._indptr: Int32 = sections["name_indptr"]
        self._merit_rows: Int32 = sections["search_rows"]
        self._keys: Int32 = sections["search_keys"]
        self._words = StringTable.stored(sections, "search_word")
        self._forms: Int32 = sections["search_forms"]
        self._word_indptr: Int64 = sections["search_indptr"]
        self._word_names: Int32 = sections["search_names"]
        self._tiers = list(pairwise(tier_bounds(len(self._merit_rows))))
        names, rows, keys, words, forms = self._names, self._merit_rows, self._keys, self._words, self._forms
        # Texts that bisections compare. Those of the first steps are the same in every search, so they are kept.
        self._key = lru_cache(_KEPT)(lambda at: form_key(folded(names[int(rows[keys[at]])])).encode())
        self._word = lru_cache(_KEPT)(lambda at: words.blob[words.offsets[at] : words.offsets[at + 1]].tobytes())
        self._form = lru_cache(_KEPT)(lambda at: form_of(words[int(forms[at])]).encode())
        respelt_words = StringTable.stored(sections, "spelling")
        self.spelling = Spelling(self._words, sections["spelling_words"], sections["spelling_sets"], respelt_words)
        """Candidates of corrections."""

    def best(self, text: str, most: int) -> list[tuple[int, int, MatchKind]]:
        """The best concepts for a folded text, each with the row of its best matching name, and the kind of match."""
        hits: dict[int, tuple[int, MatchKind]] = {}
        if not most:
            return []
        text = " ".join(text.split(" ")[:MOST_WORDS])
        for matches in (self._as_typed, self._corrected, self._in_part):
            for kind, merits in matches(text):
                rows = self._merit_rows[merits]
                concepts = np.searchsorted(self._indptr, rows, side="right") - 1
                for concept, row in zip(concepts.tolist(), rows.tolist(), strict=True):
                    if len(hits) == most:
                        break
                    hits.setdefault(concept, (row, kind))
                if len(hits) == most:
                    break
            if hits:
                break
        return [(concept, *match) for concept, match in hits.items()]

    def forms(self) -> Iterator[tuple[str, list[str]]]:
        """Each form, ascending, with its words, where they are not the form itself."""
        for form, positions in groupby(self._forms.tolist(), key=lambda position: form_of(self._words[position])):
            if (words := [self._words[position] for position in positions]) != [form]:
                yield form, words

    def nearest_word(self, word: str) -> str:
        """The nearest of the names' words; the word itself where a name has a word of its form, or none is near."""
        if len(self._of_form(form_of(word))):
            return word
        return next(iter(self.spelling.nearest(word, 1)), word)

    def warm_up(self) -> None:
        """Compile the intersection of word lists."""
        from cuihop._kernels import name_index as kernels

        nothing = np.zeros(0, dtype=np.int64)
        kernels.in_lists(np.zeros(1, dtype=np.int32), self._word_names, nothing, nothing)

    def prefixes(self, at_least: int) -> Iterator[str]:
        """Prefixes of words with at least this many matches, ascending; a name counts once for each of its words."""
        counts = np.diff(self._word_indptr).reshape(len(self._tiers), len(self._words)).sum(axis=0)
        bounds = [0, *np.cumsum(counts).tolist()]

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
                if bounds[end] - bounds[at] >= at_least:
                    yield longer
                    yield from below(longer, at, end)
                at = end

        return below("", 0, len(self._words))

    # Names that match a text, by their merit, best way first

    def _as_typed(self, text: str, *, respacing: bool = True) -> Iterator[tuple[MatchKind, Int32]]:
        words, forms = searched_words(text), name_forms(text)
        readings = self._readings(text) if respacing else []
        same = self._names_of_key(" ".join(forms))
        exact = np.array(
            [folded(self._names[int(self._merit_rows[merit])]) == text for merit in same.tolist()], dtype=np.bool_
        )
        yield "exact", same[exact]
        yield "form", same[~exact]
        for reading in readings:
            yield "form", self._names_of_key(" ".join(reading))
        for merits in self._common([[self._whole(word)] for word in words]):
            yield "words", merits
        for some in (forms, *readings):
            for merits in self._common([[self._of_form(form)] for form in some]):
                yield "form", merits
        for merits in self._common([[self._begun(word)] for word in words]):
            yield "prefix", merits
        for merits in self._common([self._begun_in_form(word) for word in words]):
            yield "form", merits

    def _readings(self, text: str) -> list[list[str]]:
        """Forms of the text with words written together or apart, as far as names have them all."""
        present = (
            forms for forms in map(name_forms, respaced(text)) if all(len(self._of_form(form)) for form in forms)
        )
        return list(islice(present, MOST_READINGS))

    def _corrected(self, text: str) -> Iterator[tuple[MatchKind, Int32]]:
        for other in self.spelling.corrected(text, self._has_word):
            yield from (("spelling", merits) for _, merits in self._as_typed(other, respacing=False))

    def _in_part(self, text: str) -> Iterator[tuple[MatchKind, Int32]]:
        for text_left in self.spelling.in_part(text, self._has_word):
            yield from (("part", merits) for _, merits in self._as_typed(text_left, respacing=False))

    def _has_word(self, word: str) -> bool:
        return len(self._begun(word)) > 0 or any(len(words) for words in self._begun_in_form(word))

    def _names_of_key(self, key: str) -> Int32:
        """Names of these forms, by merit; the first thousand of more."""
        encoded = key.encode()
        positions = range(len(self._keys))
        low = bisect_left(positions, encoded, key=self._key)
        high = bisect_right(positions, encoded, lo=low, hi=min(low + _SAME_KEY, len(self._keys)), key=self._key)
        return self._keys[low:high]

    # Words

    def _first_beyond(self, prefix: bytes, low: int, high: int) -> int:
        """The first word of a range beyond those with the prefix."""
        return bisect_right(
            range(len(self._words)), prefix, lo=low, hi=high, key=lambda i: self._word(i)[: len(prefix)]
        )

    def _whole(self, word: str) -> range:
        """The word itself."""
        encoded = word.encode()
        low = bisect_left(range(len(self._words)), encoded, key=self._word)
        return range(low, low + (low < len(self._words) and self._word(low) == encoded))

    def _begun(self, beginning: str) -> range:
        """Words that begin so."""
        encoded = beginning.encode()
        low = bisect_left(range(len(self._words)), encoded, key=self._word)
        return range(low, self._first_beyond(encoded, low, len(self._words)))

    def _of_form(self, form: str, *, begun: bool = False) -> Int32:
        """Words of a form, or of those that begin so."""
        encoded = form.encode()
        positions = range(len(self._forms))
        low = bisect_left(positions, encoded, key=self._form)
        ends: Callable[[int], bytes] = (lambda i: self._form(i)[: len(encoded)]) if begun else self._form
        return self._forms[low : bisect_right(positions, encoded, lo=low, key=ends)]

    def _begun_in_form(self, word: str) -> list[Words]:
        """Words that begin so, words of the same form, and those that begin so in another spelling."""
        prefixes = form_prefixes(word)
        others = [self._of_form(prefix, begun=True)[:_BEGUN_FORMS] for prefix in prefixes]
        return [*map(self._begun, dict.fromkeys([word, *prefixes])), self._of_form(form_of(word)), *others]

    # Names of words

    def _common(self, words: Sequence[Sequence[Words]]) -> Iterator[Int32]:
        """Names with a word of each group, by their merit, tier by tier."""
        if any(not any(map(len, group)) for group in words):
            return
        for tier, (low, high) in enumerate(self._tiers):
            lists = sorted((self._lists(group, tier) for group in words), key=_total)
            common = _distinct(self._names_in(*lists[0]), low, high)
            for begins, ends in lists[1:]:
                if len(common):
                    common = common[self._seen(common, begins, ends, low, high)]
            yield common

    def _lists(self, group: Sequence[Words], tier: int) -> tuple[Int64, Int64]:
        """Begins and ends of the lists of the group's words, by name, in a tier."""
        first, indptr = tier * len(self._words), self._word_indptr
        begins, ends = (
            [
                indptr[at + some.start : at + some.stop] if isinstance(some, range) else indptr[at + some]
                for some in group
            ]
            for at in (first, first + 1)
        )
        return np.concatenate(begins), np.concatenate(ends)

    def _names_in(self, begins: Int64, ends: Int64) -> Int32:
        """Names in any of the lists, perhaps repeated."""
        first = np.flatnonzero(begins[1:] != ends[:-1]) + 1  # of lists that do not continue the one before
        begins, ends = begins[np.r_[0, first]], ends[np.r_[first, len(ends)] - 1]
        if len(begins) <= _FEW_LISTS:
            bounds = zip(begins.tolist(), ends.tolist(), strict=True)
            return np.concatenate([self._word_names[begin:end] for begin, end in bounds])
        counts = ends - begins
        positions = np.repeat(ends - np.cumsum(counts), counts) + np.arange(int(counts.sum()))
        names: Int32 = self._word_names[positions]
        return names

    def _seen(self, common: Int32, begins: Int64, ends: Int64, low: int, high: int) -> Bool:
        """True for the names that stand in any of the lists; compiled where numba is loaded anyway."""
        if "numba" not in sys.modules:
            listed = np.zeros(high - low, dtype=np.bool_)
            listed[self._names_in(begins, ends) - low] = True
            return listed[common - low]
        from cuihop._kernels import name_index as kernels

        return kernels.in_lists(common, self._word_names, begins, ends)


def _total(lists: tuple[Int64, Int64]) -> int:
    return int((lists[1] - lists[0]).sum())


def _distinct(numbers: Int32, low: int, high: int) -> Int32:
    """Distinct numbers, ascending; all lie from ``low`` up to ``high``."""
    if _MARKED * len(numbers) < high - low:
        return ascending(numbers)
    listed = np.zeros(high - low, dtype=np.bool_)
    listed[numbers - low] = True
    return (np.flatnonzero(listed) + low).astype(np.int32)


def name_search(sections: Sections) -> NameIndex | None:
    """The search of a snapshot; ``None`` where it has no names.

    A snapshot of an earlier cuihop has no index, or an older one: it is built in memory, with a warning. So is that of
    a damaged index, with the same answers.
    """

    def checked(sections: Sections) -> Sections:
        for name in NAME_INDEX:
            sections[name]
        if len(sections["search_indptr"]) - 1 != (len(tier_bounds(len(sections["search_rows"]))) - 1) * len(
            sections["search_forms"]
        ):
            raise SnapshotError(f"{sections.origin}: section 'search_indptr' does not fit the others; it is damaged")
        return sections

    missing = "the index of names is missing, or that of an earlier cuihop, and is built again in memory"
    sound = opened_part(sections, NAME_INDEX, checked, with_name_index, "index of names", missing)
    return None if sound is None else NameIndex(sound)


def with_name_index(sections: Sections) -> Sections:
    """The sections with the index of names that belongs to them, built in memory."""
    return with_part(sections, NAME_INDEX, name_index_sections)
