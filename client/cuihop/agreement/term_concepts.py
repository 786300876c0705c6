"""Concepts of terms: by identifier, and by names of the graph and from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cuihop.agreement.scored_pairs import ScoredPair
from cuihop.annotation.mentions import RULES, Annotation
from cuihop.annotation.options import AnnotationOptions
from cuihop.collection.concept_tables import ConceptSynonyms
from cuihop.errors import InputError
from cuihop.files.text_lines import counted
from cuihop.graph import ConceptGraph
from cuihop.identifiers import in_upper_case
from cuihop.snapshot.string_table import folded
from cuihop.snapshot.word_forms import form_key

__all__ = ["MappedTerms", "MappingRule", "TermConcepts", "mapped_terms"]

MappingRule: TypeAlias = Literal[
    "identifier", "file", "exact", "form", "spacing", "inverted", "tail", "acronym", "abbreviation"
]
"""Rule for the concepts of a term: the term is an identifier; the file of pairs gives the concept; a name is the term
(``exact``); or another rule of `cuihop.annotation.mentions.RULES`."""

_MOST_CONCEPTS = 100
_OPTIONS = AnnotationOptions(longest=False, candidates=True, general=True)


@dataclass(frozen=True, slots=True)
class TermConcepts:
    """The concepts of a term, ascending, and the rule behind them."""

    cuis: tuple[str, ...]
    rule: MappingRule


@dataclass(frozen=True)
class MappedTerms:
    """Terms of a file of pairs and their concepts.

    Attributes:
        concepts: of each side of each pair, ``None`` if the term has none: shape (pairs, 2).
        terms: distinct term → its concepts, in the order of the file; of a term that the file gives several concepts,
            those of its first occurrence.
        names: names from elsewhere that were used: concept of the graph and name.
        outside: those whose concept is not in the graph.
    """

    concepts: tuple[tuple[TermConcepts | None, TermConcepts | None], ...]
    terms: Mapping[str, TermConcepts | None]
    names: int = 0
    outside: int = 0

    @property
    def unmapped(self) -> tuple[str, ...]:
        """The terms without a concept, in the order of the file."""
        return tuple(term for term, concepts in self.terms.items() if concepts is None)

    @property
    def rules(self) -> dict[MappingRule, int]:
        """Rule → number of terms, the most frequent first."""
        return dict(Counter(concepts.rule for concepts in self.terms.values() if concepts is not None).most_common())

    @property
    def ambiguous(self) -> int:
        """Number of terms with several concepts."""
        return sum(concepts is not None and len(concepts.cuis) > 1 for concepts in self.terms.values())

    @property
    def account(self) -> str:
        """The terms and their rules, in one line."""
        mapped = len(self.terms) - len(self.unmapped)
        rules = ", ".join(f"{rule} {count:,}" for rule, count in self.rules.items())
        several = f"; {self.ambiguous:,} have several concepts, of which the best pair counts" if self.ambiguous else ""
        return f"{mapped:,} of {counted(len(self.terms), 'term')} mapped{f' ({rules})' if rules else ''}{several}"


def mapped_terms(pairs: Sequence[ScoredPair], graph: ConceptGraph, names: ConceptSynonyms | None = None) -> MappedTerms:
    """Map the terms of pairs to concepts of a graph.

    A term that is an identifier of the graph is that concept. Next comes the concept that the file gives, if the graph
    holds it. Then names decide: all concepts with a name equal to the term but for case, accents and punctuation; where
    there is none, all concepts that annotation finds for the complete term, by a rule that is certain: form, spacing,
    inverted, tail, acronym.

    Args:
        pairs: the terms. graph: the graph. names: further names.
    """
    sides = [side for pair in pairs for side in ((pair.a, pair.cui_a), (pair.b, pair.cui_b))]
    terms = list(dict.fromkeys(term for term, _ in sides))
    identified = _identified(graph, (text for side in sides for text in side))
    unnamed = [term for term in terms if term not in identified]
    further, outside = _Further.of(graph, names)
    named = _exactly_named(graph, unnamed, further)
    named |= _otherwise_named(graph, [term for term in unnamed if term not in named], further)

    def concepts(term: str, stated: str) -> TermConcepts | None:
        if term in identified:
            return TermConcepts((identified[term],), "identifier")
        if stated in identified:
            return TermConcepts((identified[stated],), "file")
        return named.get(term)

    mapped = [concepts(term, stated) for term, stated in sides]
    of_terms: dict[str, TermConcepts | None] = {}
    for (term, _), one in zip(sides, mapped, strict=True):
        of_terms[term] = of_terms.get(term) or one
    return MappedTerms(tuple(zip(mapped[::2], mapped[1::2], strict=True)), of_terms, further.count, outside)


def _identified(graph: ConceptGraph, texts: Iterable[str]) -> dict[str, str]:
    """Identifiers among texts → their concepts."""
    distinct = {text: in_upper_case(text) for text in texts if text}
    resolutions = zip(distinct, graph.resolve(list(distinct.values())), strict=True)
    return {text: resolved.cui for text, resolved in resolutions if resolved.cui is not None}


@dataclass(frozen=True)
class _Further:
    """Names from elsewhere: their number, and concepts by folded name and by the forms of its words."""

    count: int
    by_name: Mapping[str, set[str]]
    by_form: Mapping[str, set[str]]

    @classmethod
    def of(cls, graph: ConceptGraph, names: ConceptSynonyms | None) -> tuple[_Further, int]:
        """The names whose concept the graph holds, and the number of the others."""
        by_name: dict[str, set[str]] = {}
        by_form: dict[str, set[str]] = {}
        pairs = () if names is None else names.names
        held = _identified(graph, (cui for cui, _ in pairs))
        used = [(held[cui], folded(name)) for cui, name in pairs if cui in held]
        for cui, name in used:
            by_name.setdefault(name, set()).add(cui)
            by_form.setdefault(form_key(name), set()).add(cui)
        return cls(len(used), by_name, by_form), len(pairs) - len(used)


def _exactly_named(graph: ConceptGraph, terms: Sequence[str], further: _Further) -> dict[str, TermConcepts]:
    """The concepts with a name equal to a term."""
    concepts: dict[str, TermConcepts] = {}
    for term in terms:
        if not (plain := folded(term)):
            continue
        hits = graph.search(term, limit=_MOST_CONCEPTS)
        cuis = {hit.cui for hit in hits if hit.kind == "exact"}
        cuis |= further.by_name.get(plain, set())
        if cuis:
            concepts[term] = TermConcepts(tuple(sorted(cuis)), "exact")
    return concepts


def _otherwise_named(graph: ConceptGraph, terms: Sequence[str], further: _Further) -> dict[str, TermConcepts]:
    """The concepts of complete terms by annotation, and by the forms of further names."""
    concepts: dict[str, TermConcepts] = {}
    annotations: Sequence[Annotation] = [Annotation(term, ()) for term in terms]
    if terms:
        with suppress(InputError):  # a graph without names
            annotations = graph.annotate_many(terms, _OPTIONS)
    order = list(RULES)
    for term, annotation in zip(terms, annotations, strict=True):
        complete = [mention for mention in annotation if mention.end - mention.start == len(term)]
        mention = min(complete, key=lambda each: order.index(each.rule), default=None)
        cuis = set() if mention is None else {each.cui for each in mention.candidates} | {mention.cui}
        rule = "form" if mention is None else mention.rule
        if rule in ("exact", "form"):
            cuis |= further.by_form.get(form_key(folded(term)), set())
        if cuis and rule != "spelling":
            concepts[term] = TermConcepts(tuple(sorted(cuis)[:_MOST_CONCEPTS]), rule)
    return concepts
