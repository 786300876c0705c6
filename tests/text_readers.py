"""Every reader of a text file, for the tests that give all of them the same file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path

from cuihop.adapters.ctakes import from_ctakes_table
from cuihop.adapters.metamaplite import from_metamaplite
from cuihop.agreement.scored_pairs import ScoredPairs
from cuihop.annotated_texts.mention_identifiers import IdentifierMap
from cuihop.captions.external_scores import ExternalScores
from cuihop.captions.reading import Captions
from cuihop.cli.pairs import PairAnswers, PairColumns, answers_of_file
from cuihop.collection.concept_rows import IMAGES_AND_CONCEPTS
from cuihop.collection.concept_tables import ConceptCounts, ConceptNames, ConceptSynonyms, read_concept_file
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements
from cuihop.collection.label_classes import LabelClasses
from cuihop.collection.labels import Labels
from cuihop.imageclef.detected_concepts import DetectedConcepts
from cuihop.imageclef.irma_codes import IrmaCodes
from cuihop.imageclef.training_frequency import TrainingFrequencies
from cuihop.rankings.reading import read_ranking, read_run
from example_graph import example_graph

__all__ = ["TEXT_READERS"]

_graph = cache(example_graph)

TEXT_READERS: Mapping[str, Callable[[Path], object]] = {
    "captions": Captions.read,
    "classes of labels": LabelClasses.read,
    "codes": IrmaCodes.read,
    "codes in training": TrainingFrequencies.of_codes,
    "concept list": read_concept_file,
    "concepts": ImageConcepts.read,
    "counts": ConceptCounts.read,
    "detected concepts": lambda path: DetectedConcepts.read(path, IMAGES_AND_CONCEPTS),
    "external scores": ExternalScores.read,
    "identifier map": IdentifierMap.read,
    "labels": Labels.read,
    "mentions of cTAKES": from_ctakes_table,
    "mentions of MetaMapLite": from_metamaplite,
    "names": ConceptNames.read,
    "pairs": lambda path: answers_of_file(
        path, _graph(), BytesIO(), PairColumns((), lambda pairs: PairAnswers([""] * len(pairs), 0, {}))
    ),
    "qrels": Judgements.read,
    "ranking": lambda path: read_ranking(path, ["a", "b"]),
    "run": lambda path: read_run(path, None),
    "scored pairs": ScoredPairs.read,
    "synonyms": ConceptSynonyms.read,
}
