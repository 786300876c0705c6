"""Groups of options of the commands that evaluate and compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import typer

from cuihop.cli.command_files import HTML, PICTURE, REPORT, FileUse
from cuihop.cli.graph_option import OptionalGraphOptions, advised_on_unknown
from cuihop.cli.nearness_options import NearnessOptions
from cuihop.cli.option_groups import ColumnOptions, file_option, measure_option, option_group, test_option
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements, grades_in_words
from cuihop.collection.label_classes import LabelClasses
from cuihop.collection.labels import Agreement, Labels
from cuihop.evaluation.result import EmptyIdeal, Missing
from cuihop.graph import ConceptGraph
from cuihop.measures.resolution import Unknown
from cuihop.rankings.ranking import Order, QueryImage, Similarity, Ties


@option_group
class CollectionOptions:
    """Files of a collection: concepts of the images, and judgements."""

    concepts: Path | None = file_option("Concepts of the query images: CSV or Parquet, image and C1;C2.")
    corpus: Path | None = file_option("Concepts of the images of the corpus; the queries themselves by default.")
    qrels: Path | None = file_option("Judgements for AP, nDCG@K, …: TREC or Parquet.")
    grades: str = file_option(
        "Grades of judgements in words; numbers are used as they are.", default="DR=2,PR=1,NR=0", metavar="WORD=GRADE,…"
    )


@option_group
class LabelOptions(ColumnOptions):
    """Source of the labels, one of three or none; refuses several, and an agreement without any."""

    labels: Path | None = file_option("Labels for P@K(a), nDCG@K(a+b) …: CSV or Parquet, image and a column per label.")
    label_concepts: Path | None = file_option("Instead of --labels: ImageCLEF's manual concepts: modality and organ.")
    label_classes: list[str] | None = file_option(
        "Instead of --labels: classes of a label and their concepts (class,concept), for the images of "
        "--concepts. May be repeated.",
        metavar="NAME=FILE",
        mark=FileUse.READS,
    )
    class_descendants: bool = file_option(
        "With --label-classes and --graph: a class includes the descendants of its concepts.",
        "--class-descendants/--no-class-descendants",
        default=True,
    )
    label_agreement: Agreement = measure_option(
        "Images agree in a label if their values are equal, or if they share one of the values between ';'.",
        default="equal",
    )

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


@option_group
class TiesOptions:
    """Order of equal scores."""

    ties: Ties = measure_option(
        "Order of equal scores: by name ascending, or as trec_eval (single precision, name descending).", default="name"
    )


@option_group
class ColumnOrderOptions:
    """Column that orders a ranking."""

    order: Order = measure_option(
        "Column that orders a ranking with both: score, as in trec_eval, or rank, unique for a query.", default="score"
    )


@option_group
class ArrayOptions:
    """Similarity of the rows of an array."""

    similarity: Similarity | None = measure_option(
        "Similarity of vectors in a .npy file: cosine or dot product of embeddings, or Hamming distance of codes.",
        shown="cosine for floating point",
    )


@option_group
class QueryOptions:
    """Treatment of empty ideals, and of queries that the corpus holds."""

    empty_ideal: EmptyIdeal = measure_option(
        "Queries without any gain or relevant image in the corpus: score 0, or skip.", default="zero"
    )
    query_image: QueryImage = measure_option(
        "A query that is in the corpus: exclude it from its own ranking and ideal, or include it.", default="exclude"
    )


MEASURE_HELP = "Measure, such as nDCG@5,10. May be repeated. cuihop measures list shows the names."


@option_group
class MeasureOptions:
    """The measures, and the queries that have no value."""

    measure: list[str] | None = measure_option(MEASURE_HELP, "-m", shown="nn-CUI@5,10,30")
    missing: Missing = measure_option("Queries without a ranking: refuse, score 0, or skip.", default="error")


@option_group
class EvaluationOptions(
    ArrayOptions,
    ColumnOrderOptions,
    TiesOptions,
    QueryOptions,
    NearnessOptions,
    MeasureOptions,
    OptionalGraphOptions,
    LabelOptions,
    CollectionOptions,
):  # the last is the first in the help
    """Conditions under which rankings are evaluated: the collection, the graph, the measures."""

    hops: int = measure_option("Hop threshold n: concepts within n hops are near.", "-n", default=1, min=0)

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


@option_group
class GroupOptions:
    """Labels of the queries, whose values have means of their own."""

    by: list[str] | None = measure_option(
        "Also print means, with intervals, for each value of this label of queries. May be repeated.", metavar="LABEL"
    )
    groups: Path | None = file_option(
        "Labels of the queries for --by: CSV or Parquet, query and a column for each label.", shown="the labels given"
    )

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


@option_group
class SystemOptions:
    """Labels of the systems, whose values are summarised."""

    system_labels: Path | None = file_option(
        "Labels of the systems, such as group and medium: CSV or Parquet, system and a column for each label.",
        "--systems",
    )
    by_system: list[str] | None = measure_option(
        "Also print ranks, minimum, maximum, mean and median for systems of each value of this label. May be repeated.",
        metavar="LABEL",
    )


@option_group
class IntervalOptions:
    """Resamples of tests and intervals."""

    resamples: int = test_option("Number of resamples of the bootstrap and randomisation test.", default=10_000, min=1)
    confidence: float = test_option("Confidence level of the intervals.", default=0.95)
    seed: int = test_option("Seed of the resamples.", default=0, min=0)

    def of_tests(self, threads: int | None) -> dict[str, Any]:
        """As arguments of `cuihop.compare`."""
        return {"resamples": self.resamples, "confidence": self.confidence, "seed": self.seed, "threads": threads}


@option_group
class PlotOptions:
    """File for the figure of a result."""

    plot: Path | None = file_option("File for a figure: .svg, .png or .pdf.", mark=PICTURE)


@option_group
class PageOptions:
    """File for the page about a result."""

    html: Path | None = file_option(
        "File for a self-contained HTML report: means with intervals, spread, the queries to look at.", mark=HTML
    )


@option_group
class CardsOptions:
    """Folder for the score cards of several systems."""

    cards: Path | None = file_option(
        "Folder for a score card of each system.", metavar="FOLDER", mark=FileUse.WRITES_FOLDER
    )


@option_group
class TablesOptions(CardsOptions):
    """Files for the tables and the score cards of several systems."""

    report: Path | None = file_option("File for the tables, for a paper: Markdown (.md) or LaTeX (.tex).", mark=REPORT)


@option_group
class ReportOptions(PlotOptions, TablesOptions):
    """Files for the tables, the score cards and the figure of several systems."""
