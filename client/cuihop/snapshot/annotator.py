"""Concepts of texts by the names of a snapshot."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import overload

import numpy as np

from cuihop.annotation.abbreviations import definitions
from cuihop.annotation.characters import CharacterClasses, coded
from cuihop.annotation.context import contexts
from cuihop.annotation.mentions import RULES, Annotations, Term, Vocabulary, joined_bounds
from cuihop.annotation.options import CONTEXTS, AnnotationOptions
from cuihop.annotation.semantic_groups import selected_types
from cuihop.annotation.texts import blocks_of_texts, checked_texts
from cuihop.annotation.tokens import Tokeniser, Tokens
from cuihop.errors import InputError, first_few
from cuihop.resources.arrays import Bool, Int32, Int64, UInt8, UInt32, bounds_of
from cuihop.resources.progress import check_interruption
from cuihop.snapshot.concept_records import ConceptRecords
from cuihop.snapshot.file import Sections
from cuihop.snapshot.string_table import IdentifierTable
from cuihop.snapshot.term_table import TermTable
from cuihop.snapshot.word_forms import form_of

_CHARACTERS_AT_A_TIME = 1 << 18
_PAIRS_AT_A_TIME = 1 << 22  # numbers of concepts, two for each pair
_MASKS = 8  # cached, for as many choices of names
_FAR = 8  # most hops that count between two concepts of a text; one more stands for a longer distance
_SHORTEST_CORRECTED = 6  # letters of a word that may be misspelt


class Annotator:
    """Annotation with the names of a snapshot. Threads may share it.

    Args:
        hops: distances of pairs of concepts, given as positions one after the other, up to a bound; -1 for longer ones.
        nearest: the nearest word that names have; the word itself where they have it, or none is near.
    """

    def __init__(
        self,
        sections: Sections,
        table: TermTable,
        records: ConceptRecords,
        cuis: IdentifierTable,
        *,
        hops: Callable[[Int32, int], Int32],
        nearest: Callable[[str], str],
    ) -> None:
        self._sections = sections
        self._table = table
        self._records = records
        self._cuis = cuis
        self._hops = hops
        self._indptr: Int32 = sections["name_indptr"]
        self._offsets: Int64 = sections["name_offsets"]
        self._blob: UInt8 = sections["name_blob"]
        self._tokeniser = Tokeniser(form_of)
        self._correcting = Tokeniser(partial(_corrected_form, nearest))
        self._lock = threading.Lock()
        self._masks: dict[tuple[tuple[str, ...], ...], UInt8] = {}

    def annotate(self, texts: Sequence[str], options: AnnotationOptions) -> Annotations:
        """See `cuihop.graph.ConceptGraph.annotate_many`."""
        from cuihop._kernels import mentions as kernels

        texts = checked_texts(texts)
        usable = self._mask(options)
        blocks = blocks_of_texts(texts, max(1, len(texts)), _CHARACTERS_AT_A_TIME)
        blocks_of_mentions = [self._part(texts[block], options, usable) for block in blocks]
        mentions = _Found.joined(blocks_of_mentions)
        others = mentions.candidates
        used, terms = kernels.distinct_numbers(
            mentions.chosen if others is None else np.concatenate([mentions.chosen, others[1]])
        )
        count = len(mentions.chosen)
        starts, ends = mentions.places[:, 0].copy(), mentions.places[:, 1].copy()
        later = partial(_contexts, texts, mentions.indptr, starts, ends, self._tokeniser.characters)
        return Annotations(
            texts=texts,
            indptr=mentions.indptr,
            starts=starts,
            ends=ends,
            terms=terms[:count],
            rules=mentions.rules,
            marks=later if mentions.contexts is None else mentions.contexts,
            vocabulary=_SnapshotVocabulary(self._table.rows[used], self._indptr, self._records, self._cuis),
            candidates=None if others is None else (others[0], terms[count:]),
            left_out=mentions.left_out,
        )

    def _part(self, texts: Sequence[str], options: AnnotationOptions, usable: UInt8) -> _Found:
        from cuihop._kernels import mentions as kernels

        check_interruption()
        table = self._table
        text, bounds = coded(texts)
        tokens = self._tokeniser.tokens(bounds, text)
        misspelt = np.empty(0, dtype=np.int64)
        if options.correct_spelling:
            corrected = self._correcting.tokens(bounds, text)
            misspelt = np.flatnonzero(corrected.keys[:, 0] != tokens.keys[:, 0])
            tokens = corrected
        indptr, positions = kernels.mentions_of(
            tokens.bounds, tokens.places, tokens.keys, _abbreviations(text, bounds, self._tokeniser.characters),
            table.hashes, table.buckets, table.rows, table.rules, table.words,
            usable, options.general, options.longest,
        )  # fmt: skip
        of_text = np.repeat(np.arange(len(texts)), np.diff(indptr))
        if not options.longest:
            distinct = _distinct_mentions(of_text, positions)
            of_text, positions = of_text[distinct], positions[distinct]
        flags = None
        all_mentions = len(positions)
        if options.leave_out:
            starts = bounds[of_text]
            flags = contexts(
                text, bounds, self._tokeniser.characters, of_text, starts + positions[:, 0], starts + positions[:, 1]
            )
            unwanted = sum(1 << list(CONTEXTS).index(context) for context in set(options.leave_out))
            allowed = flags & np.uint8(unwanted) == 0
            of_text, positions, flags = of_text[allowed], positions[allowed], flags[allowed]
        selected, rules, others = self._names(positions, of_text, bounds, text, usable, options)
        rules[_with_any(misspelt, tokens, of_text, positions)] = list(RULES).index("spelling")
        indptr = bounds_of(np.bincount(of_text, minlength=len(texts)))
        return _Found(indptr, positions, selected, rules, flags, others, all_mentions - len(positions))

    def _names(
        self, positions: Int32, of_text: Int64, bounds: Int64, text: UInt32, usable: UInt8, options: AnnotationOptions
    ) -> tuple[Int32, UInt8, tuple[Int64, Int32] | None]:
        """The candidate of each mention, its rule, and all candidates if requested."""
        from cuihop._kernels import mentions as kernels

        table = self._table
        others = None
        if options.candidates or options.disambiguate == "context":
            others = kernels.candidates_of(
                positions[:, 2].copy(), table.rows, table.rules, usable, options.general, self._indptr
            )
        if others is not None and options.disambiguate == "context":
            positions[:, 2] = self._nearest_candidates(of_text, *others)
        selected = np.empty(len(positions), dtype=np.int32)
        rules = np.empty(len(positions), dtype=np.uint8)
        characters = self._tokeniser.characters
        unknown = np.uint32(1)
        while unknown:
            unknown = kernels.names_of(
                positions, of_text, bounds, text, characters.classes, characters.folds, characters.several,
                table.rows, table.rules, usable, self._indptr, self._offsets, self._blob,
                selected, rules,
            )  # fmt: skip
            characters.classify(np.array([unknown], dtype=np.uint32))
        if others is None or not options.candidates:
            return selected, rules, None
        return selected, rules, _chosen_first(selected, *others, self._concepts)

    def _concepts(self, candidates: Int32) -> Int64:
        """The concept of each candidate."""
        positions: Int64 = np.searchsorted(self._indptr, self._table.rows[candidates], side="right") - 1
        return positions

    def _nearest_candidates(self, of_text: Int64, bounds: Int64, candidates: Int32) -> Int32:
        """For each mention the candidate with the fewest hops in sum to the text's other concepts, then the best."""
        best: Int32 = candidates[bounds[:-1]]
        for batch in _batches(_ambiguous_pairs(of_text, bounds, self._concepts(candidates))):
            hops = self._hops(np.concatenate([pairs for _, _, pairs in batch]), _FAR)
            hops = np.where(hops < 0, _FAR + 1, hops)
            at = 0
            for mention, count, pairs in batch:
                end = at + len(pairs) // 2
                sums = hops[at:end].reshape(count, -1).sum(axis=1)
                best[mention] = candidates[bounds[mention] + int(np.argmin(sums))]
                at = end
        return best

    def _mask(self, options: AnnotationOptions) -> UInt8:
        """1 for each name that may match; of the last few choices. No decorator: it would hold the annotator."""
        choice = options.semantic_types, options.sabs, options.stop
        with self._lock:
            if choice not in self._masks:
                if len(self._masks) == _MASKS:
                    del self._masks[next(iter(self._masks))]
                self._masks[choice] = self._usable(*choice)
            return self._masks[choice]

    def _usable(self, semantic_types: tuple[str, ...], sabs: tuple[str, ...], stop: tuple[str, ...]) -> UInt8:
        """1 for each name that may match, uint8, shape (names,)."""
        if not (semantic_types or sabs or stop):
            return np.empty(0, dtype=np.uint8)
        usable = np.ones(int(self._indptr[-1]), dtype=np.uint8)
        if semantic_types:
            usable &= np.repeat(self._concepts_of_types(semantic_types), np.diff(self._indptr))
        if sabs:
            usable &= self._names_of_vocabularies(sabs)
        if stop:
            positions = self._cuis.positions(stop)
            for position in positions[positions >= 0].tolist():
                usable[self._indptr[position] : self._indptr[position + 1]] = 0
            usable[
                self._table.names_of([text for text, position in zip(stop, positions, strict=True) if position < 0])
            ] = 0
        return usable

    def _concepts_of_types(self, requested: tuple[str, ...]) -> UInt8:
        """1 for each concept with one of these semantic types, uint8, shape (concepts,)."""
        sections = self._sections
        selected = selected_types(requested, [(code, name) for code, name in sections.meta["semantic_types"]])
        of_type = np.isin(sections["type_indices"], np.array(sorted(selected), dtype=np.int32))
        concepts = np.repeat(np.arange(len(self._cuis)), np.diff(sections["type_indptr"]))
        of_types = np.zeros(len(self._cuis), dtype=np.uint8)
        of_types[concepts[of_type]] = 1
        return of_types

    def _names_of_vocabularies(self, requested: tuple[str, ...]) -> UInt8:
        """1 for each name of one of these vocabularies, uint8, shape (names,)."""
        held = self._records.all_name_sabs
        if held is None:
            raise InputError(
                "the vocabularies of the names are not recorded", column="sabs", found=", ".join(requested),
                expected="a release loaded by this version of cuihop from MRCONSO or OBO",
            )  # fmt: skip
        if unknown := [sab for sab in requested if sab not in held]:
            raise InputError(
                "no name of this release comes from such a vocabulary", column="sabs", found=first_few(unknown),
                expected=f"one of {first_few(held)}",
            )  # fmt: skip
        return self._records.names_of_sabs(requested).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class _Found:
    """Mentions of some texts: see `Annotations`.

    Attributes:
        indptr, rules, contexts: as there.
        places: int32, shape (mentions, 4): first character, the one after the last; the others are of no use.
        chosen: int32, shape (mentions,): the candidate.
        candidates: bounds and candidates.
        left_out: number of mentions left out by their context.
    """

    indptr: Int64
    places: Int32
    chosen: Int32
    rules: UInt8
    contexts: UInt8 | None
    candidates: tuple[Int64, Int32] | None
    left_out: int

    @classmethod
    def joined(cls, chunks: Sequence[_Found]) -> _Found:
        if len(chunks) == 1:
            return chunks[0]
        others = [chunk.candidates for chunk in chunks if chunk.candidates is not None]
        return cls(
            joined_bounds([chunk.indptr for chunk in chunks]),
            np.concatenate([chunk.places for chunk in chunks]),
            np.concatenate([chunk.chosen for chunk in chunks]),
            np.concatenate([chunk.rules for chunk in chunks]),
            None
            if chunks[0].contexts is None
            else np.concatenate([chunk.contexts for chunk in chunks if chunk.contexts is not None]),
            (joined_bounds([bounds for bounds, _ in others]), np.concatenate([candidates for _, candidates in others]))
            if others
            else None,
            sum(chunk.left_out for chunk in chunks),
        )


