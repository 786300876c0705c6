"""What a study is made of: images, graph, labels, further rankings, and every parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.labels import Labels
from cuihop.evaluation.result import EmptyIdeal
from cuihop.files.input_file import Readable
from cuihop.graph import ConceptGraph, Direction
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.resolution import Unknown
from cuihop.resources.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.resources.progress import Progress

__all__ = ["CUT_OFFS", "DEPTH", "Part", "Setup", "Telling"]

CUT_OFFS = (5, 10, 30)
DEPTH = max(CUT_OFFS)

Part: TypeAlias = Literal["tables", "ablation", "cost"]

Telling: TypeAlias = Callable[[str], Progress]
"""From what is being done to who is told how far it is."""


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that the numbers of a study depend on.

    Attributes:
        images: queries and corpus.
        graph: who knows the distances.
        labels: of the images, if there are any.
        embeddings: name of a system → its embeddings, or its ranking in any form that `read_ranking` knows.
        n, lam: of nn-IoU, but for the ablation.
        direction, unknown, empty_ideal: as in `cuihop.evaluate`.
        seed: of everything drawn by chance: the random ranking, the shuffled sets, resampling, the queries timed.
        threads: how many; without it, as many as the process has cores. memory: what each piece of work may take
            beside what was read. The numbers depend on neither.
    """

    images: ImageConcepts
    graph: ConceptGraph
    labels: Labels | None = None
    embeddings: Mapping[str, Readable] = field(default_factory=dict)
    n: int = 1
    lam: float = 0.5
    direction: Direction = "any"
    unknown: Unknown = "error"
    empty_ideal: EmptyIdeal = "zero"
    seed: int = 0
    threads: int | None = None
    memory: int | str = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        """Refuse before any work what is wrong with the labels.

        Raises:
            InputError: a label's name cannot stand in a measure, or an image has no row.
        """
        MemoryBudget.of(self.memory)
        if self.labels is not None:
            images = tuple(self.images)
            self.labels.rows(images)
            for labels in dict.fromkeys(measure.labels for measure in self.measures if measure.labels):
                self.labels.codes(labels)

    @cached_property
    def label_sets(self) -> tuple[tuple[str, ...], ...]:
        """Each label, and where there are several, all together."""
        names = () if self.labels is None else tuple(self.labels.columns)
        return (*((name,) for name in names), *([names] if len(names) > 1 else []))

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """CUI@K and nn-CUI@K, and P@K for each set of labels."""
        ks = ",".join(map(str, CUT_OFFS))
        return measures_named([f"CUI@{ks}", f"nn-CUI@{ks}", *(f"P@{ks}({', '.join(s)})" for s in self.label_sets)])

    @property
    def of_concepts(self) -> dict[str, Any]:
        """How identifiers and hops are read."""
        return {"direction": self.direction, "unknown": self.unknown}
