"""Mentions of concepts in texts: the answer of an annotation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias, overload

import numpy as np

from cuihop.annotation.options import CONTEXTS, Context
from cuihop.resources.arrays import Int32, Int64, UInt8

__all__ = ["RULES", "Annotation", "Annotations", "Mention", "Rule", "Term", "Vocabulary", "joined_bounds"]

Rule: TypeAlias = Literal["exact", "form", "spacing", "inverted", "tail", "acronym", "abbreviation", "spelling"]
"""Rule by which a text matches a name: see `RULES`."""

RULES: Mapping[Rule, str] = {
    "exact": "the text is the name",
    "form": "in another form: British or American, singular or plural, possessive",
    "spacing": "written together or apart: a hyphen, or none",
    "inverted": "the name in its natural order: “Fracture, hip” as “hip fracture”",
    "tail": "the name without its brackets, or without NOS or NEC",
    "acronym": "a short name in its own capitals",
    "abbreviation": "short for a name, as this text defines it (Schwartz and Hearst 2003)",
    "spelling": "the nearest words: one or two letters differ",
}
"""Rules and their meaning. Case, accents and punctuation never matter, but for acronyms."""


@dataclass(frozen=True, slots=True)
class Term:
    """A name of a concept that matched.

    Attributes:
        cui: the concept.
        name: its preferred name; ``None`` if the release gives none.
        matched: the name that matched.
        sabs: the vocabularies of that name, sorted; empty if the release does not record them.
    """

    cui: str
    name: str | None
    matched: str
    sabs: tuple[str, ...] = ()


class Vocabulary(Sequence[Term]):
    """The terms of a batch of annotations.

    Args:
        terms: distinct.
    """

    def __init__(self, terms: Sequence[Term]) -> None:
        self._terms = terms

    @property
    def cuis(self) -> list[str]:
        """The concept of each term."""
        return [term.cui for term in self]

    def __len__(self) -> int:
        return len(self._terms)

    @overload
    def __getitem__(self, index: int) -> Term: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Term]: ...
    def __getitem__(self, index: int | slice) -> Term | Sequence[Term]:
        return self._terms[index]


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of a concept in a text.

    Attributes:
        start: the first character, from 0. A character is a code point of Unicode.
        end: the character after the last one.
        text: the characters of the mention.
        cui, name, matched, sabs: as in `Term`.
        rule: a rule of `RULES`.
        context: contexts of `CONTEXTS`; empty for a plain statement.
        candidates: all concepts of the mention, best first, this one included; empty unless requested.
    """

    start: int
    end: int
    text: str
    cui: str
    name: str | None
    matched: str
    sabs: tuple[str, ...]
    rule: Rule
    context: tuple[Context, ...] = ()
    candidates: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Annotation(Sequence[Mention]):
    """A text and its mentions, by position. A sequence of `Mention`."""

    text: str
    mentions: tuple[Mention, ...]

    @property
    def cuis(self) -> tuple[str, ...]:
        """The concepts, each once, ascending."""
        return tuple(sorted({mention.cui for mention in self.mentions}))

    def __len__(self) -> int:
        return len(self.mentions)

    def __repr__(self) -> str:
        return f"<Annotation of {len(self.text):,} characters: {len(self):,} mentions of {len(self.cuis):,} concepts>"

    @overload
    def __getitem__(self, index: int) -> Mention: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Mention, ...]: ...
    def __getitem__(self, index: int | slice) -> Mention | tuple[Mention, ...]:
        return self.mentions[index]

    def __iter__(self) -> Iterator[Mention]:
        return iter(self.mentions)


