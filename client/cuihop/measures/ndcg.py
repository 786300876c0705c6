"""DCG divided by the best that the corpus allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.measures.dcg import checked_gains, checked_k, dcg


def normalised(
    gained: npt.NDArray[np.float64], ideal: npt.NDArray[np.float64], *, empty: float = 0.0
) -> npt.NDArray[np.float64]:
    """NDCG = DCG / IDCG, element by element; ``empty`` where IDCG is 0."""
    return np.divide(gained, ideal, out=np.full_like(gained, empty), where=ideal > 0)


def ndcg_at_k(
    gains: Sequence[float] | npt.NDArray[Any], corpus_gains: Sequence[float] | npt.NDArray[Any], k: int
) -> float:
    """NDCG@K of one query: DCG@K over IDCG@K; 0 where IDCG is 0.

    Args:
        gains: of the retrieved images in ranking order.
        corpus_gains: of every image of the corpus in any order, the query itself left out; IDCG takes the K best.
        k: the cut-off.

    Raises:
        InputError: a gain is negative or not finite, or k is not a whole number of at least 1.

    >>> ndcg_at_k([0.5, 1.0], [0.0, 0.5, 1.0], k=1)
    0.5
    """
    k = checked_k(k)
    best = np.sort(checked_gains(corpus_gains))[::-1]
    return float(normalised(np.array(dcg(gains, k)), np.array(dcg(best, k))))