class _SnapshotVocabulary(Vocabulary):
    """Terms of a snapshot, read from its records when they are wanted."""

    def __init__(self, rows: Int32, indptr: Int32, records: ConceptRecords, cuis: IdentifierTable) -> None:
        self._rows = rows
        self._positions = np.searchsorted(indptr, rows, side="right") - 1
        self._records = records
        self._cuis = cuis

    @property
    def cuis(self) -> list[str]:
        """The concept of each term."""
        return self._cuis.at(self._positions)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Term: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Term]: ...
    def __getitem__(self, index: int | slice) -> Term | Sequence[Term]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        position, row = int(self._positions[index]), int(self._rows[index])
        records = self._records
        return Term(self._cuis[position], records.name(position), records.strings[row], records.name_sabs(row))


def _corrected_form(nearest: Callable[[str], str], word: str) -> str:
    """The form of a word, or of the nearest one that begins alike."""
    check_interruption()
    form = form_of(word)
    if len(word) < _SHORTEST_CORRECTED:
        return form
    corrected = nearest(word)
    return form_of(corrected) if corrected[0] == word[0] else form


def _contexts(texts: Sequence[str], indptr: Int64, starts: Int32, ends: Int32, characters: CharacterClasses) -> UInt8:
    """Contexts of mentions: see `Annotations`."""
    flags = np.empty(len(starts), dtype=np.uint8)
    for block in blocks_of_texts(texts, max(1, len(texts)), _CHARACTERS_AT_A_TIME):
        text, bounds = coded(texts[block])
        of_text = np.repeat(np.arange(len(bounds) - 1), np.diff(indptr[block.start : block.stop + 1]))
        rows = slice(int(indptr[block.start]), int(indptr[block.stop]))
        first = bounds[of_text]
        flags[rows] = contexts(text, bounds, characters, of_text, first + starts[rows], first + ends[rows])
    return flags


