"""Options of an evaluation, shared by the commands that evaluate and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.cli.command_files import PICTURE, REPORT, FileUse
from cuihop.cli.run_options import RESOURCES_PANEL
from cuihop.collection.labels import Agreement
from cuihop.evaluation.result import EmptyIdeal, Missing
from cuihop.rankings.ranking import Order, QueryImage, Similarity, Ties

FILES_PANEL = "Files"
MEASURES_PANEL = "Measures"
TESTS_PANEL = "Tests"

ConceptsOption = Annotated[
    Path | None,
    typer.Option(
        "--concepts", help="Concepts of the query images, C1;C2: CSV or Parquet.", rich_help_panel=FILES_PANEL
    ),
]
ImageColumnOption = Annotated[
    str | None,
    typer.Option(
        "--image-column", show_default="the first of two; image_id, ID or image of more", rich_help_panel=FILES_PANEL,
        help="Column of the images in files of concepts.",
    ),
]  # fmt: skip
ConceptColumnOption = Annotated[
    str | None,
    typer.Option(
        "--concept-column", show_default="the second of two; CUIs, cui or concepts of more",
        rich_help_panel=FILES_PANEL, help="Column of the concepts in files of concepts.",
    ),
]  # fmt: skip
OptionalGraphOption = Annotated[
    str | None,
    typer.Option(
        "--graph", "-g", envvar="CUIHOP_GRAPH", rich_help_panel=FILES_PANEL, show_default=False,
        help="Graph, where a measure needs one: path of a snapshot, address of a service, or bolt://HOST:PORT.",
    ),
    FileUse.READS,
]  # fmt: skip
CorpusOption = Annotated[
    Path | None,
    typer.Option(
        "--corpus", help="Concepts of the images of the corpus; the queries themselves by default.",
        rich_help_panel=FILES_PANEL,
    ),
]  # fmt: skip
CorpusEmbeddingsOption = Annotated[
    Path | None,
    typer.Option("--corpus-embeddings", help="Embeddings of the corpus, with --corpus.", rich_help_panel=FILES_PANEL),
]
QrelsOption = Annotated[
    Path | None,
    typer.Option("--qrels", help="Judgements for AP, nDCG@K, …: TREC or Parquet.", rich_help_panel=FILES_PANEL),
]
GradesOption = Annotated[
    str,
    typer.Option(
        "--grades", metavar="WORD=GRADE,…", rich_help_panel=FILES_PANEL,
        help="Grades of judgements in words. Numbers are read as they are.",
    ),
]  # fmt: skip
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        "--labels", help="Labels for P@K(a), nDCG@K(a+b), …: CSV or Parquet, image and a column for each label.",
        rich_help_panel=FILES_PANEL,
    ),
]  # fmt: skip
LabelConceptsOption = Annotated[
    Path | None,
    typer.Option(
        "--label-concepts", rich_help_panel=FILES_PANEL,
        help="Instead of --labels: ImageCLEF's manual concepts, which give modality and organ.",
    ),
]  # fmt: skip
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by", metavar="LABEL", rich_help_panel=MEASURES_PANEL,
        help="Also the means over the queries of each value of this label, with intervals. May be repeated.",
    ),
]  # fmt: skip
GroupsOption = Annotated[
    Path | None,
    typer.Option(
        "--groups", rich_help_panel=FILES_PANEL, show_default="the labels given",
        help="Labels of the queries for --by: CSV or Parquet, query and a column for each label.",
    ),
]  # fmt: skip
LabelClassesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--label-classes", metavar="NAME=FILE", rich_help_panel=FILES_PANEL,
        help="Instead of --labels: classes of a label and their concepts (class,concept), for the images of "
        "--concepts. May be repeated.",
    ),
    FileUse.READS,
]  # fmt: skip
ClassDescendantsOption = Annotated[
    bool,
    typer.Option(
        "--class-descendants/--no-class-descendants", rich_help_panel=FILES_PANEL,
        help="With --label-classes and --graph: the concepts below those of a class belong to it, too.",
    ),
]  # fmt: skip
LabelAgreementOption = Annotated[
    Agreement,
    typer.Option(
        "--label-agreement", rich_help_panel=MEASURES_PANEL,
        help="Images agree in a label when their values are equal, or when they share a class: a part between ';'.",
    ),
]  # fmt: skip
PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot", help="File for a figure of the result: .svg, .png or .pdf.",
        rich_help_panel=FILES_PANEL,
    ),
    PICTURE,
]  # fmt: skip


def measures_option(default: str) -> Any:
    """The option of the measures; its help shows the default in these words."""
    return typer.Option(
        "--measure", "-m", help="Name, several K with commas; may be repeated. cuihop measures lists the names.",
        show_default=default, rich_help_panel=MEASURES_PANEL,
    )  # fmt: skip


MeasuresOption = Annotated[list[str] | None, measures_option("nn-CUI@5,10,30")]
HopsOption = Annotated[
    int, typer.Option("--hops", "-n", min=0, help="Hop threshold n of near concepts.", rich_help_panel=MEASURES_PANEL)
]
MissingOption = Annotated[
    Missing,
    typer.Option(
        "--missing", help="Queries without a ranking: refuse, score 0, or skip.", rich_help_panel=MEASURES_PANEL
    ),
]
EmptyIdealOption = Annotated[
    EmptyIdeal,
    typer.Option(
        "--empty-ideal", rich_help_panel=MEASURES_PANEL,
        help="Queries without any gain or relevant image in the corpus: score 0, or skip.",
    ),
]  # fmt: skip
QueryImageOption = Annotated[
    QueryImage,
    typer.Option(
        "--query-image", rich_help_panel=MEASURES_PANEL,
        help="A query that the corpus holds: leave it out of its own ranking and ideal, or count it there.",
    ),
]  # fmt: skip
TiesOption = Annotated[
    Ties,
    typer.Option(
        "--ties", rich_help_panel=MEASURES_PANEL,
        help="Order of equal scores: by name ascending, or as trec_eval (single precision, name descending).",
    ),
]  # fmt: skip
OrderOption = Annotated[
    Order,
    typer.Option(
        "--order", rich_help_panel=MEASURES_PANEL,
        help="Column that orders a ranking with both: score, as trec_eval; or rank, each once for a query.",
    ),
]  # fmt: skip
SimilarityOption = Annotated[
    Similarity | None,
    typer.Option(
        "--similarity", rich_help_panel=MEASURES_PANEL, show_default="cosine for floating point",
        help="Similarity of a .npy file: cosine or product of embeddings, or Hamming distance of codes.",
    ),
]  # fmt: skip
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, help="Threads; all cores by default.", show_default=False, rich_help_panel=RESOURCES_PANEL
    ),
]
CardsOption = Annotated[
    Path | None,
    typer.Option(
        "--cards", metavar="FOLDER", help="Folder for a score card of each system.", rich_help_panel=FILES_PANEL
    ),
    FileUse.WRITES_FOLDER,
]


SystemsOption = Annotated[
    Path | None,
    typer.Option(
        "--systems", rich_help_panel=FILES_PANEL,
        help="Labels of the systems, such as group and medium: CSV or Parquet, system and a column for each label.",
    ),
]  # fmt: skip
BySystemOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by-system", metavar="LABEL", rich_help_panel=MEASURES_PANEL,
        help="Also ranks, minimum, maximum, mean and median over the systems of each value of this label. "
        "May be repeated.",
    ),
]  # fmt: skip


ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report", rich_help_panel=FILES_PANEL,
        help="File for the tables, for a paper: Markdown (.md) or LaTeX (.tex).",
    ),
    REPORT,
]  # fmt: skip
ResamplesOption = Annotated[
    int,
    typer.Option(
        "--resamples", min=1, help="Resamples of bootstrap and randomisation test.", rich_help_panel=TESTS_PANEL
    ),
]
ConfidenceOption = Annotated[
    float, typer.Option("--confidence", help="Confidence level of the intervals.", rich_help_panel=TESTS_PANEL)
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of the resamples.", rich_help_panel=TESTS_PANEL)]