@dataclass(frozen=True, eq=False)
class Annotations(Sequence[Annotation]):
    """Mentions of a batch of texts, in the order of the request. A sequence of `Annotation`.

    Attributes:
        texts: as given.
        indptr: int64, shape (texts + 1,); text i has the mentions ``indptr[i]`` up to ``indptr[i + 1]``.
        starts, ends: int32, shape (mentions,): characters of the text.
        terms: int32, shape (mentions,): indices in `vocabulary`.
        rules: uint8, shape (mentions,): indices in `RULES`.
        marks: the contexts, or a call that gives them at their first use.
        vocabulary: the terms.
        candidates: None unless requested; otherwise bounds, int64, shape (mentions + 1,), and the candidates of all
            mentions, best first, int32, as indices in `vocabulary`.
        left_out: number of mentions left out by their context; ``None`` if the graph does not count them.
    """

    texts: Sequence[str]
    indptr: Int64
    starts: Int32
    ends: Int32
    terms: Int32
    rules: UInt8
    marks: UInt8 | Callable[[], UInt8]
    vocabulary: Vocabulary
    candidates: tuple[Int64, Int32] | None = None
    left_out: int | None = None

    @classmethod
    def of(cls, annotations: Sequence[Annotation]) -> Annotations:
        """The columns of these annotations."""
        index_of: dict[Term, int] = {}

        def place(term: Term) -> int:
            return index_of.setdefault(term, len(index_of))

        mentions = [mention for annotation in annotations for mention in annotation]
        terms = [place(Term(m.cui, m.name, m.matched, m.sabs)) for m in mentions]
        candidates = [place(term) for mention in mentions for term in mention.candidates]
        bounds = np.cumsum([0, *(len(mention.candidates) for mention in mentions)], dtype=np.int64)
        return cls(
            texts=[annotation.text for annotation in annotations],
            indptr=np.cumsum([0, *map(len, annotations)], dtype=np.int64),
            starts=np.array([mention.start for mention in mentions], dtype=np.int32),
            ends=np.array([mention.end for mention in mentions], dtype=np.int32),
            terms=np.array(terms, dtype=np.int32),
            rules=np.array([_RULES.index(mention.rule) for mention in mentions], dtype=np.uint8),
            marks=np.array([sum(1 << _CONTEXTS.index(c) for c in m.context) for m in mentions], dtype=np.uint8),
            vocabulary=Vocabulary(list(index_of)),
            candidates=(bounds, np.array(candidates, dtype=np.int32)) if candidates else None,
        )

    @classmethod
    def joined(cls, batches: Sequence[Annotations]) -> Annotations:
        """The annotations of several batches as those of one, in their order."""
        if len(batches) == 1:
            return batches[0]
        index_of: dict[Term, int] = {}
        new_indices = [
            np.array([index_of.setdefault(term, len(index_of)) for term in batch.vocabulary], dtype=np.int32)
            for batch in batches
        ]
        candidates = None
        if any(batch.candidates is not None for batch in batches):
            candidates_of = [batch.candidates or (np.zeros(len(batch.terms) + 1, np.int64), _NONE) for batch in batches]
            joined = [new[listed] for new, (_, listed) in zip(new_indices, candidates_of, strict=True)]
            candidates = joined_bounds([bounds for bounds, _ in candidates_of]), np.concatenate([_NONE, *joined])
        terms = [new[batch.terms] for new, batch in zip(new_indices, batches, strict=True)]
        return cls(
            texts=[text for batch in batches for text in batch.texts],
            indptr=joined_bounds([batch.indptr for batch in batches]),
            starts=np.concatenate([_NONE, *(batch.starts for batch in batches)]),
            ends=np.concatenate([_NONE, *(batch.ends for batch in batches)]),
            terms=np.concatenate([_NONE, *terms]),
            rules=np.concatenate([np.empty(0, np.uint8), *(batch.rules for batch in batches)]),
            marks=np.concatenate([np.empty(0, np.uint8), *(batch.contexts for batch in batches)]),
            vocabulary=Vocabulary(list(index_of)),
            candidates=candidates,
        )

    @cached_property
    def contexts(self) -> UInt8:
        """Contexts, uint8, shape (mentions,): bit i for the context at index i of `CONTEXTS`."""
        return self.marks() if callable(self.marks) else self.marks

    def concept_lists(self) -> list[list[str]]:
        """The concepts of each text, each once, ascending."""
        cui_of = self.vocabulary.cuis
        cuis = [cui_of[term] for term in self.terms.tolist()]
        bounds = self.indptr.tolist()
        return [sorted(set(cuis[begin:end])) for begin, end in pairwise(bounds)]

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"<Annotations of {len(self):,} texts: {len(self.terms):,} mentions>"

    @overload
    def __getitem__(self, index: int) -> Annotation: ...
    @overload
    def __getitem__(self, index: slice) -> list[Annotation]: ...
    def __getitem__(self, index: int | slice) -> Annotation | list[Annotation]:
        if isinstance(index, slice):
            return [self._annotation(i) for i in range(len(self))[index]]
        return self._annotation(range(len(self))[index])

    def __iter__(self) -> Iterator[Annotation]:
        terms = Vocabulary(list(self.vocabulary))  # each is read once, and used by many mentions
        return map(replace(self, vocabulary=terms).__getitem__, range(len(self)))

    def _annotation(self, i: int) -> Annotation:
        text = self.texts[i]
        return Annotation(text, tuple(self._mention(text, m) for m in range(*self.indptr[i : i + 2].tolist())))

    def _mention(self, text: str, m: int) -> Mention:
        start, end = int(self.starts[m]), int(self.ends[m])
        term, contexts = self.vocabulary[int(self.terms[m])], int(self.contexts[m])
        others: tuple[Term, ...] = ()
        if self.candidates is not None:
            bounds, indices = self.candidates
            others = tuple(self.vocabulary[index] for index in indices[bounds[m] : bounds[m + 1]].tolist())
        return Mention(
            start, end, text[start:end], term.cui, term.name, term.matched, term.sabs, _RULES[self.rules[m]],
            tuple(context for i, context in enumerate(_CONTEXTS) if contexts >> i & 1), others,
        )  # fmt: skip


def joined_bounds(batches: Sequence[Int64]) -> Int64:
    """Bounds of rows that follow one another, from the bounds of each part."""
    return np.cumsum(np.concatenate([np.zeros(1, np.int64), *(np.diff(bounds) for bounds in batches)]))


_NONE: Int32 = np.empty(0, np.int32)
_RULES = tuple(RULES)
_CONTEXTS = tuple(CONTEXTS)
