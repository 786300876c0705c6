"""Rankings of vectors and codes in memory, and collections of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.rankings.arrays import vectors_in_blocks
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import RankingOptions, Similarity
from cuihop.resources.resources import Resources


def ranked_blocks(
    table: npt.NDArray[Any],
    names: Sequence[str],
    k: int | None,
    similarity: Similarity = "cosine",
    *,
    corpus: tuple[npt.NDArray[Any], Sequence[str]] | None = None,
    memory: int | str = "2GB",
    threads: int | None = None,
) -> RankingInBlocks:
    """The ranking of images by their vectors."""
    other, held = (table, names) if corpus is None else corpus
    return vectors_in_blocks(
        ("queries", table),
        ("corpus", other),
        names,
        held,
        RankingOptions(k, similarity=similarity),
        Resources(threads, memory),
    )


def ranked_rows(*given: Any, **options: Any) -> list[list[int]]:
    """The places in the corpus that are retrieved for each query: see `ranked_blocks`."""
    ranking = ranked_blocks(*given, **options).whole()
    return [part.tolist() for part in np.split(ranking.rows, ranking.indptr[1:-1])]
