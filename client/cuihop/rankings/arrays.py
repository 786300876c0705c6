"""Rankings in NumPy files: row numbers of the images in ranking order, or embeddings of the images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.collection.image_names import own_rows
from cuihop.errors import InputError, checked_choice
from cuihop.files.array_file import Rows, array_in, content_of_rows
from cuihop.files.input_file import InputFile
from cuihop.rankings.blocks import RESULTS_OF_BLOCKS, NearestRows, RankingInBlocks
from cuihop.rankings.mistaken_arrays import check_embeddings, check_from_zero, counted_from_one
from cuihop.rankings.ranking import QueryImage, Ranking, Similarity
from cuihop.resources.resources import Resources

_ROWS_A_BLOCK = 256
_CODES = "Binary codes, and other vectors of whole numbers, need --similarity."

Int32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class VectorOptions:
    """The way to order images by vectors.

    Attributes:
        depth: number of images for each query; all without it.
        similarity: ``None`` is cosine of embeddings, while whole numbers are row numbers.
        results: bytes for each query that are set apart for the values computed from its ranking.
        query_image: treatment of a query that the corpus holds.
    """

    depth: int | None = None
    similarity: Similarity | None = None
    results: int = RESULTS_OF_BLOCKS
    query_image: QueryImage = "exclude"


def ranking_of_array(
    file: InputFile,
    queries: Sequence[str],
    corpus: Sequence[str] | None,
    corpus_embeddings: InputFile | None,
    options: VectorOptions,
    resources: Resources,
) -> Ranking | RankingInBlocks:
    """The ranking in the array, or ordered by its vectors: see `cuihop.rankings.reading.read_ranking`."""
    name, similarity = file.name, options.similarity
    check_similarity(similarity)
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


def check_similarity(similarity: str | None) -> None:
    """Refuse a similarity that there is not.

    Raises:
        InputError: it is none of those known.
    """
    if similarity is not None:
        checked_choice("similarity", similarity, Similarity, "no such similarity")


def _table(file: InputFile, similarity: Similarity | None) -> Rows:
    table = array_in(file)
    if len(table.shape) != 2 or table.dtype.kind not in ("biuf" if similarity == "hamming" else "iuf"):
        raise InputError(
            "not a table of numbers", file=file.name, found=f"shape {table.shape}, dtype {table.dtype}",
            expected="two dimensions: whole numbers (row numbers) or floating point (embeddings)",
        )  # fmt: skip
    return table


def ranking_of_row_numbers(
    name: str, table: Rows, queries: Sequence[str], corpus: Sequence[str], options: VectorOptions
) -> Ranking:
    """The ranking whose row numbers stand in the table; ``name`` is for messages."""
    depth = options.depth
    width = table.shape[1] if depth is None else min(table.shape[1], depth + 1)  # one more: the query may be in it
    rows = np.empty((len(queries), width), dtype=np.int32)
    for first in range(0, len(queries), _ROWS_A_BLOCK):
        block = table[first : first + _ROWS_A_BLOCK][:, :width]
        outside = (block < -1) | (block >= len(corpus)) if table.dtype.kind == "i" else block >= len(corpus)
        if outside.any():
            cause = counted_from_one(table, len(corpus)) or _cause_of_large(table, len(corpus))
            expected = f"0 to {len(corpus) - 1:,}, or -1 at the end"
            _refuse(name, first, block, outside, "not a row of the corpus", expected, cause)
        part = block.astype(np.int32)
        reopened = (part[:, 1:] >= 0) & (part[:, :-1] < 0)
        late = np.pad(reopened, ((0, 0), (1, 0)))
        _refuse(name, first, block, late, "a row number after the end of the list", "-1 only at the end")
        order = np.argsort(part, axis=1, kind="stable")
        ascending = np.take_along_axis(part, order, axis=1)
        same = (ascending[:, 1:] == ascending[:, :-1]) & (ascending[:, 1:] >= 0)
        again = np.zeros(part.shape, dtype=np.bool_)
        np.put_along_axis(again, order[:, 1:], same, axis=1)
        _refuse(name, first, block, again, "a row number stands twice for a query", "each once", _CODES)
        rows[first : first + len(part)] = part
    check_from_zero(name, table, rows, own_rows(queries, corpus), len(corpus))
    shorter = int((rows[:, -1] < 0).sum()) if width else 0
    form = f"{len(table):,} rows of {table.shape[1]:,} row numbers" + (
        f", {shorter:,} of them filled up by -1" if shorter else ""
    )
    return Ranking.from_table(
        rows, queries, corpus, depth=depth, source=name, form=form, query_image=options.query_image
    )


def _cause_of_large(table: Rows, images: int) -> str | None:
    """Advice for numbers far beyond the corpus."""
    last = np.asarray(table[len(table) - 1 : len(table)])
    return _CODES if last.size and int(last.max()) > images else None


def _refuse(
    name: str, first: int, block: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], problem: str, expected: str,
    advice: str | None = None,
) -> None:  # fmt: skip
    """An error about the first entry that is wrong, if one is. Rows and columns count from 0, as NumPy does."""
    if not wrong.any():
        return
    row, column = (int(place) for place in np.argwhere(wrong)[0])
    raise InputError(
        problem, file=name, column=f"{column}, row {first + row:,} (both from 0)", found=str(block[row, column]),
        expected=expected, advice=advice,
    )  # fmt: skip


def _vectors_of_corpus(
    own: tuple[str, Rows],
    images: Sequence[str],
    separate: bool,
    corpus_embeddings: InputFile | None,
    similarity: Similarity | None,
) -> tuple[str, Rows]:
    """The vectors of the corpus, with their name for messages.

    Args:
        own: name and vectors of the queries. images: of the corpus. separate: they are other images than the queries.
    """
    name, table = own
    if separate and corpus_embeddings is None:
        raise InputError(
            "the corpus has no embeddings", file=name, found="embeddings of the queries alone",
            expected="a second array for the corpus", advice="Give it with --corpus-embeddings.",
        )  # fmt: skip
    if corpus_embeddings is None:
        return own
    other = _table(corpus_embeddings, similarity)
    if (other.dtype.kind == "f") != (table.dtype.kind == "f") or other.shape != (len(images), table.shape[1]):
        raise InputError(
            "not the embeddings of the corpus", file=corpus_embeddings.name,
            found=f"shape {other.shape}, dtype {other.dtype}",
            expected=f"shape ({len(images)}, {table.shape[1]}), a dtype such as {table.dtype}",
        )  # fmt: skip
    return corpus_embeddings.name, other


def vectors_in_blocks(
    own: tuple[str, Rows],
    others: tuple[str, Rows],
    queries: Sequence[str],
    corpus: Sequence[str],
    options: VectorOptions,
    resources: Resources,
) -> RankingInBlocks:
    """The ranking by similarity of two tables, one row for each image.

    Args:
        own: name for messages and vectors of the queries. others: those of the corpus.
        queries, corpus: the images.
        resources: threads and memory; the ranking keeps the account of the memory.

    Raises:
        InputError: the tables hold what they must not. LimitExceeded: the memory allowed is not enough.
    """
    from cuihop.rankings.binary_codes import NearestCodes, packed_codes
    from cuihop.rankings.embeddings import Embeddings
    from cuihop.rankings.nearest_vectors import NearestVectors

    (name, table), (other_name, other) = own, others
    depth, similarity, results = options.depth, options.similarity or "cosine", options.results
    memory = resources.budget()
    memory.take("rankings", results * len(queries))
    own_places = own_rows(queries, corpus)
    if options.query_image == "include":
        own_places[:] = -1
    by_name = np.empty(len(corpus), dtype=np.int32)
    by_name[sorted(range(len(corpus)), key=corpus.__getitem__)] = np.arange(len(corpus), dtype=np.int32)
    wanted = len(corpus) if depth is None else min(depth, len(corpus))
    count = resources.block_threads
    tables = list({id(vectors): vectors for vectors in (table, other)}.values())
    nearest: NearestRows
    if similarity == "hamming":
        memory.take("codes", sum(vectors.size for vectors in tables))  # at most: of bits that are packed already
        codes = packed_codes(table, name)
        other_codes = codes if other is table else packed_codes(other, other_name)
        nearest = NearestCodes(codes, other_codes, own_places, by_name, wanted, count, memory)
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
        nearest = NearestVectors(ours, theirs, own_places, by_name, wanted, similarity, count, memory)

    def content() -> Mapping[str, Any]:
        digest = content_of_rows(table)
        return {
            "content of vectors": digest,
            "content of vectors of the corpus": digest if other is table else content_of_rows(other),
            "similarity": similarity,
            "k": depth,
            "query image": options.query_image,
        }

    lengths = np.minimum(wanted, len(corpus) - (own_places >= 0)).astype(np.int64)
    return RankingInBlocks(
        tuple(queries), tuple(corpus), nearest, lengths, f"{similarity} of {name}", content, memory, results,
        _form(table, similarity) + (f"; corpus {other_name}: {_form(other, similarity)}" if other is not table else ""),
        options.query_image,
    )  # fmt: skip


def _form(table: Rows, similarity: Similarity) -> str:
    """Summary of parsed vectors, in one line."""
    what = "codes" if similarity == "hamming" else "embeddings"
    return f"{what}, {len(table):,} rows of {table.shape[1]:,} {'columns' if what == 'codes' else 'numbers'}"
