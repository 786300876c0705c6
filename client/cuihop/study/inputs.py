"""Inputs of a study (images, graph, labels, further rankings, every parameter), and the form of its numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.labels import Labels
from cuihop.evaluation.result import EmptyIdeal
from cuihop.files.input_file import Readable, opened_input
from cuihop.graph import ConceptGraph
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.nearness import Nearness, weight_text
from cuihop.rankings.ranking import Order, QueryImage
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources

CUT_OFFS = (5, 10, 30)
DEPTH = max(CUT_OFFS)

Part: TypeAlias = Literal["tables", "ablation", "cost"]

ProgressOf: TypeAlias = Callable[[str], Progress]
"""Name of a task → its `Progress`."""


@dataclass(frozen=True, eq=False)
class StudyInputs:
    """Everything that the numbers of a study depend on.

    Attributes:
        images: queries and corpus.
        embeddings: name of a system → its embeddings, or its ranking in any form that `read_ranking` parses.
        order: the column that orders a ranking with scores and ranks.
        nearness: of nn-IoU; the ablation varies n and λ. empty_ideal, query_image: as in `cuihop.evaluate`.
        seed: of everything random: the random ranking, the shuffled sets, resampling, the queries timed.
        resources: threads, and the memory of each task. The numbers depend on neither.
    """

    images: ImageConcepts
    graph: ConceptGraph
    labels: Labels | None = None
    embeddings: Mapping[str, Readable] = field(default_factory=dict)
    order: Order = "score"
    nearness: Nearness = Nearness()
    empty_ideal: EmptyIdeal = "zero"
    query_image: QueryImage = "exclude"
    seed: int = 0
    resources: Resources = Resources()

    def __post_init__(self) -> None:
        """Check memory and labels before any computation: every image has a row, every label a usable name."""
        self.resources.budget()
        if self.labels is not None:
            images = tuple(self.images)
            self.labels.rows(images)
            for labels in dict.fromkeys(measure.labels for measure in self.measures if measure.labels):
                self.labels.codes(labels)

    @property
    def data(self) -> Dataset:
        """The images with their labels."""
        return Dataset(self.images, labels=self.labels)

    @property
    def criteria(self) -> dict[str, Any]:
        """Measures and parameters, as arguments of `cuihop.evaluate`."""
        return {
            "measures": self.measures, "nearness": self.nearness, "empty_ideal": self.empty_ideal,
            "query_image": self.query_image,
        }  # fmt: skip

    @property
    def nn_iou(self) -> str:
        """The parameters of nn-IoU, for captions."""
        near = self.nearness
        weighted = "" if near.weight == "constant" else f", weight {weight_text(near.weight, near.ic)}"
        return f"n = {near.n}, λ = {near.lam}{weighted}"

    @cached_property
    def collection(self) -> ImageCollection:
        """The images with their identifiers resolved."""
        return ImageCollection.of(self.images, self.graph, self.nearness.unknown, self.query_image)

    @cached_property
    def embedding_files(self) -> Mapping[str, tuple[str, str]]:
        """Name of a system → name and SHA-256 of its file."""
        files = {name: opened_input(file) for name, file in self.embeddings.items()}
        return {name: (file.name, file.digest()) for name, file in files.items()}

    @cached_property
    def label_sets(self) -> tuple[tuple[str, ...], ...]:
        """Each label, and of several labels also all together."""
        names = () if self.labels is None else tuple(self.labels.columns)
        return (*((name,) for name in names), *([names] if len(names) > 1 else []))

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """CUI@K and nn-CUI@K, and P@K for each set of labels."""
        ks = ",".join(map(str, CUT_OFFS))
        return measures_named([f"CUI@{ks}", f"nn-CUI@{ks}", *(f"P@{ks}({', '.join(s)})" for s in self.label_sets)])


COLUMNS = ("part", "ranking", "measure", "n", "lambda", "subset", "value", "queries", "nothing_relevant",
           "unjudged", "low", "high")  # fmt: skip


@dataclass(frozen=True, slots=True)
class LongRow:
    """One number of a study.

    Attributes:
        n, lam: of the nn-IoU that ranked or measured; ``None`` without nn-IoU.
        subset: the queries that count. value: the mean over them; ``None`` without queries. queries: number of these.
        nothing_relevant, unjudged: as in `cuihop.evaluation.means.MeanQueries`; ``None`` if relevance does not matter.
        low, high: the confidence interval of the mean, if there is one.
    """

    part: str
    ranking: str
    measure: str
    n: int | None
    lam: float | None
    subset: str
    value: float | None
    queries: int
    nothing_relevant: int | None = None
    unjudged: int | None = None
    low: float | None = None
    high: float | None = None

    def plain(self) -> dict[str, str | int | float | None]:
        """Column → value, in the order of `COLUMNS`."""
        return dict(zip(COLUMNS, dataclasses.astuple(self), strict=True))
