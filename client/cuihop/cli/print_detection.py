"""Tables and JSON of ``cuihop concept-detection``, beside the comparison of its submissions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cuihop.annotated_texts.score_tables import (
    NearMiss,
    TypeScore,
    false_positives_by_hops,
    hops_table,
    miss_table,
    near_misses,
    type_scores,
    type_table,
)
from cuihop.cli.scored_systems import first_rows
from cuihop.evaluation.groups import GroupMean, group_table
from cuihop.graph import ConceptGraph
from cuihop.imageclef.concept_detection import NEAR, DetectionEvaluation
from cuihop.imageclef.detection_scores import (
    AverageScore,
    ConceptScore,
    FrequencyScore,
    average_table,
    concept_scores,
    concept_table,
    frequency_table,
)
from cuihop.notebooks.table import Table


@dataclass(frozen=True)
class DetectionDetails:
    """Scores of one submission.

    Attributes:
        averages: over images and concepts. by: means of each label.
        frequencies: by number of training images; empty without those.
        concepts: of each concept.
        misses, by_hops, types: near misses, hops of false positives, semantic types; nothing without a graph.
    """

    averages: Sequence[AverageScore]
    by: Sequence[Sequence[GroupMean]]
    frequencies: Sequence[FrequencyScore]
    concepts: Sequence[ConceptScore]
    misses: Sequence[NearMiss] = ()
    by_hops: Mapping[str, int] | None = None
    types: Sequence[TypeScore] = ()

    @classmethod
    def of(
        cls,
        found: DetectionEvaluation,
        averages: Sequence[AverageScore],
        by: Sequence[Sequence[GroupMean]],
        frequencies: Sequence[FrequencyScore],
        names: ConceptGraph | Mapping[str, str] | None,
        *,
        graph: ConceptGraph | None,
    ) -> DetectionDetails:
        """The scores of an evaluation; near misses where there is a graph, semantic types where it can hold them."""
        concepts = concept_scores(found, names)
        if graph is None:
            return cls(averages, by, frequencies, concepts)
        near = found.matches[NEAR]
        types = type_scores(near, graph)
        has_types = any(row.tui for row in types)
        misses, by_hops = near_misses(near, graph), false_positives_by_hops(near)
        return cls(averages, by, frequencies, concepts, misses, by_hops, types if has_types else ())

    def fields(self, rows: int) -> dict[str, Any]:
        """All scores, ready for JSON; the first rows of long tables."""
        return {
            "averages": [asdict(score) for score in self.averages],
            "by": [asdict(mean) for means in self.by for mean in means],
            "frequencies": [asdict(score) for score in self.frequencies],
            "concepts": [asdict(score) for score in self.concepts[:rows]],
            "near_misses": [_of_images(asdict(miss)) for miss in self.misses[:rows]],
            "false_positives_by_hops": None if self.by_hops is None else dict(self.by_hops),
            "semantic_types": [asdict(row) for row in self.types[:rows]],
        }


def _of_images(miss: dict[str, Any]) -> dict[str, Any]:
    """The fields of a near miss of images."""
    return {"images" if name == "texts" else name: value for name, value in miss.items()}


def detection_tables(details: Mapping[str, DetectionDetails], confidence: float, rows: int) -> Iterator[Table]:
    """The tables of all submissions; of a single one also those of its concepts.

    Args:
        details: name → scores. confidence: of the intervals. rows: the most rows of concepts, near misses and types.
    """
    yield average_table({name: each.averages for name, each in details.items()}, confidence)
    for name, each in details.items():
        for means in each.by:
            table = group_table(means, confidence)
            several = len(details) > 1
            yield dataclasses.replace(table, caption=f"{name}: {table.caption}") if several else table
    if any(each.frequencies for each in details.values()):
        yield frequency_table({name: each.frequencies for name, each in details.items()})
    if len(details) == 1:
        (only,) = details.values()
        yield from first_rows(concept_table(only.concepts), rows)
        if only.by_hops is not None:
            yield hops_table(only.by_hops)
        yield from first_rows(miss_table(only.misses, "images"), rows)
        yield from first_rows(type_table(only.types, "images"), rows)
