"""Concept detection as ImageCLEFmedical scores it: F1 of each image, and their mean; precision, recall, near misses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.annotated_texts.nearest_concepts import (
    NumberedText,
    ScoredConcepts,
    matches_of_texts,
    nearest_concepts,
)
from cuihop.annotated_texts.scoring_counts import account_of_identifiers
from cuihop.collection.columns import Columns
from cuihop.collection.shared_concepts import account_of_shared, check_one_vocabulary
from cuihop.evaluation.counts import IdentifierCount
from cuihop.evaluation.result import Details, MeasuredQueries
from cuihop.files.input_file import Readable
from cuihop.files.text_lines import counted, direction_text
from cuihop.graph import ConceptGraph
from cuihop.imageclef.detected_concepts import DetectedConcepts
from cuihop.measures.concept_f1 import MANUAL_CONCEPTS
from cuihop.measures.match_counts import MatchCounts, precision_recall_f1
from cuihop.measures.measure import Measure
from cuihop.measures.nearness import Nearness
from cuihop.measures.resolution import ResolvedConcepts, check_some_known, resolved_concepts
from cuihop.resources.versions import versions

__all__ = [
    "DetectionCounts",
    "DetectionEvaluation",
    "DetectionMatches",
    "evaluate_detection",
    "evaluate_submissions",
]

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

PRIMARY, SECONDARY = Measure("F1"), Measure("F1", options=(("of", "manual"),))
PRECISION, RECALL = Measure("precision"), Measure("recall")
NEAR = Measure("nn-F1")
_ISOLATED = Nearness(unknown="isolated")
_SAME = Nearness(0, 0.0, unknown="isolated")


@dataclass(frozen=True, eq=False)
class DetectionMatches:
    """True and predicted concepts of all images, each with the nearest concept of the other side.

    Attributes:
        images: their number.
        true, predicted: the concepts of all images.
        concepts: names of their numbers. held: the number of those in the graph, which come first.
        nearness: n, λ and direction; n is 0 where only the same concept matches.
    """

    images: int
    true: ScoredConcepts
    predicted: ScoredConcepts
    concepts: Sequence[str]
    held: int = 0
    nearness: Nearness = _SAME

    def of_images(self) -> Int64:
        """The fields of `MatchCounts` of each image, shape (images, 6)."""
        return matches_of_texts(self.true, self.predicted, self.images, self.nearness.n)

    def of_concepts(self) -> Int64:
        """The fields of `MatchCounts` of each concept, without near ones, shape (concepts, 6)."""
        true, predicted, right = (
            np.bincount(numbers, minlength=len(self.concepts))
            for numbers in (self.true.concepts, self.predicted.concepts, self.true.concepts[self.true.hops == 0])
        )
        return np.stack([true, predicted, right, right, 0 * right, 0 * right], axis=1)

    def micro(self) -> MatchCounts:
        """The counts of all images together."""
        return MatchCounts(*self.of_images().sum(axis=0).tolist())


@dataclass(frozen=True, slots=True)
class DetectionCounts:
    """Counts of the inputs of an evaluation of concept detection.

    Attributes:
        images: of the ground truth.
        empty_primary, empty_secondary: images without a true concept (after the filter); they leave the mean.
        predicted, true: concepts of all images, each counted as often as an image has it.
        unfilled: images of the ground truth whose field is empty.
        identifiers: distinct identifiers of both sides; occurrences: each counted in every image that has it. 0
            without a graph.
        unknown, retired: identifiers that match only themselves: not in the graph; retired without an exact successor.
        merged: retired identifiers that were replaced by their successors.
    """

    images: int
    empty_primary: int
    empty_secondary: int | None
    predicted: int
    true: int
    unfilled: int
    identifiers: int = 0
    occurrences: int = 0
    unknown: IdentifierCount = field(default_factory=IdentifierCount)
    retired: IdentifierCount = field(default_factory=IdentifierCount)
    merged: IdentifierCount = field(default_factory=IdentifierCount)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DetectionEvaluation(MeasuredQueries):
    """The result of `evaluate_detection`: values of each image; NaN for an image that leaves the mean.

    Its `counts` are `DetectionCounts`. Averages over all concepts, and scores of each concept, semantic type and
    frequency: `cuihop.imageclef.detection_scores`.

    Attributes:
        matches: ``F1``, ``F1(of=manual)`` and ``nn-F1``, as far as they were measured → the matches behind them.
    """

    matches: Mapping[Measure, DetectionMatches] = field(default_factory=dict)

    def account(self) -> list[str]:
        """A line on the reading of each input; then everything out of the ordinary, and how it was treated."""
        return [*super().account(), *self._treated()]

    def _treated(self) -> Iterator[str]:
        counts, parameters = self.counts, self.parameters
        yield (f"{counted(counts.images, 'image')}, {counts.true:,} true and {counts.predicted:,} predicted concepts")
        of_all = self.matches[PRIMARY]
        yield from account_of_shared(of_all.true.concepts.tolist(), of_all.predicted.concepts.tolist())
        for name, empty in (("primary", counts.empty_primary), ("secondary", counts.empty_secondary)):
            if empty:
                yield f"{name}: {counted(empty, 'image')} without a true concept, left out of the mean"
        if counts.unfilled:
            read = "read as a concept without a name" if parameters["official"] else "read as no concept"
            yield f"{counted(counts.unfilled, 'empty field')} in the ground truth: {read}"
        if self.release is not None:
            way = direction_text(parameters["direction"])
            yield f"nn-F1: n = {parameters['n']}, λ = {parameters['lambda']}, hops {way}"
            yield f"release {self.release.name}, digest {self.release.digest[:12]}"
            kinds = (
                (counts.unknown, "not in the graph: match only themselves"),
                (counts.retired, "retired without an exact successor: match only themselves"),
                (counts.merged, "retired, replaced by their successors in nn-F1"),
            )
            yield from account_of_identifiers(kinds, counts.identifiers, counts.occurrences)

    def _beside(self) -> Iterator[tuple[str, Any]]:
        counts = self.matches[PRIMARY].of_images()
        for place, name in ((0, "true"), (1, "predicted"), (3, "right")):
            yield name, counts[:, place]


def evaluate_detection(
    truth: Readable,
    predictions: Readable,
    manual_truth: Readable | None = None,
    graph: ConceptGraph | None = None,
    *,
    nearness: Nearness = _ISOLATED,
    official: bool = False,
    image_column: str | None = None,
    concept_column: str | None = None,
) -> DetectionEvaluation:
    """Score predicted concepts: F1, precision and recall of each image, and their means.

    F1 = 2 |T ∩ P| / (|T| + |P|), precision = |T ∩ P| / |P| and recall = |T ∩ P| / |T| of each image; the means are over
    the images that have a true concept. An image without a predicted concept has precision 0. ``F1(of=manual)``, the
    secondary score, first filters both sides to the 15 manually annotated concepts. ``nn-F1`` counts a near concept λ:
    see `cuihop.measures.nn_f1`. Identifiers are compared in upper case.

    Args:
        truth: the ground truth, in any form of `ImageConcepts.read`; CSV of two columns may lack its header.
        predictions: of the same images, each once, in any order.
        manual_truth: the manual ground truth, of the same images; for the secondary score.
        graph: resolves identifiers and gives the distances; for nn-F1.
        nearness: n, λ, and direction from a true concept to a predicted one.
        official: read an empty field (``ID,``) as the organisers' evaluator of 2025 does: as one concept without a
            name. Such an image is scored, 1 if the prediction's field is empty too. Otherwise empty is empty, and an
            image without a true concept leaves the mean. Nor does it look at the form of identifiers.
        image_column, concept_column: names of the columns in all files, as in `ImageConcepts.read`.

    Raises:
        InputError: a file is not as expected, or images are unknown or missing; names the line. Or the graph holds
            none of the true concepts, or the predicted ones are of another vocabulary.
        InvalidCui, ConceptNotFound, ConceptRetired: with a graph, an identifier is malformed, or the graph does not
            hold it and ``nearness.unknown`` is ``error``.
    """
    (found,) = evaluate_submissions(
        truth, {"predictions": predictions}, manual_truth, graph,
        nearness=nearness, official=official, image_column=image_column, concept_column=concept_column,
    ).values()  # fmt: skip
    return found


def evaluate_submissions(
    truth: Readable,
    submissions: Mapping[str, Readable],
    manual_truth: Readable | None = None,
    graph: ConceptGraph | None = None,
    *,
    nearness: Nearness = _ISOLATED,
    official: bool = False,
    image_column: str | None = None,
    concept_column: str | None = None,
) -> dict[str, DetectionEvaluation]:
    """Score several submissions against one ground truth, which is read once.

    Args:
        submissions: name → predictions.
        truth, manual_truth, graph, nearness, official, image_column, concept_column: as `evaluate_detection`, with its
            errors.
    """
    columns = Columns(image_column, concept_column)
    true = DetectedConcepts.read(truth, columns, most=None, official=official)
    manual = None
    if manual_truth is not None:
        manual = DetectedConcepts.read(manual_truth, columns, most=None, official=official)
        true.check_same_images(manual)
    found = {}
    for name, path in submissions.items():
        predicted = DetectedConcepts.read(path, columns, official=official)
        true.check_same_images(predicted)
        if not official:
            sides = [{c for concepts in side.listed.values() for c in concepts} for side in (true, predicted)]
            check_one_vocabulary(sides[0], sides[1], (true.source, predicted.source))
        found[name] = _evaluated(true, predicted, manual, graph, nearness, official)
    return found


def _evaluated(
    true: DetectedConcepts,
    predicted: DetectedConcepts,
    manual: DetectedConcepts | None,
    graph: ConceptGraph | None,
    nearness: Nearness,
    official: bool,
) -> DetectionEvaluation:
    nearness.for_nn_f1()
    images = tuple(true.listed)
    ours, theirs = (_listed(side, images, official) for side in (true, predicted))
    matches = {PRIMARY: _matches(ours, theirs)}
    if manual is not None:
        manually = _listed(manual, images, official)
        matches[SECONDARY] = _matches(list(map(_filtered, manually)), list(map(_filtered, theirs)))
    counts: dict[str, Any] = {}
    if graph is not None:
        resolved = _resolved(true, predicted, graph, nearness)
        times = [Counter(concept for image in side for concept in image if concept) for side in (ours, theirs)]
        check_some_known(resolved, times[0], graph, true.source)
        matches[NEAR] = _matches(ours, theirs, resolved, graph, nearness)
        counts = _identifier_counts(resolved, times[0] + times[1])
    columns: dict[Measure, Float64] = {}
    for measure, found in matches.items():
        columns |= _values(measure, found)
    return DetectionEvaluation(
        measures=tuple(columns),
        queries=images,
        values=np.stack(list(columns.values()), axis=1),
        release=None if graph is None else graph.release,
        versions=versions("cuihop", "numpy"),
        details=Details(
            DetectionCounts(
                images=len(images),
                empty_primary=int(np.isnan(columns[PRIMARY]).sum()),
                empty_secondary=int(np.isnan(columns[SECONDARY]).sum()) if SECONDARY in columns else None,
                predicted=len(matches[PRIMARY].predicted),
                true=len(matches[PRIMARY].true),
                unfilled=sum(concepts == ("",) for concepts in true.listed.values()),
                **counts,
            ),
            {
                "measures": [str(measure) for measure in columns],
                **({} if graph is None else nearness.fields()),
                "official": official,
                "truth": true.source,
                "manual_truth": None if manual is None else manual.source,
                "predictions": predicted.source,
                "digests": {"truth": true.digest, "manual_truth": None if manual is None else manual.digest},
            },
            {
                "truth": true.account,
                "predictions": predicted.account,
                **({} if manual is None else {"manual_truth": manual.account}),
            },
        ),
        matches=matches,
    )


def _listed(side: DetectedConcepts, images: Sequence[str], official: bool) -> list[Sequence[str]]:
    return [side.concepts(image, official=official) for image in images]


def _filtered(concepts: Sequence[str]) -> Sequence[str]:
    return [concept for concept in concepts if concept in MANUAL_CONCEPTS]


def _resolved(
    true: DetectedConcepts, predicted: DetectedConcepts, graph: ConceptGraph, nearness: Nearness
) -> ResolvedConcepts:
    """The concept of each identifier but the one without a name."""
    identifiers = {c for side in (true, predicted) for concepts in side.listed.values() for c in concepts} - {""}

    def place_of(concept: str) -> str | None:
        return true.place_of(concept) or predicted.place_of(concept)

    return resolved_concepts(identifiers, graph, nearness.unknown, place_of)


def _matches(
    true: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    resolved: ResolvedConcepts | None = None,
    graph: ConceptGraph | None = None,
    nearness: Nearness = _SAME,
) -> DetectionMatches:
    """Match the concepts of each image: as they are written, or resolved, with the distances of a graph."""
    written = {concept for side in (true, predicted) for concepts in side for concept in concepts}
    concept_of: Mapping[str, str] = {concept: concept for concept in written}
    outside = frozenset([""])
    if resolved is not None:
        concept_of, outside = {"": "", **resolved.concept}, outside | resolved.isolated
    used = {concept_of[concept] for concept in written if concept in concept_of}
    names = sorted(used, key=lambda name: (name in outside, name))
    places = {name: number for number, name in enumerate(names)}
    numbers = {concept: places[concept_of[concept]] for concept in written if concept in concept_of}

    def distinct(concepts: Sequence[str]) -> list[int]:
        return sorted({numbers[concept] for concept in concepts if concept in numbers})

    texts = [
        NumberedText([(number,) for number in distinct(ours)], distinct(theirs))
        for ours, theirs in zip(true, predicted, strict=True)
    ]
    held = 0 if graph is None else len(names) - len(outside & used)
    sides = nearest_concepts(texts, names, held, graph, direction=nearness.direction, n=nearness.n)
    return DetectionMatches(len(texts), *sides, names, held, nearness)


def _values(measure: Measure, matches: DetectionMatches) -> dict[Measure, Float64]:
    """The values of each image, under precision and recall, too, where all concepts are matched as they are written."""
    counts = matches.of_images()
    shares = precision_recall_f1(counts, matches.nearness.lam)
    empty = counts[:, 0] == 0
    shares[empty] = np.nan
    if measure == NEAR:
        return {NEAR: shares[:, 2]}
    sizes = counts[:, 0] + counts[:, 1]
    f1 = np.where(empty, np.nan, 2 * counts[:, 3] / np.maximum(sizes, 1))
    return {PRIMARY: f1, PRECISION: shares[:, 0], RECALL: shares[:, 1]} if measure == PRIMARY else {measure: f1}


def _identifier_counts(resolved: ResolvedConcepts, times: Counter[str]) -> dict[str, Any]:
    """The fields of `DetectionCounts` about identifiers."""
    kinds = {"unknown": resolved.unknown, "retired": resolved.retired, "merged": tuple(resolved.merged)}
    return {
        "identifiers": len(times),
        "occurrences": times.total(),
        **{kind: IdentifierCount(which, sum(times[cui] for cui in which)) for kind, which in kinds.items()},
    }
