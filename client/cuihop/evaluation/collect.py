"""Collect the inputs of an evaluation: criteria, images, and each ranking in the order of its queries."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.errors import InputError, checked_choice
from cuihop.evaluation.result import EmptyIdeal, Missing
from cuihop.files.arrow_tables import ArrowStream, ArrowTable, is_table_object
from cuihop.measures.measure import FAMILIES, Measure
from cuihop.measures.nearness import Nearness
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.document_ranking import DocumentRanking
from cuihop.rankings.in_memory import ranking_of_indices, scored_ranking
from cuihop.rankings.parsing import ranking_of_table
from cuihop.rankings.ranking import QueryImage, Ranking, RankingOptions
from cuihop.rankings.reading import read_ranking_in_blocks, read_run
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.arrays import bounds_of

RankingLike: TypeAlias = (
    Ranking | RankingInBlocks | Mapping[str, Sequence[str]] | Mapping[str, Mapping[str, float]] | ArrowStream
    | npt.NDArray[np.integer] | str | os.PathLike[str]
)  # fmt: skip
"""Every form of a ranking that `cuihop.evaluate` takes."""


@dataclass(frozen=True)
class Criteria:
    """Measures, in the order of the result, and parameters of an evaluation: see `cuihop.evaluate`."""

    measures: tuple[Measure, ...]
    nearness: Nearness
    missing: Missing
    empty_ideal: EmptyIdeal
    query_image: QueryImage = "exclude"

    def __post_init__(self) -> None:
        checked_choice("missing", self.missing, Missing)
        checked_choice("empty_ideal", self.empty_ideal, EmptyIdeal)
        checked_choice("query_image", self.query_image, QueryImage)

    @property
    def judged(self) -> tuple[Measure, ...]:
        """The measures of labels and judgements."""
        return tuple(measure for measure in self.measures if measure.kind == "judged")

    def check_judged(self) -> None:
        """Refuse measures that need concepts."""
        for measure in self.measures:
            if measure.kind != "judged":
                raise InputError(
                    "not a measure of judged relevance", column="measures", found=str(measure),
                    expected=", ".join(family.name for family in FAMILIES.values() if family.kind == "judged"),
                )  # fmt: skip


def ranking_of_images(ranking: object, images: ImageCollection) -> Ranking | RankingInBlocks:
    """The ranking of these very images, in their order; refuses one of other images."""
    queries, corpus = images.query_names, images.corpus_names
    if not isinstance(ranking, Ranking | RankingInBlocks):
        return _read(ranking, queries, corpus, images.query_image)
    _check_query_image(ranking, images.query_image)
    if isinstance(ranking, DocumentRanking):
        named = Ranking.of(_lists(ranking), queries, corpus, query_image=images.query_image)
        return dataclasses.replace(
            named, source=ranking.source, other_queries=ranking.other_queries, ties=ranking.ties, form=ranking.form
        )
    if (ranking.queries, ranking.corpus) == (queries, corpus):
        return ranking
    raise InputError(
        "the ranking is of other images, or of the same in another order",
        found=f"{len(ranking.queries):,} queries, {len(ranking.corpus):,} images in the corpus",
        expected=f"the {len(queries):,} queries and {len(corpus):,} images given, in their order",
        advice="dict(ranking) is matched by the names of the images.",
    )


def _read(
    ranking: object, queries: Sequence[str], corpus: Sequence[str] | None, query_image: QueryImage
) -> Ranking | RankingInBlocks:
    """The ranking in a file, a table, an array or a mapping; without a corpus, of documents that nothing else names."""
    options = RankingOptions(query_image=query_image)
    if isinstance(ranking, str | os.PathLike):
        path = Path(ranking)
        return read_run(path, queries) if corpus is None else read_ranking_in_blocks(
            path, queries, corpus, query_image=query_image
        )  # fmt: skip
    if is_table_object(ranking):
        return ranking_of_table(ArrowTable.of(ranking), queries, corpus, options)
    if corpus is not None and hasattr(ranking, "dtype"):
        return ranking_of_indices(ranking, queries, corpus, options)
    if not isinstance(ranking, Mapping):
        raise InputError("not a ranking", found=type(ranking).__name__, expected="query → documents, best first")
    if any(isinstance(documents, Mapping) for documents in ranking.values()):
        if corpus is None:
            return scored_ranking(ranking, qrels=dict.fromkeys(queries))
        return scored_ranking(ranking, queries, corpus, query_image=query_image)
    if corpus is None:
        return _document_ranking(ranking, tuple(queries))
    return Ranking.of(ranking, queries, corpus, query_image=query_image)


def _check_query_image(ranking: Ranking | RankingInBlocks, query_image: QueryImage) -> None:
    """Refuse a ranking of images in which queries were treated otherwise when it was made."""
    if not isinstance(ranking, DocumentRanking) and ranking.query_image != query_image:
        raise InputError(
            "the ranking treats queries in their own lists otherwise", column="query_image",
            found=f"a ranking made with {ranking.query_image!r}", expected=repr(query_image),
            advice="Read or make the ranking with the same query_image, or give its lists as a mapping.",
        )  # fmt: skip


def ranking_of_queries(
    ranking: object, qrels: Judgements | None, labels: Labels | None, query_image: QueryImage
) -> Ranking | RankingInBlocks:
    """The ranking of the queries that judgements or labels name, in their order; its documents may be any."""
    if qrels is None and labels is None:
        raise InputError("nothing says which documents are relevant", expected="qrels or labels")
    queries = tuple(qrels) if qrels is not None else () if labels is None else labels.images
    if not isinstance(ranking, Ranking | RankingInBlocks):
        return _read(ranking, queries, None if qrels is not None else queries, query_image)
    if qrels is None:
        _check_query_image(ranking, query_image)
    elif isinstance(ranking, DocumentRanking) and ranking.queries != queries:
        return _document_ranking(_lists(ranking), queries, ranking)
    if ranking.queries != queries:
        raise InputError(
            "the ranking is of other queries, or of the same in another order",
            found=f"{len(ranking.queries):,} queries",
            expected=f"the {len(queries):,} queries of {'the judgements' if qrels is not None else 'the labels'}",
            advice="dict(ranking) is matched by the names.",
        )
    return ranking


def ranking_of_labelled(ranking: Ranking, labels: Labels, query_image: QueryImage) -> Ranking | None:
    """The ranking of documents as one of all images with labels; ``None`` where it is one of images already."""
    if type(ranking) is Ranking:
        return None
    corpus = tuple(dict.fromkeys((*labels.images, *ranking.corpus)))  # an image without labels is reported later
    return Ranking.of({query: ranking[query] for query in ranking}, ranking.queries, corpus, query_image=query_image)


def _lists(ranking: Ranking) -> dict[str, tuple[str, ...]]:
    """The lists of the queries that have one."""
    return {query: ranking[query] for query in compress(ranking.queries, ranking.listed.tolist())}


def _document_ranking(
    lists: Mapping[str, Sequence[str]], queries: tuple[str, ...], read: Ranking | None = None
) -> Ranking:
    """Lists of documents that nothing else names, as they were read; a query stays in its own, as in `read_run`."""
    listed = {query: lists[query] for query in queries if query in lists}
    for query, documents in listed.items():
        if isinstance(documents, str | Mapping) or len(set(documents)) < len(documents):
            Ranking.of(
                {query: documents}, [query], [*dict.fromkeys(documents)], query_image="include"
            )  # raises the error
    names = list(chain.from_iterable(listed.values()))
    lengths = [len(listed.get(query, ())) for query in queries]
    present = np.array([query in listed for query in queries], dtype=np.bool_)
    of_queries = set(queries)
    others = tuple(query for query in lists if query not in of_queries)
    origin = ("memory", None, "") if read is None else (read.source, read.ties, read.form)
    source, ties, form = origin
    return DocumentRanking(
        queries, names, np.arange(len(names)), bounds_of(lengths), present, source, others, ties, form
    )
