"""Judgements and labels of the command line, and rankings that are evaluated by them alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import typer

from cuihop.cli.graph_option import GraphSource, advised_on_unknown, opened_graph
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements
from cuihop.collection.label_classes import LabelClasses
from cuihop.collection.labels import Agreement, Labels
from cuihop.errors import InputError
from cuihop.files.input_file import Readable
from cuihop.graph import ConceptGraph
from cuihop.measures import Measure
from cuihop.measures.resolution import Unknown
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Order, QueryImage, Ranking, Similarity, Ties
from cuihop.rankings.reading import read_ranking_in_blocks, read_run
from cuihop.resources.resources import Resources


@dataclass(frozen=True)
class LabelSource:
    """Source of the labels on the command line: one of three, or none.

    Attributes:
        labels: a file of labels. label_concepts: one of ImageCLEF's manual concepts.
        label_classes: files of classes and their concepts, each NAME=FILE.
        descendants: a class has the concepts below its own, too.
        agreement: of two images. columns: names of the columns of concept files.

    Raises:
        typer.BadParameter: there are several sources, or an agreement without any.
    """

    labels: Path | None
    label_concepts: Path | None
    label_classes: Sequence[str]
    descendants: bool
    agreement: Agreement
    columns: Mapping[str, str | None]

    def __post_init__(self) -> None:
        sources = (self.labels is not None, self.label_concepts is not None, bool(self.label_classes))
        if sum(sources) > 1:
            raise typer.BadParameter("give one of --labels, --label-concepts and --label-classes")
        if not self.descendants and not self.label_classes:
            raise typer.BadParameter("--no-class-descendants goes with --label-classes")
        if self.agreement != "equal" and not any(sources):
            raise typer.BadParameter("--label-agreement goes with --labels, --label-concepts or --label-classes")

    def read(
        self, images: Sequence[ImageConcepts], graph: GraphSource | ConceptGraph | None, unknown: Unknown
    ) -> Labels | None:
        """The labels; those of classes are of these images, with this graph or the one at this address."""
        found: Labels | None = None
        if self.labels is not None:
            found = Labels.read(self.labels)
        elif self.label_concepts is not None:
            found = Labels.of_concepts(ImageConcepts.read(self.label_concepts, **self.columns))
        elif self.label_classes:
            if not images:
                raise typer.BadParameter("--label-classes goes with --concepts: the labels are those of its images")
            classes = _classes(self.label_classes)
            below = graph if self.descendants else None
            with (
                advised_on_unknown(),
                opened_graph(below) if isinstance(below, GraphSource) else nullcontext(below) as opened,
            ):
                found = Labels.of_classes(images, classes, opened, unknown=unknown)
        return None if found is None else found.with_agreement(self.agreement)


def _classes(given: Sequence[str]) -> dict[str, LabelClasses]:
    """Name of a label → its classes, from NAME=FILE."""
    found: dict[str, LabelClasses] = {}
    for text in given:
        name, equals, file = (part.strip() for part in text.partition("="))
        if not (name and equals and file) or set(name) & set("+,()="):
            raise typer.BadParameter(f"--label-classes takes NAME=FILE, such as modality=modality.csv, not {text!r}")
        if name in found:
            raise typer.BadParameter(f"--label-classes names {name!r} twice")
        found[name] = LabelClasses.read(file)
    return found


def labels_of_groups(by: Sequence[str] | None, groups: Path | None, labels: Labels | None) -> Labels | None:
    """The labels of ``--groups``, or else those that decide relevance; refuses ``--by`` without either."""
    if groups is not None and not by:
        raise typer.BadParameter("--groups gives the labels of the queries for --by LABEL")
    found = labels if groups is None else Labels.read(groups)
    if by and found is None:
        raise typer.BadParameter(
            "--by needs labels of the queries: --groups FILE, --labels, --label-concepts or --label-classes"
        )
    return found


def check_without_concepts(measures: Iterable[Measure]) -> None:
    """Refuse measures that need the concepts of the images."""
    for measure in measures:
        if measure.kind == "concepts":
            raise InputError(
                "a measure by concepts without concepts", column="measures", found=str(measure),
                expected="the concepts of the images: --concepts FILE",
            )  # fmt: skip


def judged_ranking(
    path: Readable,
    qrels: Judgements | None,
    labels: Labels | None,
    *,
    depth: int | None,
    ties: Ties,
    order: Order,
    similarity: Similarity | None,
    query_image: QueryImage,
    resources: Resources,
) -> Ranking | RankingInBlocks:
    """Read a ranking of the queries in judgements or labels; arguments as `read_ranking_in_blocks`."""
    if qrels is not None:
        return read_run(path, tuple(qrels), depth=depth, ties=ties, order=order)
    if labels is None:
        raise typer.BadParameter("give --concepts, --qrels or --labels: relevance has to come from one of them")
    return read_ranking_in_blocks(
        path,
        labels.images,
        depth=depth,
        ties=ties,
        order=order,
        similarity=similarity,
        query_image=query_image,
        resources=resources,
    )