def _abbreviations(text: UInt32, bounds: Int64, characters: CharacterClasses) -> Int64:
    """Definitions in these texts as `cuihop._kernels.mentions.mentions_of` takes them."""
    rows = definitions(text, bounds, characters)
    rows[:, 1:] -= bounds[rows[:, 0], None]
    return rows


def _ambiguous_pairs(of_text: Int64, bounds: Int64, concepts: Int64) -> Iterator[tuple[int, int, Int32]]:
    """Each ambiguous mention, the number of its candidates, and the pairs of each of them with the text's concepts."""
    starts = np.searchsorted(of_text, np.arange(of_text[-1] + 2)) if len(of_text) else np.zeros(1, dtype=np.int64)
    clear = np.diff(bounds) == 1
    for mention in np.flatnonzero(np.diff(bounds) > 1).tolist():
        rows = np.arange(starts[of_text[mention]], starts[of_text[mention] + 1])
        own = concepts[bounds[mention] : bounds[mention + 1]]
        unambiguous_rows = rows[clear[rows]]
        context = np.unique(concepts[bounds[unambiguous_rows if len(unambiguous_rows) else rows[rows != mention]]])
        pairs = np.stack([np.repeat(own, len(context)), np.tile(context, len(own))], axis=1).ravel()
        yield mention, len(own), pairs.astype(np.int32)


