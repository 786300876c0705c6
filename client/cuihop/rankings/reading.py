"""Rankings from files: the form is recognised by the content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from cuihop.errors import InputError
from cuihop.files.array_file import is_array
from cuihop.files.input_file import InputFile, Readable, opened_input
from cuihop.rankings.arrays import VectorOptions, ranking_of_array
from cuihop.rankings.blocks import RankingInBlocks, bytes_of_rank
from cuihop.rankings.document_ranking import DocumentRanking
from cuihop.rankings.parsing import ranking_of_file
from cuihop.rankings.ranking import Order, QueryImage, Ranking, Similarity, Ties, checked_order, checked_ties
from cuihop.resources.resources import Resources

__all__ = ["read_ranking", "read_ranking_in_blocks", "read_run"]

_DEFAULT = Resources()


def read_ranking(  # noqa: PLR0913 - each is an option of its own
    path: Readable,
    queries: Sequence[str],
    corpus: Sequence[str] | None = None,
    *,
    depth: int | None = None,
    corpus_embeddings: Readable | None = None,
    ties: Ties = "name",
    similarity: Similarity | None = None,
    order: Order = "score",
    query_image: QueryImage = "exclude",
    resources: Resources = _DEFAULT,
) -> Ranking:
    """Read a ranking: TREC run, CSV, JSON Lines, Parquet, Arrow, or NumPy array of row numbers or of embeddings.

    The form is recognised by the content: see docs/measures.md for each.

    Args:
        path: a file, a pipe, or ``-`` for standard input; text may be compressed by gzip or zstd.
        queries: the query images in the order of their file.
        corpus: the images that can be retrieved, in the order of theirs; the queries without it.
        depth: number of images for each query; all without it. Embeddings need it.
        corpus_embeddings: where the corpus is not the queries, the embeddings of its images.
        ties: the order of equal scores in a text file.
        similarity: of an array: the order of the images. Without it, an array of floating point is embeddings to be
            ordered by cosine, and one of whole numbers holds row numbers.
        order: the column that orders a text or a table with scores and ranks. By rank, a rank that stands twice for a
            query is an error.
        query_image: treatment of a query in its own list.
        resources: of ordering an array.

    Raises:
        LimitExceeded: the memory allowed is not enough.
        InputError: names the file, line or row, what was found and what was expected.
        OutputError: the checkpoint cannot be written.
    """
    file, checkpoint, order = opened_input(path), resources.checkpoint, checked_order(order)
    results = (depth or 0) * bytes_of_rank(in_checkpoint=checkpoint is not None)
    vectors = VectorOptions(depth, similarity, results, query_image)
    found = _read(file, queries, corpus, (ties, order), corpus_embeddings, vectors, resources)
    if isinstance(found, Ranking):
        if checkpoint is not None:
            raise InputError("a checkpoint goes with vectors", found=file.name, expected="embeddings or codes")
        return found
    if depth is None:
        raise InputError(
            "embeddings and codes are ranked to a depth", column="depth", expected="a number of images",
            advice="read_ranking_in_blocks ranks all images, a block of queries at a time.",
        )  # fmt: skip
    return found.whole(resources)


def read_ranking_in_blocks(  # noqa: PLR0913 - as read_ranking
    path: Readable,
    queries: Sequence[str],
    corpus: Sequence[str] | None = None,
    *,
    depth: int | None = None,
    corpus_embeddings: Readable | None = None,
    ties: Ties = "name",
    similarity: Similarity | None = None,
    order: Order = "score",
    query_image: QueryImage = "exclude",
    resources: Resources = _DEFAULT,
) -> Ranking | RankingInBlocks:
    """Read a ranking as `read_ranking`, but order vectors on request, a block of queries at a time.

    So whole rankings of large collections can be evaluated: they are never held in memory. A file that holds rankings
    is read as `read_ranking` reads it.

    Args:
        depth: number of images for each query; without it, all of the corpus.
        resources: threads and memory of the blocks.
        path, …: as in `read_ranking`.

    Raises:
        LimitExceeded, InputError: as `read_ranking`.
    """
    order, vectors = checked_order(order), VectorOptions(depth, similarity, query_image=query_image)
    return _read(opened_input(path), queries, corpus, (ties, order), corpus_embeddings, vectors, resources)


def _read(
    file: InputFile,
    queries: Sequence[str],
    corpus: Sequence[str] | None,
    ordered: tuple[Ties, Order],
    corpus_embeddings: Readable | None,
    options: VectorOptions,
    resources: Resources,
) -> Ranking | RankingInBlocks:
    ties, order = checked_ties(ordered[0]), ordered[1]
    if is_array(file):
        if order == "rank":
            raise InputError("an order goes with scores and ranks", column="order", found=f"an array in {file.name}")
        other = None if corpus_embeddings is None else opened_input(corpus_embeddings)
        return ranking_of_array(file, queries, corpus, other, options, resources)
    if options.similarity is not None:
        raise InputError("a similarity goes with an array", column="similarity", found=f"text in {file.name}")
    if corpus_embeddings is not None:
        raise InputError("embeddings of the corpus go with embeddings of the queries", file=file.name, found="text")
    images = queries if corpus is None else corpus
    return ranking_of_file(file, queries, images, options.depth, ties, order, options.query_image)


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
        path, depth, ties, order: as in `read_ranking`.
        queries: those that have judgements; ``None`` takes those of the file, in its order.

    Raises:
        InputError: names the file, line, what was found and what was expected.
    """
    file, ties, order = opened_input(path), checked_ties(ties), checked_order(order)
    if is_array(file):
        raise InputError(
            "an array does not name documents", file=file.name, found="a NumPy array",
            expected="a TREC run or a CSV file",
        )  # fmt: skip
    return cast(DocumentRanking, ranking_of_file(file, queries, None, depth, ties, order))
