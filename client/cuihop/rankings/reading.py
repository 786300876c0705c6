"""Rankings from files: the form is recognised by the content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack, cast

from cuihop.errors import InputError
from cuihop.files.arrays import is_array
from cuihop.files.input_file import Readable, opened_input
from cuihop.rankings.arrays import ranking_of_array
from cuihop.rankings.blocks import RankingInBlocks, bytes_of_rank
from cuihop.rankings.document_ranking import DocumentRanking
from cuihop.rankings.parsing import ranking_of_file
from cuihop.rankings.ranking import Order, QueryImage, Ranking, RankingOptions, Similarity, Ties
from cuihop.resources.resources import Resources

__all__ = ["ReadingOptions", "read_ranking", "read_ranking_in_blocks", "read_run"]


class ReadingOptions(TypedDict, total=False):
    """Options of `read_ranking` and `read_ranking_in_blocks`, each passed by its name.

    Attributes:
        depth: number of images for each query; all without it. `read_ranking` of embeddings needs it.
        corpus_embeddings: the embeddings of the corpus, unless it is the queries.
        ties: the order of equal scores in a text file: ``"name"`` by default.
        similarity: of an array: the order of the images. Without it, an array of floating point is embeddings to be
            ordered by cosine, and one of whole numbers holds row numbers.
        order: the column that orders a text or a table with scores and ranks: ``"score"`` by default. By rank, a rank
            that stands twice for a query is an error.
        query_image: treatment of a query in its own list: ``"exclude"`` by default.
        resources: of ordering an array.
    """

    depth: int | None
    corpus_embeddings: Readable | None
    ties: Ties
    similarity: Similarity | None
    order: Order
    query_image: QueryImage
    resources: Resources


@dataclass(frozen=True)
class _Reading(RankingOptions):
    """`ReadingOptions` with their defaults."""

    corpus_embeddings: Readable | None = None
    resources: Resources = Resources()

    def ranking(
        self, path: Readable, queries: Iterable[str] | None, corpus: Iterable[str] | None, results: int | None = None
    ) -> Ranking | RankingInBlocks:
        """The ranking in a file. ``results``: bytes for each query, set apart for the values of a ranking in blocks."""
        file = opened_input(path)
        queries, corpus = (None if names is None else tuple(names) for names in (queries, corpus))
        if is_array(file):
            if queries is None:
                raise InputError(
                    "an array does not name images", file=file.name, found="no queries",
                    expected="read_ranking(path, images)",
                    advice="evaluate(images, path) takes its rows in the order of the images, too.",
                )  # fmt: skip
            if self.order == "rank":
                raise InputError(
                    "an order goes with scores and ranks", column="order", found=f"an array in {file.name}"
                )
            other = None if self.corpus_embeddings is None else opened_input(self.corpus_embeddings)
            return ranking_of_array(file, queries, corpus, other, self.with_results(results), self.resources)
        if self.similarity is not None:
            raise InputError("a similarity goes with an array", column="similarity", found=f"text in {file.name}")
        if self.corpus_embeddings is not None:
            raise InputError("embeddings of the corpus go with embeddings of the queries", file=file.name, found="text")
        return ranking_of_file(file, queries, queries if corpus is None else corpus, self)


def read_ranking(
    path: Readable,
    queries: Iterable[str] | None = None,
    corpus: Iterable[str] | None = None,
    **options: Unpack[ReadingOptions],
) -> Ranking:
    """Read a ranking: TREC run, CSV, JSON Lines, Parquet, Arrow, or NumPy array of row numbers or of embeddings.

    The form is recognised by the content: see docs/file-formats.md for each.

    Args:
        path: a file, a pipe, or ``-`` for standard input; text may be compressed by gzip or zstd.
        queries: the query images in the order of their file, such as `ImageConcepts`. Without them, those of the file;
            an array names none.
        corpus: the images that can be retrieved, in the order of theirs; the queries without it.
        options: see `ReadingOptions`.

    Raises:
        LimitExceeded: the memory allowed is not enough.
        InputError: names the file, line or row, what was found and what was expected.
        OutputError: the checkpoint cannot be written.
    """
    reading = _Reading(**options)
    depth, checkpoint = reading.depth, reading.resources.checkpoint
    file = opened_input(path)
    ranking = reading.ranking(file, queries, corpus, (depth or 0) * bytes_of_rank(in_checkpoint=checkpoint is not None))
    if isinstance(ranking, Ranking):
        if checkpoint is not None:
            raise InputError("a checkpoint goes with vectors", found=file.name, expected="embeddings or codes")
        return ranking
    if depth is None:
        raise InputError(
            "embeddings and codes are ranked to a depth", column="depth", expected="a number of images",
            advice="read_ranking_in_blocks ranks all images, a block of queries at a time.",
        )  # fmt: skip
    return ranking.whole(reading.resources)


def read_ranking_in_blocks(
    path: Readable,
    queries: Iterable[str] | None = None,
    corpus: Iterable[str] | None = None,
    **options: Unpack[ReadingOptions],
) -> Ranking | RankingInBlocks:
    """Read a ranking as `read_ranking`, but order vectors on request, a block of queries at a time.

    So complete rankings of large collections can be evaluated: they are never held in memory. A file that holds
    rankings is read as `read_ranking` reads it.

    Args:
        path, queries, corpus: as in `read_ranking`.
        options: see `ReadingOptions`; the resources are threads and memory of the blocks.

    Raises:
        LimitExceeded, InputError: as `read_ranking`.
    """
    return _Reading(**options).ranking(path, queries, corpus)


def read_run(
    path: Readable,
    queries: Sequence[str] | None,
    *,
    depth: int | None = None,
    ties: Ties = "name",
    order: Order = "score",
) -> DocumentRanking:
    """Read a ranking of documents that no other file names, in any form but an array: what judgements need.

    The corpus is what was retrieved. A query that stands in its own list stays there: the judgements say what it is
    worth. Lists of other queries are left out and named in `Ranking.other_queries`.

    Args:
        path: as in `read_ranking`. depth, ties, order: see `ReadingOptions`.
        queries: those that have judgements; ``None`` takes those of the file, in its order.

    Raises:
        InputError: names the file, line, what was found and what was expected.
    """
    file, options = opened_input(path), RankingOptions(depth, ties, order)
    if is_array(file):
        raise InputError(
            "an array does not name documents", file=file.name, found="a NumPy array",
            expected="a TREC run or a CSV file",
        )  # fmt: skip
    return cast(DocumentRanking, ranking_of_file(file, queries, None, options))
