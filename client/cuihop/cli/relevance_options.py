"""Judgements and labels of the command line, and rankings that are evaluated by them alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import typer

from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.errors import InputError
from cuihop.files.input_file import Readable
from cuihop.measures import Measure
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Order, Ranking, Similarity, Ties
from cuihop.rankings.reading import read_ranking_in_blocks, read_run
from cuihop.resources.resources import Resources

__all__ = ["check_one_kind_of_labels", "check_without_concepts", "judged_ranking", "labels_given",
           "labels_of_groups"]  # fmt: skip


def check_one_kind_of_labels(labels: Path | None, label_concepts: Path | None) -> None:
    """Refuse two sources of labels."""
    if labels is not None and label_concepts is not None:
        raise typer.BadParameter("give either --labels or --label-concepts")


def labels_given(labels: Path | None, label_concepts: Path | None, columns: Mapping[str, str | None]) -> Labels | None:
    """The labels of ``--labels``, or those of the concepts in ``--label-concepts``, whose columns may be named."""
    if label_concepts is not None:
        return Labels.of_concepts(ImageConcepts.read(label_concepts, **columns))
    return None if labels is None else Labels.read(labels)


def labels_of_groups(by: Sequence[str] | None, groups: Path | None, labels: Labels | None) -> Labels | None:
    """The labels of ``--groups``, or else those that decide relevance; refuses ``--by`` without either."""
    if groups is not None and not by:
        raise typer.BadParameter("--groups gives the labels of the queries for --by LABEL")
    found = labels if groups is None else Labels.read(groups)
    if by and found is None:
        raise typer.BadParameter("--by needs labels of the queries: --groups FILE, --labels or --label-concepts")
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
    resources: Resources,
) -> Ranking | RankingInBlocks:
    """Read a ranking of the queries in judgements or labels; arguments as `read_ranking_in_blocks`."""
    if qrels is not None:
        return read_run(path, tuple(qrels), depth=depth, ties=ties, order=order)
    if labels is None:
        raise typer.BadParameter("give --concepts, --qrels or --labels: relevance has to come from one of them")
    return read_ranking_in_blocks(
        path, labels.images, depth=depth, ties=ties, order=order, similarity=similarity, resources=resources
    )
