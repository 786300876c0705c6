"""Counts of scored annotations, and their account in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cuihop.annotated_texts.concept_numbers import ConceptNumbers, occurrences
from cuihop.annotated_texts.documents import AnnotatedDocument
from cuihop.errors import first_few
from cuihop.evaluation.counts import IdentifierCount
from cuihop.files.text_lines import counted, direction_text
from cuihop.graph import Release


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


def identifier_counts(
    gold: Sequence[AnnotatedDocument], predicted: Sequence[AnnotatedDocument], numbers: ConceptNumbers
) -> dict[str, Any]:
    """The counts of `AnnotationCounts` that are about mentions and identifiers."""
    true_times = occurrences(gold)
    times = true_times + occurrences(predicted)
    resolved = numbers.resolved
    kinds = {
        "unmapped": numbers.unmapped, "without_prefix": numbers.bare, "unknown": resolved.unknown,
        "retired": resolved.retired, "merged": resolved.merged,
    }  # fmt: skip
    return {
        "composite": sum(len(mention.cuis) > 1 for text in gold for mention in text.mentions),
        "without_concept": sum(not mention.cuis for text in gold for mention in text.mentions),
        "identifiers": len(times),
        "occurrences": times.total(),
        "true_identifiers": len(true_times),
        "true_occurrences": true_times.total(),
        **{
            kind: IdentifierCount(tuple(sorted(which)), sum(times[identifier] for identifier in which))
            for kind, which in kinds.items()
        },
    }


def account_of_annotations(
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
    yield from account_of_identifiers([unmapped], counts.true_identifiers, counts.true_occurrences)
    kinds = (
        (counts.without_prefix, "compared without their prefix"),
        (counts.unknown, "not in the graph: match only themselves"),
        (counts.retired, "retired without an exact successor: match only themselves"),
        (counts.merged, "retired, replaced by their successors"),
    )
    yield from account_of_identifiers(kinds, counts.identifiers, counts.occurrences)


def account_of_identifiers(
    kinds: Iterable[tuple[IdentifierCount, str]], identifiers: int, occurrences: int
) -> Iterator[str]:
    """A line about each kind of identifiers that there is.

    Args:
        kinds: the identifiers, and their treatment. identifiers, occurrences: numbers of all.
    """
    for kind, meaning in kinds:
        if kind.distinct:
            yield (
                f"{kind.distinct:,} of {counted(identifiers, 'identifier')}, {kind.occurrences:,} of "
                f"{counted(occurrences, 'occurrence')}, {meaning} ({first_few(list(kind.identifiers))})"
            )
