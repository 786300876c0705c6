"""Rankings in NumPy files: row numbers of the images in ranking order, or embeddings of the images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.evaluation.rankings import Ranking, Similarity, own_rows
from cuihop.text_lines import check_not_a_pipe

__all__ = ["is_array", "ranking_of_array", "ranking_of_row_numbers", "ranking_of_vectors"]

_MAGIC = b"\x93NUMPY"
_ROWS_A_BLOCK = 256

Int32 = npt.NDArray[np.int32]


def is_array(path: Path) -> bool:
    """Whether the file begins as NumPy's arrays do.

    Raises:
        InputError: it cannot be read, or is named ``.npy`` and is none.
    """
    check_not_a_pipe(path)
    try:
        with path.open("rb") as file:
            found = file.read(len(_MAGIC))
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error
    if path.suffix == ".npy" and found != _MAGIC:
        raise InputError("not a NumPy array", file=path, found=repr(found), expected="a file written by numpy.save")
    return found == _MAGIC


def ranking_of_array(
    path: Path,
    queries: Sequence[str],
    corpus: Sequence[str] | None,
    depth: int | None,
    corpus_embeddings: Path | None,
    similarity: Similarity | None,
    memory: MemoryBudget,
) -> Ranking:
    """The ranking in the array: see `cuihop.evaluation.rankings.read_ranking`."""
    table = _table(path, similarity)
    if len(table) != len(queries):
        raise InputError(
            "wrong number of rows", file=path, found=f"{len(table):,}", expected=f"{len(queries):,}, one for each query"
        )
    if similarity not in (None, *get_args(Similarity)):
        raise InputError(
            "no such similarity",
            column="similarity",
            found=repr(similarity),
            expected=" or ".join(get_args(Similarity)),
        )
    if similarity is not None or table.dtype.kind == "f":
        return _of_vectors(path, table, queries, corpus, depth, corpus_embeddings, similarity or "cosine", memory)
    if corpus_embeddings is not None:
        raise InputError(
            "embeddings of the corpus go with embeddings of the queries", file=path, found=f"dtype {table.dtype}"
        )
    return ranking_of_row_numbers(path, table, queries, queries if corpus is None else corpus, depth)


def _table(path: Path, similarity: Similarity | None) -> npt.NDArray[Any]:
    try:
        table: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"not a whole NumPy array: {error}", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error
    if table.ndim != 2 or table.dtype.kind not in ("biuf" if similarity == "hamming" else "iuf"):
        raise InputError(
            "not a table of numbers",
            file=path,
            found=f"shape {table.shape}, dtype {table.dtype}",
            expected="two dimensions: whole numbers (row numbers) or floating point (embeddings)",
        )
    return table


def ranking_of_row_numbers(
    path: Path | str, table: npt.NDArray[Any], queries: Sequence[str], corpus: Sequence[str], depth: int | None
) -> Ranking:
    """The ranking whose row numbers stand in the table; ``path`` is what messages call it."""
    width = table.shape[1] if depth is None else min(table.shape[1], depth + 1)  # one more: the query may be in it
    rows = np.empty((len(queries), width), dtype=np.int32)
    for first in range(0, len(queries), _ROWS_A_BLOCK):
        block = table[first : first + _ROWS_A_BLOCK, :width]
        outside = (block < -1) | (block >= len(corpus)) if table.dtype.kind == "i" else block >= len(corpus)
        _refuse(path, first, block, outside, "not a row of the corpus", f"0 to {len(corpus) - 1:,}, or -1 at the end")
        part = block.astype(np.int32)
        reopened = (part[:, 1:] >= 0) & (part[:, :-1] < 0)
        late = np.pad(reopened, ((0, 0), (1, 0)))
        _refuse(path, first, block, late, "a row number after the end of the list", "-1 only at the end")
        order = np.argsort(part, axis=1, kind="stable")
        ascending = np.take_along_axis(part, order, axis=1)
        same = (ascending[:, 1:] == ascending[:, :-1]) & (ascending[:, 1:] >= 0)
        again = np.zeros(part.shape, dtype=np.bool_)
        np.put_along_axis(again, order[:, 1:], same, axis=1)
        _refuse(path, first, block, again, "a row number stands twice for a query", "each once")
        rows[first : first + len(part)] = part
    kept = rows >= 0
    owners = np.repeat(np.arange(len(queries)), kept.sum(axis=1))
    return Ranking.from_flat(owners, rows[kept], queries, corpus, depth=depth, source=str(path))


def _refuse(
    path: Path | str, first: int, block: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], problem: str, expected: str
) -> None:
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
    )


def _of_vectors(
    path: Path,
    table: npt.NDArray[Any],
    queries: Sequence[str],
    corpus: Sequence[str] | None,
    depth: int | None,
    corpus_embeddings: Path | None,
    similarity: Similarity,
    memory: MemoryBudget,
) -> Ranking:
    if depth is None:
        raise InputError(
            "embeddings and codes are ranked to a depth", file=path, column="depth", expected="a number of images"
        )
    if corpus is not None and corpus_embeddings is None:
        raise InputError(
            "the corpus has no embeddings",
            file=path,
            found="embeddings of the queries alone",
            expected="a second array for the corpus",
            advice="Give it with --corpus-embeddings.",
        )
    images = queries if corpus is None else corpus
    other = table
    if corpus_embeddings is not None:
        other = _table(corpus_embeddings, similarity)
        if (other.dtype.kind == "f") != (table.dtype.kind == "f") or other.shape != (len(images), table.shape[1]):
            raise InputError(
                "not the embeddings of the corpus",
                file=corpus_embeddings,
                found=f"shape {other.shape}, dtype {other.dtype}",
                expected=f"shape ({len(images)}, {table.shape[1]}), a dtype such as {table.dtype}",
            )
    return ranking_of_vectors(
        (str(path), table), (str(corpus_embeddings), other), queries, images, depth, similarity, memory
    )


def ranking_of_vectors(
    asked: tuple[str, npt.NDArray[Any]],
    held: tuple[str, npt.NDArray[Any]],
    queries: Sequence[str],
    corpus: Sequence[str],
    depth: int,
    similarity: Similarity,
    memory: MemoryBudget | None = None,
) -> Ranking:
    """The ranking by similarity of two tables, one row for each image, each with what messages call it.

    Raises:
        LimitExceeded: the memory allowed is not enough.
    """
    from cuihop.evaluation.binary_codes import nearest_codes, packed_codes
    from cuihop.evaluation.embeddings import Embeddings, nearest

    (name, table), (other_name, other) = asked, held
    memory = memory or MemoryBudget.of(DEFAULT_MEMORY)
    own = own_rows(queries, corpus)
    sizes = sum({id(vectors): vectors.size for vectors in (table, other)}.values())
    if similarity == "hamming":
        memory.take("codes", sizes)  # at most: of bits that are packed already
        codes = packed_codes(table, name)
        others = codes if other is table else packed_codes(other, other_name)
        rows, lengths = nearest_codes(codes, others, own, corpus, depth, memory)
    else:
        if table.dtype.kind != "f":
            raise InputError(
                "not embeddings", file=name, found=f"dtype {table.dtype}", expected="floating point",
                advice="Binary codes are ordered by --similarity hamming.",
            )  # fmt: skip
        memory.take("embeddings in single precision", 4 * sizes)
        vectors = Embeddings(table, name)
        others_vectors = vectors if other is table else Embeddings(other, other_name)
        rows, lengths = nearest(vectors, others_vectors, own, corpus, depth, similarity, memory)
    return Ranking.made(rows, lengths, queries, corpus, f"{similarity} of {name}")
