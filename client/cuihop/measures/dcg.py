"""DCG with real-valued gains (Järvelin and Kekäläinen 2002; log2 discount), NDCG, CUI@K and nn-CUI@K."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.measures.family import Family
from cuihop.measures.nn_iou import HOPS, IC, LAMBDA, WEIGHT
from cuihop.resources.arrays import Float64


def cumulated_gains(gains: Float64) -> Float64:
    """DCG@1, DCG@2, … along the last axis: DCG@K = Σ_{j=1..K} gain_j / log2(j + 1).

    Summed from the first rank on, so that equal gains give equal sums to the last bit.
    """
    ranks = np.arange(1, gains.shape[-1] + 1)
    cumulated: Float64 = np.cumsum(gains / np.log2(ranks + 1), axis=-1)
    return cumulated


def dcg(gains: Sequence[float] | npt.NDArray[Any], k: int | None = None) -> float:
    """DCG@K of one query.

    Args:
        gains: of the retrieved images in ranking order; finite, 0 or more.
        k: the cut-off; by default the whole list. Ranks beyond the list gain 0.

    Raises:
        InputError: a gain is negative or not finite, or k is not a whole number of at least 1.

    >>> round(dcg([1.0, 0.5, 0.25]), 6)
    1.440465
    """
    array = checked_gains(gains)
    if k is not None:
        array = array[: checked_k(k)]
    return float(cumulated_gains(array)[-1]) if len(array) else 0.0


def checked_gains(gains: Sequence[float] | npt.NDArray[Any]) -> Float64:
    """The gains as float64, or an `InputError` that names the first faulty one."""
    array = np.asarray(gains, dtype=np.float64)
    if array.ndim != 1:
        raise InputError("not a list of gains", found=f"{array.ndim} dimensions", expected="one")
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(wrong):
        raise InputError(
            "not a gain", column=f"rank {int(wrong[0]) + 1}", found=repr(float(array[wrong[0]])),
            expected="a finite number, 0 or more",
        )  # fmt: skip
    return array


def checked_k(k: int) -> int:
    """The cut-off K, or an `InputError` where it is not a whole number of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError("not a cut-off", column="k", found=repr(k), expected="a whole number, 1 or more")
    return int(k)


def normalised(gained: Float64, ideal: Float64, *, empty: float = 0.0) -> Float64:
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


CUI_FAMILIES = (
    Family("nn-CUI", "mean NDCG@K with the gain nn-IoU", "concepts", "needed", (HOPS, LAMBDA, WEIGHT, IC),
           spellings=("nnCUI",)),
    Family("CUI", "mean NDCG@K with the gain IoU", "concepts", "needed"),
)  # fmt: skip
