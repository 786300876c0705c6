"""Rankings in NumPy files: row numbers of the images in ranking order, or embeddings; and arrays given by mistake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_rows import own_rows
from cuihop.errors import InputError
from cuihop.files.arrays import Rows, array_in, content_of_rows
from cuihop.files.input_file import InputFile
from cuihop.rankings.blocks import NearestRows, RankingInBlocks
from cuihop.rankings.ranking import Ranking, RankingOptions, Similarity
from cuihop.resources.arrays import Bool, Int32
from cuihop.resources.resources import Resources

_ROWS_A_BLOCK = 256
_FEWEST_COLUMNS = 3  # two numbers ascend or descend in every row
_NEARLY_ALL = 0.9
_ONE_BY_ONE = "Row numbers count from 0, as those of FAISS and NumPy: subtract 1."
_CODES = "Binary codes, and other vectors of whole numbers, need --similarity."


def ranking_of_array(
    file: InputFile,
    queries: Sequence[str],
    corpus: Sequence[str] | None,
    corpus_embeddings: InputFile | None,
    options: RankingOptions,
    resources: Resources,
) -> Ranking | RankingInBlocks:
    """The ranking in the array, or ordered by its vectors: see `cuihop.rankings.reading.read_ranking`."""
    name, similarity = file.name, options.similarity
    table = _table(file, similarity)
    images = queries if corpus is None else corpus
    if len(table) != len(queries):
        raise InputError(
            "wrong number of rows", file=name, found=f"{len(table):,}",
            expected=f"{len(queries):,}, one for each query",
            advice="Is it of another collection or split, or of images in another order?",
        )  # fmt: skip
    if similarity is not None or table.dtype.kind == "f":
        if similarity is None:
            check_embeddings(name, table, len(images))
        other = _vectors_of_corpus((name, table), images, corpus is not None, corpus_embeddings, similarity)
        return vectors_in_blocks((name, table), other, queries, images, options, resources)
    if corpus_embeddings is not None:
        raise InputError(
            "embeddings of the corpus go with embeddings of the queries", file=name, found=f"dtype {table.dtype}"
        )
    return ranking_of_row_numbers(name, table, queries, images, options)


def _table(file: InputFile, similarity: Similarity | None) -> Rows:
    table = array_in(file)
    if len(table.shape) != 2 or table.dtype.kind not in ("biuf" if similarity == "hamming" else "iuf"):
        raise InputError(
            "not a table of numbers", file=file.name, found=f"shape {table.shape}, dtype {table.dtype}",
            expected="two dimensions: whole numbers (row numbers) or floating point (embeddings)",
        )  # fmt: skip
    return table


def ranking_of_row_numbers(
    name: str, table: Rows, queries: Sequence[str], corpus: Sequence[str], options: RankingOptions
) -> Ranking:
    """The ranking whose row numbers stand in the table; ``name`` is for messages."""
    depth = options.depth
    width = table.shape[1] if depth is None else min(table.shape[1], depth + 1)  # one more: the query may be in it
    rows = np.empty((len(queries), width), dtype=np.int32)
    for first in range(0, len(queries), _ROWS_A_BLOCK):
        block = table[first : first + _ROWS_A_BLOCK][:, :width]
        outside = (block < -1) | (block >= len(corpus)) if table.dtype.kind == "i" else block >= len(corpus)
        if outside.any():
            last = np.asarray(table[len(table) - 1 : len(table)])  # of codes, some number is far beyond the corpus
            cause = counted_from_one(table, len(corpus)) or (_CODES if last.max() > len(corpus) else None)
            expected = f"0 to {len(corpus) - 1:,}, or -1 at the end"
            _refuse(name, first, block, outside, "not a row of the corpus", expected, cause)
        numbers = block.astype(np.int32)
        reopened = (numbers[:, 1:] >= 0) & (numbers[:, :-1] < 0)
        late = np.pad(reopened, ((0, 0), (1, 0)))
        _refuse(name, first, block, late, "a row number after the end of the list", "-1 only at the end")
        order = np.argsort(numbers, axis=1, kind="stable")
        ascending = np.take_along_axis(numbers, order, axis=1)
        same = (ascending[:, 1:] == ascending[:, :-1]) & (ascending[:, 1:] >= 0)
        again = np.zeros(numbers.shape, dtype=np.bool_)
        np.put_along_axis(again, order[:, 1:], same, axis=1)
        _refuse(name, first, block, again, "a row number stands twice for a query", "each once", _CODES)
        rows[first : first + len(numbers)] = numbers
    check_from_zero(name, table, rows, own_rows(queries, corpus), len(corpus))
    shorter = int((rows[:, -1] < 0).sum()) if width else 0
    form = f"{len(table):,} rows of {table.shape[1]:,} row numbers" + (
        f", {shorter:,} of them filled up by -1" if shorter else ""
    )
    return Ranking.from_table(
        rows, queries, corpus, depth=depth, source=name, form=form, query_image=options.query_image
    )


def _refuse(
    name: str, first: int, block: npt.NDArray[Any], wrong: Bool, problem: str, expected: str,
    hint: str | None = None,
) -> None:  # fmt: skip
    """An error about the first entry that is wrong, if one is. Rows and columns count from 0, as NumPy does."""
    if not wrong.any():
        return
    row, column = np.argwhere(wrong)[0].tolist()
    raise InputError(
        problem, file=name, column=f"{column}, row {first + row:,} (both from 0)", found=str(block[row, column]),
        expected=expected, advice=hint,
    )  # fmt: skip


def _vectors_of_corpus(
    own: tuple[str, Rows],
    images: Sequence[str],
    separate: bool,
    corpus_embeddings: InputFile | None,
    similarity: Similarity | None,
) -> tuple[str, Rows]:
    """The vectors of the corpus with their name for messages, by default ``own``, those of the queries."""
    name, table = own
    if separate and corpus_embeddings is None:
        raise InputError(
            "the corpus has no embeddings", file=name, found="embeddings of the queries alone",
            expected="a second array for the corpus", advice="Give it with --corpus-embeddings.",
        )  # fmt: skip
    if corpus_embeddings is None:
        return own
    other = _table(corpus_embeddings, similarity)
    check_of_corpus(other, table, len(images), file=corpus_embeddings.name)
    return corpus_embeddings.name, other


def check_of_corpus(other: Rows, table: Rows, images: int, **source: Any) -> None:
    """Refuse vectors of the corpus of another shape or kind than those of the queries; ``source`` is for the error."""
    if (other.dtype.kind == "f") != (table.dtype.kind == "f") or other.shape != (images, table.shape[1]):
        raise InputError(
            "not the embeddings of the corpus", found=f"shape {other.shape}, dtype {other.dtype}",
            expected=f"shape ({images}, {table.shape[1]}), a dtype such as {table.dtype}", **source,
        )  # fmt: skip


def vectors_in_blocks(
    own: tuple[str, Rows],
    others: tuple[str, Rows],
    queries: Sequence[str],
    corpus: Sequence[str],
    options: RankingOptions,
    resources: Resources,
) -> RankingInBlocks:
    """The ranking by similarity of two tables, one row for each image, both with their names for messages.

    The ranking keeps the budget of the memory.

    Raises:
        InputError: the tables hold what they must not. LimitExceeded: the memory allowed is not enough.
    """
    from cuihop.rankings.nearest_vectors import Embeddings, NearestCodes, NearestVectors, packed_codes

    (name, table), (other_name, other) = own, others
    depth, similarity, results = options.depth, options.similarity or "cosine", options.results
    memory = resources.budget()
    memory.take("rankings", results * len(queries))
    own_indices = own_rows(queries, corpus)
    if options.query_image == "include":
        own_indices[:] = -1
    by_name = np.empty(len(corpus), dtype=np.int32)
    by_name[sorted(range(len(corpus)), key=corpus.__getitem__)] = np.arange(len(corpus), dtype=np.int32)
    images = len(corpus) if depth is None else min(depth, len(corpus))
    count = resources.block_threads
    tables = list({id(vectors): vectors for vectors in (table, other)}.values())
    nearest: NearestRows
    if similarity == "hamming":
        memory.take("codes", sum(vectors.size for vectors in tables))  # at most: of bits that are packed already
        codes = packed_codes(table, name)
        other_codes = codes if other is table else packed_codes(other, other_name)
        nearest = NearestCodes(codes, other_codes, own_indices, by_name, images, count, memory)
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
        nearest = NearestVectors(ours, theirs, own_indices, by_name, images, similarity, count, memory)

    def content() -> Mapping[str, Any]:
        digest = content_of_rows(table)
        return {
            "content of vectors": digest,
            "content of vectors of the corpus": digest if other is table else content_of_rows(other),
            "similarity": similarity,
            "k": depth,
            "query image": options.query_image,
        }

    lengths = np.minimum(images, len(corpus) - (own_indices >= 0)).astype(np.int64)
    return RankingInBlocks(
        tuple(queries), tuple(corpus), nearest, lengths, f"{similarity} of {name}", content, memory, results,
        _form(table, similarity) + (f"; corpus {other_name}: {_form(other, similarity)}" if other is not table else ""),
        options.query_image,
    )  # fmt: skip


def _form(table: Rows, similarity: Similarity) -> str:
    """Summary of parsed vectors, in one line."""
    what = "codes" if similarity == "hamming" else "embeddings"
    return f"{what}, {len(table):,} rows of {table.shape[1]:,} {'columns' if what == 'codes' else 'numbers'}"


def check_embeddings(path: Path | str, table: Rows, images: int) -> None:
    """Refuse the results of a search as embeddings: all rows ascend, or descend, or hold different row numbers.

    For arrays that the caller did not declare as embeddings: floating point, shape (images, dimensions). Reads no
    farther than the first rows of true embeddings.
    """
    if len(table.shape) != 2 or table.shape[1] < _FEWEST_COLUMNS or not len(table):
        return
    up = down = numbers = True
    for first in range(0, len(table), _ROWS_A_BLOCK):
        block: npt.NDArray[Any] = np.asarray(table[first : first + _ROWS_A_BLOCK])
        up = up and bool((block[:, 1:] >= block[:, :-1]).all())
        down = down and bool((block[:, 1:] <= block[:, :-1]).all())
        numbers = numbers and _are_row_numbers(block, images)
        if not (up or down or numbers):
            return
    if up and down:
        return  # every number of a row is the same
    if numbers:
        raise InputError(
            "row numbers as floating point", file=path, found=f"whole numbers below {images:,}, dtype {table.dtype}",
            expected="row numbers as whole numbers, or embeddings",
            advice="array.astype(numpy.int64) makes row numbers of them; a similarity (--similarity cosine) takes them "
            "for embeddings.",
        )  # fmt: skip
    raise InputError(
        "the distances of a search in place of its row numbers", file=path,
        found=f"numbers that {'ascend' if up else 'descend'} in every row",
        expected="row numbers, or embeddings",
        advice="Of D, I = index.search(…), give I; a similarity (--similarity cosine) takes them for embeddings.",
    )  # fmt: skip


def _are_row_numbers(block: npt.NDArray[Any], images: int) -> bool:
    if not (np.isfinite(block).all() and (block == np.floor(block)).all() and block.max() < images >= block.shape[1]):
        return False
    ascending = np.sort(block, axis=1)
    again = (ascending[:, 1:] == ascending[:, :-1]) & (ascending[:, 1:] >= 0)
    return bool((block >= -1).all() and not again.any())


def check_from_zero(path: Path | str, table: Rows, rows: Int32, own: Int32, images: int) -> None:
    """Refuse row numbers that count from 1, of which none that counts is beyond the corpus.

    They hold no 0, and either the number of images stands in a column that does not count, or the first hit of nearly
    every query is the row behind its own.

    Args:
        table: the row numbers. rows: the columns that count, shape (queries, columns).
        own: of each query, its row in the corpus; -1 for one that is not in it. images: number in the corpus.
    """
    if not rows.size or (rows == 0).any():
        return
    if rows.shape[1] < table.shape[1] and (cause := counted_from_one(table, images)) is not None:
        raise InputError(
            "row numbers that count from 1", file=path, found=f"{images:,}, and no 0", expected=f"0 to {images - 1:,}",
            advice=cause,
        )  # fmt: skip
    inside = own >= 0
    if inside.sum() < _FEWEST_COLUMNS:
        return
    behind = int((rows[inside, 0] == own[inside] + 1).sum())
    if behind >= _NEARLY_ALL * int(inside.sum()):
        raise InputError(
            "row numbers that count from 1", file=path,
            found=f"the row behind its own as the first hit of {behind:,} of {int(inside.sum()):,} queries, and no 0",
            expected="row numbers from 0", advice=_ONE_BY_ONE,
        )  # fmt: skip


def counted_from_one(table: Rows, images: int) -> str | None:
    """Hint for row numbers of which the largest is the number of images, and none is 0."""
    least, most = images, 0
    for first in range(0, len(table), _ROWS_A_BLOCK):
        block = np.asarray(table[first : first + _ROWS_A_BLOCK])
        filled = block[block != -1] if table.dtype.kind == "i" else block
        if filled.size:
            least, most = min(least, int(filled.min())), max(most, int(filled.max()))
    return f"They look counted from 1. {_ONE_BY_ONE}" if least >= 1 and most == images else None
