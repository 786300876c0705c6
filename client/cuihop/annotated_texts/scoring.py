"""Predicted annotations of texts, scored against the true ones: mentions, concepts, and near misses; with counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuihop.annotated_texts.documents import AnnotatedDocument, same_text
from cuihop.annotated_texts.mention_identifiers import IdentifierMap, numbered_concepts, occurrences
from cuihop.annotated_texts.nearest_concepts import MatchedConcepts, NumberedText, nearest_concepts
from cuihop.collection.image_rows import cause_of_strange_name
from cuihop.collection.tables import ReadMapping
from cuihop.errors import InputError, first_few
from cuihop.evaluation.counts import IdentifierCount
from cuihop.evaluation.result import Details, MeasuredQueries
from cuihop.files.content_digest import content_digest
from cuihop.files.text_lines import counted, direction_text, quoted
from cuihop.graph import ConceptGraph, Release
from cuihop.identifiers import in_upper_case, is_identifier
from cuihop.measures.f1 import MatchCounts, SpanMatch, precision_recall_f1, span_counts
from cuihop.measures.measure import Measure
from cuihop.measures.nearness import Nearness
from cuihop.measures.resolution import ResolvedConcepts
from cuihop.resources.arrays import Int64
from cuihop.resources.optional_packages import versions

SPANS, OVERLAP = Measure("span-F1"), Measure("span-F1", options=(("match", "overlap"),))
CONCEPTS, NEAR = Measure("document-F1"), Measure("nn-F1")


@dataclass(frozen=True, eq=False, repr=False)
class TextCollection(ReadMapping[AnnotatedDocument]):
    """Identifier → annotated text."""

    @classmethod
    def of(cls, texts: Iterable[AnnotatedDocument], source: str = "memory") -> TextCollection:
        """Texts that a program holds.

        Raises:
            InputError: two have the same identifier.
        """
        by_identifier: dict[str, AnnotatedDocument] = {}
        for text in texts:
            if text.identifier in by_identifier:
                raise InputError(
                    "two texts of one identifier", file=None if source == "memory" else source,
                    found=quoted(text.identifier), expected="each identifier once",
                )  # fmt: skip
            by_identifier[text.identifier] = text
        return cls(by_identifier, source)

    @property
    def has_spans(self) -> bool:
        """True if every mention has its position in the text."""
        return all(mention.start >= 0 for text in self.values() for mention in text.mentions)

    def _facts(self) -> tuple[str, ...]:
        mentions = sum(len(text.mentions) for text in self.values())
        return counted(len(self), "text"), counted(mentions, "mention")


@dataclass(frozen=True, slots=True)
class AnnotationCounts:
    """Counts of a scoring.

    Attributes:
        texts: of the gold annotations.
        without_predictions: texts without a predicted mention; nothing is found in them.
        not_in_gold: texts of the predictions that the gold annotations do not have; left out.
        empty: texts without a true and without a predicted concept; scored 1.
        true_mentions, predicted_mentions: with a concept, in the texts that are scored; each of several concepts of a
            mention counts.
        composite: true mentions of several concepts.
        without_concept: true mentions without a concept; left out.
        true_concepts, predicted_concepts: of all texts, each counted once in a text.
        identifiers: distinct identifiers of both annotations; occurrences: of their mentions.
        true_identifiers, true_occurrences: those of the gold annotations alone.
        unmapped: true identifiers that neither the map nor the graph has.
        without_prefix: identifiers compared without their prefix.
        unknown, retired: identifiers that match only themselves: not in the graph; retired without an exact successor.
        merged: retired identifiers that were replaced by their successors.
    """

    texts: int
    without_predictions: int
    not_in_gold: int
    empty: int
    true_mentions: int
    predicted_mentions: int
    composite: int
    without_concept: int
    true_concepts: int
    predicted_concepts: int
    identifiers: int
    occurrences: int
    true_identifiers: int
    true_occurrences: int
    unmapped: IdentifierCount
    without_prefix: IdentifierCount
    unknown: IdentifierCount
    retired: IdentifierCount
    merged: IdentifierCount


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AnnotationScores(MeasuredQueries, MatchedConcepts):
    """The result of `score_annotations`: F1 of each text under each measure.

    Its `counts` are `AnnotationCounts`.

    Attributes:
        matches: int64, shape (texts, 6), for each measure: the fields of `MatchCounts`.
    """

    matches: Mapping[Measure, Int64]

    def weight(self, measure: Measure) -> float:
        """The weight of a near concept."""
        return self.nearness.lam if measure == NEAR else 0.0

    def micro(self, measure: Measure) -> MatchCounts:
        """The counts of all texts together."""
        return MatchCounts(*self.matches[measure].sum(axis=0).tolist())

    def _notes(self, *, brief: bool) -> Iterator[str]:
        yield from notes_on_annotations(self.counts, self.parameters, self.release)
        yield from self.notes_on_shared()

    def notes_on_shared(self) -> Iterator[str]:
        """A line, if the two sides have no concept in common."""
        return account_of_shared(self.true.concepts.tolist(), self.predicted.concepts.tolist())

    def _beside(self) -> Iterator[tuple[str, Any]]:
        measure = NEAR if NEAR in self.matches else CONCEPTS
        for column, name in enumerate(MatchCounts._fields):
            if measure == NEAR or not name.startswith("near"):
                yield name, self.matches[measure][:, column]


def score_annotations(
    gold: TextCollection | Iterable[AnnotatedDocument],
    predicted: TextCollection | Iterable[AnnotatedDocument],
    graph: ConceptGraph | None = None,
    *,
    nearness: Nearness = Nearness(unknown="isolated"),
    identifiers: IdentifierMap | None = None,
    leave_out_unmapped: bool = False,
) -> AnnotationScores:
    """Score predicted mentions and concepts of texts.

    ``span-F1``: mentions of the same characters and concept; with ``match=overlap``, mentions of the same concept that
    share a character; both matched one to one, and left out if a side states no places. ``document-F1``: the
    concepts of each text. ``nn-F1``: the same where a near concept counts λ; it needs a graph. Each concept of a
    mention of several counts as a mention of its own.

    Args:
        gold: the true annotations.
        predicted: of the same texts. A text that it lacks has no prediction; others are left out, and counted.
        graph: resolves identifiers, and gives the distances.
        nearness: n, λ, and direction from a true concept to a predicted one; the weight is constant. An identifier
            that the graph does not hold matches only itself, unless ``unknown`` is ``error``.
        identifiers: translates the identifiers of ``gold``; if one has several concepts, any of them is right.
        leave_out_unmapped: leave out true mentions whose identifier neither the map nor the graph has; otherwise
            nothing finds them.

    Raises:
        InvalidCui: an identifier is malformed. ConceptNotFound, ConceptRetired: the graph does not hold one.
        InputError: the two have no text in common, or other texts under one identifier; or ``nearness``
            drops identifiers or weighs by hops; or the graph holds none of
            the identifiers of one of them; or without a graph, the two are of different vocabularies.
    """
    nearness.for_nn_f1()
    gold = gold if isinstance(gold, TextCollection) else TextCollection.of(gold)
    predicted = predicted if isinstance(predicted, TextCollection) else TextCollection.of(predicted)
    _check_texts(gold, predicted)
    others = [predicted.get(name, AnnotatedDocument(name, None)) for name in gold]
    sources = gold.source, predicted.source
    numbers = numbered_concepts(gold.values(), others, graph, identifiers, sources, nearness.unknown)
    if graph is None:
        written = [{numbers.names[n] for numbered in numbers.true.values() for n in numbered},
                   {numbers.names[n] for n in numbers.predicted.values()}]  # fmt: skip
        check_one_vocabulary(written[0], written[1], sources)
    left_out = numbers.unmapped if leave_out_unmapped else frozenset[str]()
    true_spans = [_spans(text, numbers.true, left_out) for text in gold.values()]
    predicted_spans = [_spans(text, numbers.predicted) for text in others]
    texts = [
        NumberedText(sorted({concepts for *_, concepts in ours}), sorted({concept for *_, concept in theirs}))
        for ours, theirs in zip(true_spans, predicted_spans, strict=True)
    ]
    matched = nearest_concepts(texts, numbers.names, numbers.held, graph, nearness)
    matches = {CONCEPTS: matched.of_texts(n=0)}
    if gold.has_spans and predicted.has_spans:
        sides = list(zip(true_spans, predicted_spans, strict=True))
        kinds: dict[Measure, SpanMatch] = {SPANS: "strict", OVERLAP: "overlap"}
        matches = {
            measure: np.array([span_counts(ours, theirs, match) for ours, theirs in sides], dtype=np.int64)
            for measure, match in kinds.items()
        } | matches
    if graph is not None:
        matches[NEAR] = matched.of_texts()
    true_times = occurrences(gold.values())
    counts = AnnotationCounts(
        texts=len(texts),
        without_predictions=sum(not spans for spans in predicted_spans),
        not_in_gold=len(predicted.keys() - gold.keys()),
        empty=sum(not text.true and not text.predicted for text in texts),
        true_mentions=sum(map(len, true_spans)),
        predicted_mentions=sum(map(len, predicted_spans)),
        true_concepts=len(matched.true),
        predicted_concepts=len(matched.predicted),
        composite=sum(len(mention.cuis) > 1 for text in gold.values() for mention in text.mentions),
        without_concept=sum(not mention.cuis for text in gold.values() for mention in text.mentions),
        true_identifiers=len(true_times),
        true_occurrences=true_times.total(),
        **identifier_counts(
            numbers.resolved, true_times + occurrences(others), unmapped=numbers.unmapped, without_prefix=numbers.bare
        ),
    )
    gold_mentions = {name: sorted([m.start, m.end, *m.cuis] for m in text.mentions) for name, text in gold.items()}
    return AnnotationScores(
        measures=tuple(matches),
        queries=tuple(gold),
        values=np.stack(
            [precision_recall_f1(rows, nearness.lam if m == NEAR else 0.0)[:, 2] for m, rows in matches.items()], axis=1
        ),
        release=None if graph is None else graph.release,
        versions=versions("cuihop", "numpy"),
        details=Details(
            counts,
            {
                "measures": [str(measure) for measure in matches],
                **(nearness.fields() if graph is not None else {}),
                "gold": gold.source,
                "predictions": predicted.source,
                "map": None if identifiers is None else identifiers.source,
                "leave_out_unmapped": leave_out_unmapped,
                "digests": {
                    "gold": content_digest([gold_mentions, leave_out_unmapped]),
                    "map": None if identifiers is None else identifiers.digest,
                },
            },
            {
                "gold": gold.account,
                "predictions": predicted.account,
                **({} if identifiers is None else {"map": identifiers.account}),
            },
        ),
        matches=matches,
        **vars(matched),
    )


def _check_texts(gold: TextCollection, predicted: TextCollection) -> None:
    """Refuse annotations without a common text, or with other characters in it."""
    if not gold:
        raise InputError("no texts", file=gold.source, found="nothing", expected="annotated texts")
    common = gold.keys() & predicted.keys()
    if predicted and not common:
        name = next(iter(predicted))
        raise InputError(
            "no text is in both annotations", file=predicted.source, found=quoted(name),
            expected=f"the identifiers of {gold.source}, such as {quoted(next(iter(gold)))}",
            advice=cause_of_strange_name(name, gold),
        )  # fmt: skip
    if not (gold.has_spans and predicted.has_spans):
        return
    for name in gold:
        if name in common:
            ours, theirs = gold[name].text, predicted[name].text
            if ours is not None and theirs is not None and not same_text(ours, theirs):
                raise InputError(
                    f"not the text of {gold.source}", file=predicted.source, column=f"text {name}",
                    found=quoted(theirs), expected=quoted(ours),
                    advice="Places in one text are not those in the other. Annotate the same text.",
                )  # fmt: skip


def _spans(
    text: AnnotatedDocument, numbers: Mapping[str, Any], left_out: Collection[str] = ()
) -> list[tuple[int, int, Any]]:
    """Distinct mentions of one concept each, by position: start, end, and the numbers of the concept."""
    return sorted({(m.start, m.end, numbers[each]) for m in text.mentions for each in m.cuis if each not in left_out})


def identifier_counts(resolved: ResolvedConcepts, times: Counter[str], **others: Iterable[str]) -> dict[str, Any]:
    """Fields of counts about the identifiers of both sides, with their occurrences; ``others`` are of further kinds."""
    kinds = {**others, "unknown": resolved.unknown, "retired": resolved.retired, "merged": resolved.merged}
    return {
        "identifiers": len(times),
        "occurrences": times.total(),
        **{
            kind: IdentifierCount(tuple(sorted(identifiers)), sum(times[each] for each in identifiers))
            for kind, identifiers in kinds.items()
        },
    }


def notes_on_annotations(
    counts: AnnotationCounts, parameters: Mapping[str, Any], release: Release | None
) -> Iterator[str]:
    """Lines about everything out of the ordinary, and how it was treated."""
    yield (
        f"{counted(counts.texts, 'text')}: {counts.true_mentions:,} true and {counts.predicted_mentions:,} predicted "
        f"mentions, {counts.true_concepts:,} true and {counts.predicted_concepts:,} predicted concepts"
    )
    if "span-F1" not in parameters["measures"]:
        yield "mentions without places: only the concepts of each text are scored"
    if release is None:
        yield "without a graph: no near misses, and identifiers are compared as they are written"
    else:
        yield f"n = {parameters['n']}, λ = {parameters['lambda']}, hops {direction_text(parameters['direction'])}"
        yield f"release {release.name}, digest {release.digest[:12]}"
    if counts.without_predictions:
        yield f"{counted(counts.without_predictions, 'text')} without a prediction: nothing is found there"
    if counts.not_in_gold:
        yield f"{counted(counts.not_in_gold, 'text')} of the predictions not in the gold annotations: left out"
    if counts.empty:
        yield f"{counted(counts.empty, 'text')} without a true and without a predicted concept: scored 1"
    if counts.composite:
        yield f"{counted(counts.composite, 'true mention')} of several concepts: each concept counts"
    if counts.without_concept:
        yield f"{counted(counts.without_concept, 'true mention')} without a concept: left out"
    treated = "left out" if parameters["leave_out_unmapped"] else "nothing finds them"
    unmapped = (counts.unmapped, f"of the gold annotations neither in the map nor in the graph: {treated}")
    yield from _notes_on_kinds([unmapped], counts.true_identifiers, counts.true_occurrences)
    yield from notes_on_identifiers(counts, (counts.without_prefix, "compared without their prefix"))


def notes_on_identifiers(
    counts: Any, *others: tuple[IdentifierCount, str], merged: str = "retired, replaced by their successors"
) -> Iterator[str]:
    """A line about each kind of identifiers that there is; ``merged`` is the treatment of those with a successor."""
    kinds = (
        *others,
        (counts.unknown, "not in the graph: match only themselves"),
        (counts.retired, "retired without an exact successor: match only themselves"),
        (counts.merged, merged),
    )
    return _notes_on_kinds(kinds, counts.identifiers, counts.occurrences)


def _notes_on_kinds(kinds: Iterable[tuple[IdentifierCount, str]], identifiers: int, occurrences: int) -> Iterator[str]:
    for kind, meaning in kinds:
        if kind.distinct:
            yield (
                f"{kind.distinct:,} of {counted(identifiers, 'identifier')}, {kind.occurrences:,} of "
                f"{counted(occurrences, 'occurrence')}, {meaning} ({first_few(list(kind.identifiers))})"
            )


def check_one_vocabulary(true: Collection[str], predicted: Collection[str], sources: tuple[str, str]) -> None:
    """Refuse concepts that share none with the true ones, and are written in other forms: every value would be 0."""
    ours, theirs = (sorted(filter(None, set(side))) for side in (true, predicted))
    forms = set(map(_form, ours))
    if not ours or not theirs or not set(ours).isdisjoint(theirs) or not forms.isdisjoint(map(_form, theirs)):
        return
    raise InputError(
        "no predicted concept is a true one, and all are written in another form",
        file=None if sources[1] == "memory" else sources[1], found=f"such as {quoted(theirs[0])}",
        expected=f"identifiers of the vocabulary of {sources[0]}, such as {quoted(ours[0])}",
        advice="Translate one of them, or take the file of the same vocabulary.",
    )  # fmt: skip


def account_of_shared(true: Collection[int], predicted: Collection[int]) -> Iterator[str]:
    """A line about two sides without a common concept, each by the numbers of its concepts."""
    if true and predicted and set(true).isdisjoint(predicted):
        yield "no predicted concept is a true one of any text or image: are both of the same vocabulary?"


def _form(identifier: str) -> str:
    """The form of an identifier: CUI, the prefix of an ontology, another code, or a word."""
    if is_identifier(in_upper_case(identifier)):
        return "CUI"
    prefix, colon, _ = identifier.partition(":")
    return prefix.lower() + colon if colon else "code" if re.search("[0-9]", identifier) else "word"
