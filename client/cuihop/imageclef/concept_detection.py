"""Concept detection as ImageCLEFmedical scores it: F1 of each image, and their mean; precision, recall, near misses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cuihop.annotated_texts.nearest_concepts import MatchedConcepts, NumberedText, nearest_concepts
from cuihop.annotated_texts.scoring import (
    account_of_shared,
    check_one_vocabulary,
    identifier_counts,
    notes_on_identifiers,
)
from cuihop.collection.concept_rows import IMAGES_AND_CONCEPTS
from cuihop.collection.tables import Schema
from cuihop.evaluation.counts import IdentifierCount
from cuihop.evaluation.result import Details, MeasuredQueries
from cuihop.files.input_file import Readable
from cuihop.files.text_lines import counted, direction_text
from cuihop.graph import ConceptGraph
from cuihop.imageclef.detected_concepts import DetectedConcepts
from cuihop.measures.f1 import MANUAL_CONCEPTS, precision_recall_f1
from cuihop.measures.measure import Measure
from cuihop.measures.nearness import Nearness
from cuihop.measures.resolution import ResolvedConcepts, check_some_known, resolved_concepts
from cuihop.resources.arrays import Float64
from cuihop.resources.optional_packages import versions

__all__ = ["DetectionCounts", "DetectionEvaluation", "TrueConcepts", "evaluate_detection"]


PRIMARY, SECONDARY = Measure("F1"), Measure("F1", options=(("of", "manual"),))
PRECISION, RECALL = Measure("precision"), Measure("recall")
NEAR = Measure("nn-F1")
_ISOLATED = Nearness(unknown="isolated")
_SAME = Nearness(0, 0.0, unknown="isolated")


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

    matches: Mapping[Measure, MatchedConcepts] = field(default_factory=dict)

    def _notes(self, *, brief: bool) -> Iterator[str]:
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
            direction = direction_text(parameters["direction"])
            yield f"nn-F1: n = {parameters['n']}, λ = {parameters['lambda']}, hops {direction}"
            yield f"release {self.release.name}, digest {self.release.digest[:12]}"
            yield from notes_on_identifiers(counts, merged="retired, replaced by their successors in nn-F1")

    def _beside(self) -> Iterator[tuple[str, Any]]:
        counts = self.matches[PRIMARY].of_texts()
        for column, name in ((0, "true"), (1, "predicted"), (3, "right")):
            yield name, counts[:, column]


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
    collection = TrueConcepts.read(
        truth, manual_truth, official=official, image_column=image_column, concept_column=concept_column
    )
    return collection.evaluation(predictions, graph, nearness)


@dataclass(frozen=True, eq=False)
class TrueConcepts:
    """The ground truth of a detection, which several submissions are scored against.

    Attributes:
        true, manual: the concepts of the images, and the manually annotated ones. schema: columns of the files.
        official: reading of empty fields, as of `evaluate_detection`.
    """

    true: DetectedConcepts
    manual: DetectedConcepts | None
    schema: Schema
    official: bool

    @classmethod
    def read(
        cls, truth: Readable, manual_truth: Readable | None = None, *, official: bool = False,
        image_column: str | None = None, concept_column: str | None = None,
    ) -> TrueConcepts:  # fmt: skip
        """Read the ground truth; arguments and errors as `evaluate_detection`."""
        schema = IMAGES_AND_CONCEPTS.naming(image_column, concept_column)
        true = DetectedConcepts.read(truth, schema, most=None, official=official)
        manual = None
        if manual_truth is not None:
            manual = DetectedConcepts.read(manual_truth, schema, most=None, official=official)
            true.check_same_images(manual)
        return cls(true, manual, schema, official)

    def evaluation(
        self, predictions: Readable, graph: ConceptGraph | None = None, nearness: Nearness = _ISOLATED
    ) -> DetectionEvaluation:
        """Score a submission; arguments and errors as `evaluate_detection`."""
        predicted = DetectedConcepts.read(predictions, self.schema, official=self.official)
        self.true.check_same_images(predicted)
        true, manual, official = self.true, self.manual, self.official
        written = [{c for concepts in side.listed.values() for c in concepts} for side in (true, predicted)]
        if not official:
            check_one_vocabulary(written[0], written[1], (true.source, predicted.source))
        nearness.for_nn_f1()
        images = tuple(true.listed)
        ours, theirs = (_listed(side, images, official) for side in (true, predicted))
        matches = {PRIMARY: _matches(ours, theirs)}
        if manual is not None:
            manually = _listed(manual, images, official)
            matches[SECONDARY] = _matches(list(map(_filtered, manually)), list(map(_filtered, theirs)))
        counts: dict[str, Any] = {}
        if graph is not None:
            identifiers = (written[0] | written[1]) - {""}
            resolved = resolved_concepts(
                identifiers, graph, nearness.unknown, lambda c: true.place_of(c) or predicted.place_of(c)
            )
            times = [Counter(concept for image in side for concept in image if concept) for side in (ours, theirs)]
            check_some_known(resolved, times[0], graph, true.source)
            matches[NEAR] = _matches(ours, theirs, resolved, graph, nearness)
            counts = identifier_counts(resolved, times[0] + times[1])
        columns: dict[Measure, Float64] = {}
        for measure, matched in matches.items():
            columns |= _values(measure, matched)
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


def _matches(
    true: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    resolved: ResolvedConcepts | None = None,
    graph: ConceptGraph | None = None,
    nearness: Nearness = _SAME,
) -> MatchedConcepts:
    """Match the concepts of each image: as they are written, or resolved, with the distances of a graph."""
    written = {concept for side in (true, predicted) for concepts in side for concept in concepts}
    concept_of: Mapping[str, str] = {concept: concept for concept in written}
    outside = frozenset([""])
    if resolved is not None:
        concept_of, outside = {"": "", **resolved.concept}, outside | resolved.isolated
    used = {concept_of[concept] for concept in written if concept in concept_of}
    names = sorted(used, key=lambda name: (name in outside, name))
    number_of = {name: number for number, name in enumerate(names)}
    numbers = {concept: number_of[concept_of[concept]] for concept in written if concept in concept_of}

    def distinct(concepts: Sequence[str]) -> list[int]:
        return sorted({numbers[concept] for concept in concepts if concept in numbers})

    texts = [
        NumberedText([(number,) for number in distinct(ours)], distinct(theirs))
        for ours, theirs in zip(true, predicted, strict=True)
    ]
    held = 0 if graph is None else len(names) - len(outside & used)
    return nearest_concepts(texts, names, held, graph, nearness)


def _values(measure: Measure, matches: MatchedConcepts) -> dict[Measure, Float64]:
    """The values of each image; also precision and recall, if all concepts are matched as they are written."""
    counts = matches.of_texts()
    shares = precision_recall_f1(counts, matches.nearness.lam)
    empty = counts[:, 0] == 0
    shares[empty] = np.nan
    if measure == NEAR:
        return {NEAR: shares[:, 2]}
    sizes = counts[:, 0] + counts[:, 1]
    f1 = np.where(empty, np.nan, 2 * counts[:, 3] / np.maximum(sizes, 1))
    return {PRIMARY: f1, PRECISION: shares[:, 0], RECALL: shares[:, 1]} if measure == PRIMARY else {measure: f1}
