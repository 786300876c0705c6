"""Rankings in NumPy files: row numbers of the images in ranking order, or embeddings of the images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_names import own_rows
from cuihop.errors import InputError
from cuihop.files.array_file import ArrayFile, Rows, content_of_rows
from cuihop.rankings.blocks import RESULTS_OF_BLOCKS, NearestRows, RankingInBlocks
from cuihop.rankings.mistaken_arrays import check_embeddings, check_from_zero, counted_from_one
from cuihop.rankings.ranking import Ranking, Similarity
from cuihop.resources.cores import checked_threads
from cuihop.resources.memory_budget import MemoryBudget

__all__ = ["ranking_of_array", "ranking_of_row_numbers", "vectors_in_blocks"]

_ROWS_A_BLOCK = 256
_CODES = "Binary codes, and other vectors of whole numbers, need --similarity."

Int32 = npt.NDArray[np.int32]


def ranking_of_array(
    path: Path,
    queries: Sequence[str],
    corpus: Sequence[str] | None,
    depth: int | None,
    corpus_embeddings: Path | None,
    similarity: Similarity | None,
    memory: MemoryBudget,
    threads: int | None = None,
    results: int = RESULTS_OF_BLOCKS,
) -> Ranking | RankingInBlocks:
    """The ranking in the array, or made from its vectors: see `cuihop.rankings.reading.read_ranking`.

    Args:
        depth: keep so many images for each query; all without it.
    """
    if similarity not in (None, *get_args(Similarity)):
        raise InputError(
            "no such similarity",
            column="similarity",
            found=repr(similarity),
            expected=" or ".join(get_args(Similarity)),
        )
    table = _table(path, similarity)
    if len(table) != len(queries):
        raise InputError(
            "wrong number of rows", file=path, found=f"{len(table):,}",
            expected=f"{len(queries):,}, one for each query",
            advice="Is it of another collection or split, or of images in another order?",
        )  # fmt: skip
    if similarity is not None or table.dtype.kind == "f":
        if similarity is None:
            check_embeddings(path, table, len(queries if corpus is None else corpus))
        return vectors_in_blocks(
            (str(path), table), _vectors_of_corpus(path, table, queries, corpus, corpus_embeddings, similarity),
            queries, queries if corpus is None else corpus, depth, similarity or "cosine", memory, threads, results,
        )  # fmt: skip
    if corpus_embeddings is not None:
        raise InputError(
            "embeddings of the corpus go with embeddings of the queries", file=path, found=f"dtype {table.dtype}"
        )
    return ranking_of_row_numbers(path, table, queries, queries if corpus is None else corpus, depth)


def _table(path: Path, similarity: Similarity | None) -> ArrayFile:
    table = ArrayFile(path)
    if len(table.shape) != 2 or table.dtype.kind not in ("biuf" if similarity == "hamming" else "iuf"):
        raise InputError(
            "not a table of numbers",
            file=path,
            found=f"shape {table.shape}, dtype {table.dtype}",
            expected="two dimensions: whole numbers (row numbers) or floating point (embeddings)",
        )
    return table


def ranking_of_row_numbers(
    path: Path | str, table: Rows, queries: Sequence[str], corpus: Sequence[str], depth: int | None
) -> Ranking:
    """The ranking whose row numbers stand in the table; ``path`` is what messages call it."""
    width = table.shape[1] if depth is None else min(table.shape[1], depth + 1)  # one more: the query may be in it
    rows = np.empty((len(queries), width), dtype=np.int32)
    for first in range(0, len(queries), _ROWS_A_BLOCK):
        block = table[first : first + _ROWS_A_BLOCK][:, :width]
        outside = (block < -1) | (block >= len(corpus)) if table.dtype.kind == "i" else block >= len(corpus)
        if outside.any():
            cause = counted_from_one(table, len(corpus)) or _cause_of_large(table, len(corpus))
            expected = f"0 to {len(corpus) - 1:,}, or -1 at the end"
            _refuse(path, first, block, outside, "not a row of the corpus", expected, cause)
        part = block.astype(np.int32)
        reopened = (part[:, 1:] >= 0) & (part[:, :-1] < 0)
        late = np.pad(reopened, ((0, 0), (1, 0)))
        _refuse(path, first, block, late, "a row number after the end of the list", "-1 only at the end")
        order = np.argsort(part, axis=1, kind="stable")
        ascending = np.take_along_axis(part, order, axis=1)
        same = (ascending[:, 1:] == ascending[:, :-1]) & (ascending[:, 1:] >= 0)
        again = np.zeros(part.shape, dtype=np.bool_)
        np.put_along_axis(again, order[:, 1:], same, axis=1)
        _refuse(path, first, block, again, "a row number stands twice for a query", "each once", _CODES)
        rows[first : first + len(part)] = part
    check_from_zero(path, table, rows, own_rows(queries, corpus), len(corpus))
    kept = rows >= 0
    shorter = int((~kept).any(axis=1).sum()) if width else 0
    form = f"{len(table):,} rows of {table.shape[1]:,} row numbers" + (
        f", {shorter:,} of them filled up by -1" if shorter else ""
    )
    owners = np.repeat(np.arange(len(queries)), kept.sum(axis=1))
    return Ranking.from_flat(owners, rows[kept], queries, corpus, depth=depth, source=str(path), form=form)


def _cause_of_large(table: Rows, images: int) -> str | None:
    """Advice for numbers far beyond the corpus."""
    last = np.asarray(table[len(table) - 1 : len(table)])
    return _CODES if last.size and int(last.max()) > images else None


def _refuse(
    path: Path | str, first: int, block: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], problem: str, expected: str,
    advice: str | None = None,
) -> None:  # fmt: skip
    """An error about the first entry that is wrong, if one is. Rows and columns count from 0, as NumPy does."""
    if not wrong.any():
        return
    row, column = (int(place) for place in np.argwhere(wrong)[0])
    raise InputError(
        problem,
        file=path,
        column=f"{column}, row {first + row:,} (both from 0)",
        found=str(block[row, column]),
        expected=expected,
        advice=advice,
    )


def _vectors_of_corpus(
    path: Path,
    table: ArrayFile,
    queries: Sequence[str],
    corpus: Sequence[str] | None,
    corpus_embeddings: Path | None,
    similarity: Similarity | None,
) -> tuple[str, ArrayFile]:
    """The vectors of the corpus, with what messages call them."""
    if corpus is not None and corpus_embeddings is None:
        raise InputError(
            "the corpus has no embeddings",
            file=path,
            found="embeddings of the queries alone",
            expected="a second array for the corpus",
            advice="Give it with --corpus-embeddings.",
        )
    if corpus_embeddings is None:
        return str(path), table
    other = _table(corpus_embeddings, similarity)
    images = queries if corpus is None else corpus
    if (other.dtype.kind == "f") != (table.dtype.kind == "f") or other.shape != (len(images), table.shape[1]):
        raise InputError(
            "not the embeddings of the corpus",
            file=corpus_embeddings,
            found=f"shape {other.shape}, dtype {other.dtype}",
            expected=f"shape ({len(images)}, {table.shape[1]}), a dtype such as {table.dtype}",
        )
    return str(corpus_embeddings), other


def vectors_in_blocks(
    asked: tuple[str, Rows],
    held: tuple[str, Rows],
    queries: Sequence[str],
    corpus: Sequence[str],
    depth: int | None,
    similarity: Similarity,
    memory: MemoryBudget,
    threads: int | None = None,
    results: int = RESULTS_OF_BLOCKS,
) -> RankingInBlocks:
    """The ranking by similarity of two tables, one row for each image, each with what messages call it.

    Args:
        depth: so many images of each query; all without it.
        memory: what this may take; the ranking keeps the account.
        threads: how many blocks are made at once, at most.
        results: bytes for each query that are set apart for what becomes of its ranking.

    Raises:
        InputError: the tables hold what they must not. LimitExceeded: the memory allowed is not enough.
    """
    from cuihop.rankings.binary_codes import NearestCodes, packed_codes
    from cuihop.rankings.embeddings import Embeddings
    from cuihop.rankings.nearest_vectors import NearestVectors

    (name, table), (other_name, other) = asked, held
    memory.take("rankings", results * len(queries))
    own = own_rows(queries, corpus)
    by_name = np.empty(len(corpus), dtype=np.int32)
    by_name[sorted(range(len(corpus)), key=corpus.__getitem__)] = np.arange(len(corpus), dtype=np.int32)
    wanted = len(corpus) if depth is None else min(depth, len(corpus))
    count = checked_threads(threads)
    tables = list({id(vectors): vectors for vectors in (table, other)}.values())
    nearest: NearestRows
    if similarity == "hamming":
        memory.take("codes", sum(vectors.size for vectors in tables))  # at most: of bits that are packed already
        codes = packed_codes(table, name)
        others = codes if other is table else packed_codes(other, other_name)
        nearest = NearestCodes(codes, others, own, by_name, wanted, count, memory)
    else:
        for called, vectors in ((name, table), (other_name, other)):
            if vectors.dtype.kind != "f":
                raise InputError(
                    "not embeddings", file=called, found=f"dtype {vectors.dtype}", expected="floating point",
                    advice="Binary codes are ordered by --similarity hamming.",
                )  # fmt: skip
        memory.take("lengths of embeddings", sum(16 * len(vectors) for vectors in tables))
        ours = Embeddings(table, name)
        theirs = ours if other is table else Embeddings(other, other_name)
        nearest = NearestVectors(ours, theirs, own, by_name, wanted, similarity, count, memory)

    def content() -> Mapping[str, Any]:
        digest = content_of_rows(table)
        return {
            "content of vectors": digest,
            "content of vectors of the corpus": digest if other is table else content_of_rows(other),
            "similarity": similarity,
            "k": depth,
        }

    lengths = np.minimum(wanted, len(corpus) - (own >= 0)).astype(np.int64)
    return RankingInBlocks(
        tuple(queries), tuple(corpus), nearest, lengths, f"{similarity} of {name}", content, memory, results,
        _form(table, similarity) + (f"; corpus {other_name}: {_form(other, similarity)}" if other is not table else ""),
    )  # fmt: skip


def _form(table: Rows, similarity: Similarity) -> str:
    """Summary of parsed vectors, in one line."""
    what = "codes" if similarity == "hamming" else "embeddings"
    return f"{what}, {len(table):,} rows of {table.shape[1]:,} {'columns' if what == 'codes' else 'numbers'}"