def _batches(mentions: Iterator[tuple[int, int, Int32]]) -> Iterator[list[tuple[int, int, Int32]]]:
    """Mentions with their pairs, some of them together, so that a long text takes bounded memory."""
    batch: list[tuple[int, int, Int32]] = []
    filled = 0
    for mention in mentions:
        check_interruption()
        batch.append(mention)
        filled += len(mention[2])
        if filled > _PAIRS_AT_A_TIME:
            yield batch
            batch, filled = [], 0
    if batch:
        yield batch


def _distinct_mentions(of_text: Int64, positions: Int32) -> Int64:
    """Order of mentions by text, start and length, without those of the same characters but for the first."""
    order = np.lexsort((np.arange(len(positions)), positions[:, 1], positions[:, 0], of_text))
    columns = np.stack([of_text[order], positions[order, 0], positions[order, 1]], axis=1)
    distinct: Int64 = order[np.r_[True, (columns[1:] != columns[:-1]).any(axis=1)][: len(order)]]
    return distinct


def _with_any(tokens_at: Int64, tokens: Tokens, of_text: Int64, positions: Int32) -> Bool:
    """True for each mention with one of these tokens."""
    if not len(tokens_at):
        return np.zeros(len(positions), dtype=np.bool_)
    wide = np.int64(1) << 32
    rows = np.searchsorted(tokens.bounds, tokens_at, side="right") - 1
    at = rows * wide + tokens.places[tokens_at, 0]
    low, high = (np.searchsorted(at, of_text * wide + positions[:, column]) for column in (0, 1))
    return low < high


def _chosen_first(
    selected: Int32, bounds: Int64, candidates: Int32, concepts: Callable[[Int32], Int64]
) -> tuple[Int64, Int32]:
    """Candidates with the chosen one of each mention first, in place of that of its concept."""
    mention = np.repeat(np.arange(len(selected)), np.diff(bounds))
    own = concepts(candidates) == concepts(selected)[mention]
    candidates = np.where(own, selected[mention], candidates).astype(np.int32)
    order = np.lexsort((np.arange(len(candidates)), ~own, mention))
    return bounds, candidates[order]
