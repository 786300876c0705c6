"""Predicted annotations of texts, scored against the true ones: mentions, concepts, and near misses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.annotated_texts.concept_numbers import ConceptNumbers, numbered_concepts
from cuihop.annotated_texts.documents import AnnotatedDocument, same_text
from cuihop.annotated_texts.identifier_map import IdentifierMap
from cuihop.annotated_texts.nearest_concepts import (
    NumberedText,
    ScoredConcepts,
    matches_of_texts,
    nearest_concepts,
)
from cuihop.annotated_texts.scoring_counts import AnnotationCounts, account_of_annotations, identifier_counts
from cuihop.collection.shared_concepts import account_of_shared, check_one_vocabulary
from cuihop.errors import InputError
from cuihop.evaluation.result import Details, MeasuredQueries
from cuihop.files.content_digest import content_digest
from cuihop.files.likely_causes import cause_of_strange_name
from cuihop.files.text_lines import counted, quoted
from cuihop.graph import ConceptGraph
from cuihop.measures.match_counts import MatchCounts, precision_recall_f1
from cuihop.measures.measure import Measure
from cuihop.measures.nearness import Nearness
from cuihop.measures.span_f1 import SpanMatch, span_counts
from cuihop.resources.versions import versions

Int64 = npt.NDArray[np.int64]

SPANS, OVERLAP = Measure("span-F1"), Measure("span-F1", options=(("match", "overlap"),))
CONCEPTS, NEAR = Measure("document-F1"), Measure("nn-F1")

_TrueSpan: TypeAlias = tuple[int, int, tuple[int, ...]]
_PredictedSpan: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class TextCollection:
    """Annotated texts, each with its own identifier.

    Attributes:
        texts: identifier → text. source: the file. form: how it was read.
    """

    texts: Mapping[str, AnnotatedDocument]
    source: str = "memory"
    form: str = ""

    @classmethod
    def of(cls, texts: Iterable[AnnotatedDocument], source: str = "memory", form: str = "") -> TextCollection:
        """Texts that a program holds.

        Raises:
            InputError: two have the same identifier.
        """
        found: dict[str, AnnotatedDocument] = {}
        for text in texts:
            if text.identifier in found:
                raise InputError(
                    "two texts of one identifier", file=None if source == "memory" else source,
                    found=quoted(text.identifier), expected="each identifier once",
                )  # fmt: skip
            found[text.identifier] = text
        return cls(found, source, form)

    @property
    def has_spans(self) -> bool:
        """True where every mention has its place in the text."""
        return all(mention.start >= 0 for text in self.texts.values() for mention in text.mentions)

    @property
    def account(self) -> str:
        """Summary of the input, in one line."""
        mentions = sum(len(text.mentions) for text in self.texts.values())
        parts = counted(len(self.texts), "text"), counted(mentions, "mention"), self.form
        return f"{self.source}: {', '.join(filter(None, parts))}"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AnnotationScores(MeasuredQueries):
    """The result of `score_annotations`: F1 of each text under each measure.

    Its `counts` are `AnnotationCounts`.

    Attributes:
        matches: int64, shape (texts, 6), for each measure: the fields of `MatchCounts`.
        true, predicted: the concepts of all texts, with the nearest concept of the other side.
        concepts: names of their numbers. held: the number of those in the graph, which come first.
        nearness: n, λ and direction.
    """

    matches: Mapping[Measure, Int64]
    true: ScoredConcepts
    predicted: ScoredConcepts
    concepts: Sequence[str]
    held: int
    nearness: Nearness

    def weight(self, measure: Measure) -> float:
        """The weight of a near concept."""
        return _weight(measure, self.nearness)

    def micro(self, measure: Measure) -> MatchCounts:
        """The counts of all texts together."""
        return MatchCounts(*self.matches[measure].sum(axis=0).tolist())

    def each(self, measure: Measure) -> list[MatchCounts]:
        """The counts of each text."""
        return [MatchCounts(*row) for row in self.matches[measure].tolist()]

    def account(self) -> list[str]:
        """A line on the reading of each input; then everything out of the ordinary, and how it was treated."""
        treated = account_of_annotations(self.counts, self.parameters, self.release)
        return [*super().account(), *treated, *self.account_of_shared()]

    def account_of_shared(self) -> Iterator[str]:
        """A line, if the two sides have no concept in common."""
        return account_of_shared(self.true.concepts.tolist(), self.predicted.concepts.tolist())

    def _beside(self) -> Iterator[tuple[str, Any]]:
        measure = NEAR if NEAR in self.matches else CONCEPTS
        for place, name in enumerate(MatchCounts._fields):
            if measure == NEAR or not name.startswith("near"):
                yield name, self.matches[measure][:, place]


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
    share a character; both matched one to one, and left out where a side states no places. ``document-F1``: the
    concepts of each text. ``nn-F1``: the same where a near concept counts λ; it needs a graph. Each concept of a
    mention of several counts as a mention of its own.

    Args:
        gold: the true annotations.
        predicted: of the same texts. A text that it lacks has no prediction; others are left out, and counted.
        graph: resolves identifiers, and gives the distances.
        nearness: n, λ, and direction from a true concept to a predicted one; the weight is constant. An identifier
            that the graph does not hold matches only itself, unless ``unknown`` is ``error``.
        identifiers: translates the identifiers of ``gold``; where one has several concepts, any of them is right.
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
    others = [predicted.texts.get(name, AnnotatedDocument(name, None)) for name in gold.texts]
    sources = gold.source, predicted.source
    numbers = numbered_concepts(gold.texts.values(), others, graph, identifiers, sources, nearness.unknown)
    if graph is None:
        written = [{numbers.names[n] for found in numbers.true.values() for n in found},
                   {numbers.names[n] for n in numbers.predicted.values()}]  # fmt: skip
        check_one_vocabulary(written[0], written[1], sources)
    left_out = numbers.unmapped if leave_out_unmapped else frozenset[str]()
    true_spans = [_true_spans(text, numbers, left_out) for text in gold.texts.values()]
    predicted_spans = [_predicted_spans(text, numbers) for text in others]
    texts = [
        NumberedText(sorted({concepts for *_, concepts in ours}), sorted({concept for *_, concept in theirs}))
        for ours, theirs in zip(true_spans, predicted_spans, strict=True)
    ]
    true, guessed = nearest_concepts(
        texts, numbers.names, numbers.held, graph, direction=nearness.direction, n=nearness.n
    )
    matches = {CONCEPTS: matches_of_texts(true, guessed, len(texts), 0)}
    if gold.has_spans and predicted.has_spans:
        spans = {SPANS: _span_matches(true_spans, predicted_spans, "strict"),
                 OVERLAP: _span_matches(true_spans, predicted_spans, "overlap")}  # fmt: skip
        matches = spans | matches
    if graph is not None:
        matches[NEAR] = matches_of_texts(true, guessed, len(texts), nearness.n)
    counts = AnnotationCounts(
        texts=len(texts),
        without_predictions=sum(not spans for spans in predicted_spans),
        not_in_gold=len(predicted.texts.keys() - gold.texts.keys()),
        empty=sum(not text.true and not text.predicted for text in texts),
        true_mentions=sum(map(len, true_spans)),
        predicted_mentions=sum(map(len, predicted_spans)),
        true_concepts=len(true),
        predicted_concepts=len(guessed),
        **identifier_counts(list(gold.texts.values()), others, numbers),
    )
    return AnnotationScores(
        measures=tuple(matches),
        queries=tuple(gold.texts),
        values=np.stack([precision_recall_f1(rows, _weight(m, nearness))[:, 2] for m, rows in matches.items()], axis=1),
        release=None if graph is None else graph.release,
        versions=versions("cuihop", "numpy"),
        details=Details(
            counts,
            {
                "measures": [str(measure) for measure in matches],
                **(nearness.fields() if graph is not None else {}),
                **_sources(gold, predicted, identifiers, leave_out_unmapped),
            },
            {
                "gold": gold.account,
                "predictions": predicted.account,
                **({} if identifiers is None else {"map": identifiers.account}),
            },
        ),
        matches=matches,
        true=true,
        predicted=guessed,
        concepts=numbers.names,
        held=numbers.held,
        nearness=nearness,
    )


def _check_texts(gold: TextCollection, predicted: TextCollection) -> None:
    """Refuse annotations without a common text, or with other characters in it."""
    if not gold.texts:
        raise InputError("no texts", file=gold.source, found="nothing", expected="annotated texts")
    common = gold.texts.keys() & predicted.texts.keys()
    if predicted.texts and not common:
        name = next(iter(predicted.texts))
        raise InputError(
            "no text is in both annotations", file=predicted.source, found=quoted(name),
            expected=f"the identifiers of {gold.source}, such as {quoted(next(iter(gold.texts)))}",
            advice=cause_of_strange_name(name, gold.texts),
        )  # fmt: skip
    if not (gold.has_spans and predicted.has_spans):
        return
    for name in gold.texts:
        if name in common:
            ours, theirs = gold.texts[name].text, predicted.texts[name].text
            if ours is not None and theirs is not None and not same_text(ours, theirs):
                raise InputError(
                    f"not the text of {gold.source}", file=predicted.source, column=f"text {name}",
                    found=quoted(theirs), expected=quoted(ours),
                    advice="Places in one text are not those in the other. Annotate the same text.",
                )  # fmt: skip


def _true_spans(text: AnnotatedDocument, numbers: ConceptNumbers, left_out: Collection[str]) -> list[_TrueSpan]:
    """Distinct mentions of one concept each, by place."""
    return sorted(
        {
            (mention.start, mention.end, numbers.true[identifier])
            for mention in text.mentions
            for identifier in mention.cuis
            if identifier not in left_out
        }
    )


def _predicted_spans(text: AnnotatedDocument, numbers: ConceptNumbers) -> list[_PredictedSpan]:
    return sorted({(m.start, m.end, numbers.predicted[identifier]) for m in text.mentions for identifier in m.cuis})


def _span_matches(
    true: Sequence[list[_TrueSpan]], predicted: Sequence[list[_PredictedSpan]], match: SpanMatch
) -> Int64:
    counts = (span_counts(ours, theirs, match) for ours, theirs in zip(true, predicted, strict=True))
    return np.array(list(counts), dtype=np.int64)


def _weight(measure: Measure, nearness: Nearness) -> float:
    """The weight of a near concept under a measure."""
    return nearness.lam if measure == NEAR else 0.0


def _sources(
    gold: TextCollection, predicted: TextCollection, identifiers: IdentifierMap | None, leave_out_unmapped: bool
) -> dict[str, Any]:
    """Parameters about the inputs, with digests of those that the scores of other predictions depend on, too."""
    texts = {name: sorted([m.start, m.end, *m.cuis] for m in text.mentions) for name, text in gold.texts.items()}
    return {
        "gold": gold.source,
        "predictions": predicted.source,
        "map": None if identifiers is None else identifiers.source,
        "leave_out_unmapped": leave_out_unmapped,
        "digests": {
            "gold": content_digest([texts, leave_out_unmapped]),
            "map": None if identifiers is None else identifiers.digest,
        },
    }
