"""Groups of options of the commands that evaluate and compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.cli.command_files import PICTURE, REPORT, FileUse
from cuihop.cli.graph_option import (
    FILES_PANEL,
    NearnessOptions,
    OptionalGraphOptions,
    advised_on_unknown,
)
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements, grades_in_words
from cuihop.collection.label_classes import LabelClasses
from cuihop.collection.labels import Agreement, Labels
from cuihop.evaluation.result import EmptyIdeal, Missing
from cuihop.graph import ConceptGraph
from cuihop.measures.resolution import Unknown
from cuihop.rankings.ranking import Order, QueryImage, Similarity, Ties

MEASURES_PANEL = "Measures"
TESTS_PANEL = "Tests"

file_option = partial(typer.Option, rich_help_panel=FILES_PANEL)
measure_option = partial(typer.Option, rich_help_panel=MEASURES_PANEL)
test_option = partial(typer.Option, rich_help_panel=TESTS_PANEL)


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """Columns of files of concepts."""

    image_column: Annotated[
        str | None,
        file_option(
            "--image-column", show_default="the first of two; image_id, ID or image of more",
            help="Column of the images in files of concepts.",
        ),
    ] = None  # fmt: skip
    concept_column: Annotated[
        str | None,
        file_option(
            "--concept-column", show_default="the second of two; CUIs, cui or concepts of more",
            help="Column of the concepts in files of concepts.",
        ),
    ] = None  # fmt: skip

    @property
    def columns(self) -> dict[str, str | None]:
        """As arguments of `ImageConcepts.read`."""
        return {"image_column": self.image_column, "concept_column": self.concept_column}


@dataclass(frozen=True, kw_only=True)
class CollectionOptions:
    """Files of a collection: concepts of the images, and judgements."""

    concepts: Annotated[
        Path | None, file_option("--concepts", help="Concepts of the query images, C1;C2: CSV or Parquet.")
    ] = None
    corpus: Annotated[
        Path | None,
        file_option("--corpus", help="Concepts of the images of the corpus; the queries themselves by default."),
    ] = None
    qrels: Annotated[Path | None, file_option("--qrels", help="Judgements for AP, nDCG@K, …: TREC or Parquet.")] = None
    grades: Annotated[
        str,
        file_option(
            "--grades", metavar="WORD=GRADE,…", help="Grades of judgements in words. Numbers are read as they are."
        ),
    ] = "DR=2,PR=1,NR=0"


@dataclass(frozen=True, kw_only=True)
class LabelOptions(ColumnOptions):
    """Source of the labels: one of three, or none.

    Raises:
        typer.BadParameter: there are several sources, or an agreement without any.
    """

    labels: Annotated[
        Path | None,
        file_option(
            "--labels", help="Labels for P@K(a), nDCG@K(a+b), …: CSV or Parquet, image and a column for each label."
        ),
    ] = None
    label_concepts: Annotated[
        Path | None,
        file_option(
            "--label-concepts",
            help="Instead of --labels: ImageCLEF's manual concepts, which give modality and organ.",
        ),
    ] = None
    label_classes: Annotated[
        list[str] | None,
        file_option(
            "--label-classes", metavar="NAME=FILE",
            help="Instead of --labels: classes of a label and their concepts (class,concept), for the images of "
            "--concepts. May be repeated.",
        ),
        FileUse.READS,
    ] = None  # fmt: skip
    class_descendants: Annotated[
        bool,
        file_option(
            "--class-descendants/--no-class-descendants",
            help="With --label-classes and --graph: the concepts below those of a class belong to it, too.",
        ),
    ] = True
    label_agreement: Annotated[
        Agreement,
        measure_option(
            "--label-agreement",
            help="Images agree in a label when their values are equal, or when they share a class: a part between ';'.",
        ),
    ] = "equal"

    def __post_init__(self) -> None:
        sources = (self.labels is not None, self.label_concepts is not None, bool(self.label_classes))
        if sum(sources) > 1:
            raise typer.BadParameter("give one of --labels, --label-concepts and --label-classes")
        if not self.class_descendants and not self.label_classes:
            raise typer.BadParameter("--no-class-descendants goes with --label-classes")
        if self.label_agreement != "equal" and not any(sources):
            raise typer.BadParameter("--label-agreement goes with --labels, --label-concepts or --label-classes")

    @property
    def labelled(self) -> bool:
        """True with a source of labels."""
        return self.labels is not None or self.label_concepts is not None or bool(self.label_classes)

    def read_labels(
        self, images: Sequence[ImageConcepts], graph: OptionalGraphOptions | ConceptGraph, unknown: Unknown
    ) -> Labels | None:
        """The labels; those of classes are of these images, with concepts below those of the classes by the graph."""
        if self.labels is not None:
            labels = Labels.read(self.labels)
        elif self.label_concepts is not None:
            labels = Labels.of_concepts(ImageConcepts.read(self.label_concepts, **self.columns))
        elif self.label_classes:
            if not images:
                raise typer.BadParameter("--label-classes goes with --concepts: the labels are those of its images")
            classes = _classes(self.label_classes)
            opening = graph.opened() if isinstance(graph, OptionalGraphOptions) else nullcontext(graph)
            with advised_on_unknown(), opening if self.class_descendants else nullcontext() as opened:
                labels = Labels.of_classes(images, classes, opened, unknown=unknown)
        else:
            return None
        return labels.with_agreement(self.label_agreement)


def _classes(texts: Sequence[str]) -> dict[str, LabelClasses]:
    """Name of a label → its classes, from NAME=FILE."""
    classes: dict[str, LabelClasses] = {}
    for text in texts:
        name, equals, file = (part.strip() for part in text.partition("="))
        if not (name and equals and file) or set(name) & set("+,()="):
            raise typer.BadParameter(f"--label-classes takes NAME=FILE, such as modality=modality.csv, not {text!r}")
        if name in classes:
            raise typer.BadParameter(f"--label-classes names {name!r} twice")
        classes[name] = LabelClasses.read(file)
    return classes


OrderOption = Annotated[
    Order,
    measure_option(
        "--order",
        help="Column that orders a ranking with both: score, as trec_eval; or rank, each once for a query.",
    ),
]


TiesOption = Annotated[
    Ties,
    measure_option(
        "--ties",
        help="Order of equal scores: by name ascending, or as trec_eval (single precision, name descending).",
    ),
]


@dataclass(frozen=True, kw_only=True)
class OrderOptions:
    """Order of the rankings of files."""

    ties: TiesOption = "name"
    order: OrderOption = "score"


SimilarityOption = Annotated[
    Similarity | None,
    measure_option(
        "--similarity", show_default="cosine for floating point",
        help="Similarity of a .npy file: cosine or product of embeddings, or Hamming distance of codes.",
    ),
]  # fmt: skip
CorpusEmbeddingsOption = Annotated[
    Path | None, file_option("--corpus-embeddings", help="Embeddings of the corpus, with --corpus.")
]


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """Treatment of empty ideals, and of queries that the corpus holds."""

    empty_ideal: Annotated[
        EmptyIdeal,
        measure_option(
            "--empty-ideal", help="Queries without any gain or relevant image in the corpus: score 0, or skip."
        ),
    ] = "zero"
    query_image: Annotated[
        QueryImage,
        measure_option(
            "--query-image",
            help="A query that the corpus holds: leave it out of its own ranking and ideal, or count it there.",
        ),
    ] = "exclude"


def measures_option(default: str) -> Any:
    """The option of the measures; its help shows the default in these words."""
    return measure_option(
        "--measure", "-m", help="Name, several K with commas; may be repeated. cuihop measures lists the names.",
        show_default=default,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """The measures, and the queries that have no value."""

    measure: Annotated[list[str] | None, measures_option("nn-CUI@5,10,30")] = None
    missing: Annotated[
        Missing, measure_option("--missing", help="Queries without a ranking: refuse, score 0, or skip.")
    ] = "error"


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions(
    OrderOptions, QueryOptions, NearnessOptions, MeasureOptions, OptionalGraphOptions, LabelOptions, CollectionOptions
):  # the last is the first in the help
    """Conditions under which rankings are evaluated: the collection, the graph, the measures."""

    hops: Annotated[int, measure_option("--hops", "-n", min=0, help="Hop threshold n of near concepts.")] = 1
    similarity: SimilarityOption = None

    def __post_init__(self) -> None:
        LabelOptions.__post_init__(self)
        OptionalGraphOptions.__post_init__(self)

    def images(self) -> list[ImageConcepts]:
        """The queries and the corpus, as far as there are files of them."""
        return [ImageConcepts.read(path, **self.columns) for path in (self.concepts, self.corpus) if path is not None]

    def dataset(self) -> Dataset:
        """The collection, with its labels."""
        images = self.images()
        qrels = None if self.qrels is None else Judgements.read(self.qrels, grades_in_words(self.grades))
        return Dataset(*images, qrels=qrels, labels=self.read_labels(images, self, self.unknown))

    @property
    def of_queries(self) -> Mapping[str, Any]:
        """Treatment of queries, as arguments of `cuihop.evaluate`."""
        return {"missing": self.missing, "empty_ideal": self.empty_ideal, "query_image": self.query_image}


@dataclass(frozen=True, kw_only=True)
class GroupOptions:
    """Labels of the queries, whose values have means of their own."""

    by: Annotated[
        list[str] | None,
        measure_option(
            "--by", metavar="LABEL",
            help="Also the means over the queries of each value of this label, with intervals. May be repeated.",
        ),
    ] = None  # fmt: skip
    groups: Annotated[
        Path | None,
        file_option(
            "--groups", show_default="the labels given",
            help="Labels of the queries for --by: CSV or Parquet, query and a column for each label.",
        ),
    ] = None  # fmt: skip

    def read_groups(self, labels: Labels | None = None) -> Labels | None:
        """The labels of ``--groups``, or else those that decide relevance; refuses ``--by`` without either."""
        if self.groups is not None and not self.by:
            raise typer.BadParameter("--groups gives the labels of the queries for --by LABEL")
        if self.groups is not None:
            return Labels.read(self.groups)
        if self.by and labels is None:
            raise typer.BadParameter(
                "--by needs labels of the queries: --groups FILE, --labels, --label-concepts or --label-classes"
            )
        return labels


@dataclass(frozen=True, kw_only=True)
class SystemOptions:
    """Labels of the systems, whose values are summarised."""

    system_labels: Annotated[
        Path | None,
        file_option(
            "--systems",
            help="Labels of the systems, such as group and medium: CSV or Parquet, system and a column for each label.",
        ),
    ] = None
    by_system: Annotated[
        list[str] | None,
        measure_option(
            "--by-system", metavar="LABEL",
            help="Also ranks, minimum, maximum, mean and median over the systems of each value of this label. "
            "May be repeated.",
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class IntervalOptions:
    """Resamples of tests and intervals."""

    resamples: Annotated[
        int, test_option("--resamples", min=1, help="Resamples of bootstrap and randomisation test.")
    ] = 10_000
    confidence: Annotated[float, test_option("--confidence", help="Confidence level of the intervals.")] = 0.95
    seed: Annotated[int, test_option("--seed", min=0, help="Seed of the resamples.")] = 0

    def of_tests(self, threads: int | None) -> dict[str, Any]:
        """As arguments of `cuihop.compare`."""
        return {"resamples": self.resamples, "confidence": self.confidence, "seed": self.seed, "threads": threads}


PlotOption = Annotated[
    Path | None, file_option("--plot", help="File for a figure of the result: .svg, .png or .pdf."), PICTURE
]
CardsOption = Annotated[
    Path | None,
    file_option("--cards", metavar="FOLDER", help="Folder for a score card of each system."),
    FileUse.WRITES_FOLDER,
]
ReportOption = Annotated[
    Path | None,
    file_option("--report", help="File for the tables, for a paper: Markdown (.md) or LaTeX (.tex)."),
    REPORT,
]


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Files for the tables, the score cards and the figure of several systems."""

    report: ReportOption = None
    cards: CardsOption = None
    plot: PlotOption = None
