"""Concepts of captions, from a graph's names or from a file, and the measures on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cuihop.annotated_texts.documents import document_of_concepts
from cuihop.annotated_texts.scoring import AnnotationScores, TextCollection, score_annotations
from cuihop.annotation.semantic_groups import MEDCON, SEMANTIC_GROUPS
from cuihop.annotation.texts import blocks_of_texts
from cuihop.captions.reading import Captions
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.image_rows import ImageRows
from cuihop.errors import InputError
from cuihop.files.records import RowErrors
from cuihop.graph import ConceptGraph
from cuihop.measures.f1 import MatchCounts
from cuihop.measures.measure import Measure
from cuihop.measures.nearness import Nearness
from cuihop.resources.cores import in_order
from cuihop.resources.resources import Resources

_TEXTS_A_BLOCK, _CHARACTERS_A_BLOCK = 1024, 1 << 20


@dataclass(frozen=True, eq=False)
class CaptionConcepts:
    """The concepts of the references and of a system's captions.

    Attributes:
        references, predictions: image → concepts.
    """

    references: ImageConcepts
    predictions: ImageConcepts

    def check_images(self, captions: Captions) -> None:
        """Refuse concepts of other images than those of the captions.

        Raises:
            InputError: an image is unknown, named with its row, or one is missing.
        """
        for side in (self.references, self.predictions):
            rows = ImageRows(RowErrors(side.source, ("image", "concepts"), side.unit), side)
            rows.update(zip(side, side.rows, strict=False))
            rows.check_same(captions, captions.source)


def caption_concepts(
    captions: Captions, graph: ConceptGraph, resources: Resources | None = None
) -> ImageConcepts:  # fmt: skip
    """The concepts of each caption, found by the names of the graph in the caption as it is given.

    Args:
        captions: the captions. graph: see `cuihop.graph.ConceptGraph.annotate_many`.
        resources: threads, and progress: called with finished captions and all captions.

    Raises:
        InputError: the release has no names.
    """
    resources = resources or Resources()
    texts = list(captions.values())
    blocks = list(blocks_of_texts(texts, _TEXTS_A_BLOCK, _CHARACTERS_A_BLOCK))
    listed: list[list[str]] = []
    for block_concepts in in_order(
        lambda block: graph.annotate_many(texts[block]).concept_lists(), blocks, resources.threads
    ):
        listed += block_concepts
        if resources.progress is not None:
            resources.progress(len(listed), len(texts))
    concepts = ImageConcepts.of(dict(zip(captions, listed, strict=True)))
    return replace(concepts, source=captions.source, form="found by the names of the graph")


def score_concepts(
    concepts: CaptionConcepts, captions: Captions, graph: ConceptGraph | None, nearness: Nearness
) -> AnnotationScores:
    """The concepts of all captions in the order of the references, each with the nearest concept of the other side.

    Without a graph a concept matches only itself.
    """
    concepts.check_images(captions)
    true, predicted = (
        TextCollection.of((document_of_concepts(image, side[image]) for image in captions), side.source)
        for side in (concepts.references, concepts.predictions)
    )
    return score_annotations(true, predicted, graph, nearness=nearness)


def concept_values(
    scores: AnnotationScores, measure: Measure, nearness: Nearness, graph: ConceptGraph | None
) -> npt.NDArray[np.float64]:
    """The values of a measure on concepts, float64, shape (captions,); 0 if neither side has a concept.

    Args:
        measure: ``concept-F1``, ``MEDCON`` or ``nn-concept-F1``. nearness: its n and λ, unless it has its own.
        graph: has the semantic types that MEDCON needs; without them it is an `InputError`.
    """
    among, n, lam = None, 0, 0.0
    if measure.family == "nn-concept-F1":
        n, lam = int(measure.values.get("n", nearness.n)), float(measure.values.get("λ", nearness.lam))
    elif measure.family == "MEDCON":
        among = _in_medcon(scores.concepts[: scores.held], len(scores.concepts), graph)
    counts = (MatchCounts(*row) for row in scores.of_texts(n, among).tolist())
    return np.array([each.f1(lam) if each.true or each.predicted else 0.0 for each in counts], dtype=np.float64)


def _in_medcon(held: Sequence[str], concepts: int, graph: ConceptGraph | None) -> npt.NDArray[np.bool_]:
    """True for each concept of a type that MEDCON counts; those outside the graph have no type."""
    types = {tui for group in SEMANTIC_GROUPS if group.code in MEDCON for tui in group.types}
    records = [] if graph is None else graph.concepts(list(held), codes=False)
    if graph is None or (records and not any(record.semantic_types for record in records)):
        raise InputError(
            "MEDCON needs semantic types", column="measures", found="none", expected="a graph loaded with MRSTY",
            advice="concept-F1 counts concepts of all types.",
        )  # fmt: skip
    in_groups = np.zeros(concepts, dtype=np.bool_)
    in_groups[: len(held)] = [any(tui in types for tui, _ in record.semantic_types) for record in records]
    return in_groups
