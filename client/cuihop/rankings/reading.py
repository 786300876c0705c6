"""Rankings from files: each kind is recognised by its content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cuihop.errors import InputError
from cuihop.files.array_file import is_array
from cuihop.files.arrow_tables import ArrowTable, is_table_file
from cuihop.rankings.arrays import ranking_of_array
from cuihop.rankings.blocks import RankingInBlocks, bytes_of_rank
from cuihop.rankings.ranking import Ranking, Similarity, Ties, checked_ties
from cuihop.rankings.tables import ranking_of_table
from cuihop.rankings.text import ranking_of_text
from cuihop.resources.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.resources.progress import Progress

__all__ = ["read_ranking", "read_ranking_in_blocks", "read_run"]


def read_ranking(
    path: str | Path,
    queries: Sequence[str],
    corpus: Sequence[str] | None = None,
    *,
    depth: int | None = None,
    corpus_embeddings: str | Path | None = None,
    ties: Ties = "name",
    similarity: Similarity | None = None,
    memory: int | str = DEFAULT_MEMORY,
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    keep_checkpoint: bool = False,
) -> Ranking:
    """Read a ranking from a TREC run, a CSV, Parquet or Arrow file, or a NumPy array of row numbers or of embeddings.

    The kind is told by the content: see docs/measures.md for each.

    Args:
        path: the file; text may be gzipped.
        queries: the query images in the order of their file.
        corpus: the images that can be retrieved, in the order of theirs; the queries without it.
        depth: keep so many images for each query; all without it. Embeddings need it.
        corpus_embeddings: where the corpus is not the queries, the embeddings of its images.
        ties: the order of equal scores in a text file.
        similarity: of an array: what orders the images. Without it, an array of floating point is embeddings to be
            ordered by cosine, and one of whole numbers holds row numbers.
        memory: what ordering an array may take: bytes, or a text such as ``500MB``.
        threads, progress, checkpoint, keep_checkpoint: of ordering an array, as in `cuihop.evaluate`.

    Raises:
        LimitExceeded: the memory allowed is not enough.
        InputError: names the file, line or row, what was found and what was expected.
        OutputError: the checkpoint cannot be written.
    """
    found = _read(
        path, queries, corpus, depth=depth, corpus_embeddings=corpus_embeddings, ties=ties, similarity=similarity,
        memory=memory, threads=threads, results=(depth or 0) * bytes_of_rank(kept=checkpoint is not None),
    )  # fmt: skip
    if isinstance(found, Ranking):
        if checkpoint is not None:
            raise InputError("a checkpoint goes with vectors", file=path, column="checkpoint", found="a ranking")
        return found
    if depth is None:
        raise InputError(
            "embeddings and codes are ranked to a depth", file=path, column="depth", expected="a number of images",
            advice="read_ranking_in_blocks ranks all images, a block of queries at a time.",
        )  # fmt: skip
    return found.whole(threads=threads, progress=progress, checkpoint=checkpoint, keep_checkpoint=keep_checkpoint)


def read_ranking_in_blocks(
    path: str | Path,
    queries: Sequence[str],
    corpus: Sequence[str] | None = None,
    *,
    depth: int | None = None,
    corpus_embeddings: str | Path | None = None,
    ties: Ties = "name",
    similarity: Similarity | None = None,
    memory: int | str = DEFAULT_MEMORY,
    threads: int | None = None,
) -> Ranking | RankingInBlocks:
    """As `read_ranking`; but what vectors order is made when it is asked for, a block of queries at a time.

    So whole rankings of large collections can be evaluated: they are never held in memory. A file that holds rankings
    is read as `read_ranking` reads it.

    Args:
        depth: so many images for each query; without it, all of the corpus.
        threads: how many blocks are made at once, at most; without it, as many as the process has cores.
        path, …: as in `read_ranking`.

    Raises:
        LimitExceeded, InputError: as `read_ranking`.
    """
    return _read(
        path, queries, corpus, depth=depth, corpus_embeddings=corpus_embeddings, ties=ties, similarity=similarity,
        memory=memory, threads=threads,
    )  # fmt: skip


def _read(
    path: str | Path,
    queries: Sequence[str],
    corpus: Sequence[str] | None,
    *,
    depth: int | None,
    corpus_embeddings: str | Path | None,
    ties: Ties,
    similarity: Similarity | None,
    memory: int | str,
    threads: int | None,
    **of_blocks: int,
) -> Ranking | RankingInBlocks:
    path, ties = Path(path), checked_ties(ties)
    if is_array(path):
        return ranking_of_array(
            path, queries, corpus, depth, None if corpus_embeddings is None else Path(corpus_embeddings), similarity,
            MemoryBudget.of(memory), threads, **of_blocks,
        )  # fmt: skip
    if similarity is not None:
        raise InputError("a similarity goes with an array", file=path, column="similarity", found="text")
    if corpus_embeddings is not None:
        raise InputError("embeddings of the corpus go with embeddings of the queries", file=path, found="text")
    held = queries if corpus is None else corpus
    if is_table_file(path):
        return ranking_of_table(ArrowTable.of(path), queries, held, depth, ties)
    return ranking_of_text(path, queries, held, depth, ties)


def read_run(path: str | Path, queries: Sequence[str], *, depth: int | None = None, ties: Ties = "name") -> Ranking:
    """Read a ranking of documents that no other file names, from a run, CSV, Parquet or Arrow: what judgements need.

    The corpus is what was retrieved. A query that stands in its own list stays there: the judgements say what it is
    worth. Lists of other queries are left out and told in `Ranking.unasked`.

    Args:
        path, depth, ties: as in `read_ranking`.
        queries: those that have judgements.

    Raises:
        InputError: names the file, line, what was found and what was expected.
    """
    path, ties = Path(path), checked_ties(ties)
    if is_array(path):
        raise InputError(
            "an array does not name documents", file=path, found="a NumPy array", expected="a TREC run or a CSV file"
        )
    if is_table_file(path):
        return ranking_of_table(ArrowTable.of(path), queries, None, depth, ties)
    return ranking_of_text(path, queries, None, depth, ties)
