"""Precision, recall and F1 from counts, with a weight for near items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]


class MatchCounts(NamedTuple):
    """Counts of true and predicted items, and their precision, recall and F1.

    Sums of counts are counts: those of all texts give the micro averages.

    Attributes:
        true, predicted: items of each side.
        found: true items that were predicted. right: predicted items that are true. The two differ only where a true
            item has alternatives.
        near_true, near_predicted: other items of each side that are near to an item of the other.
    """

    true: int
    predicted: int
    found: int
    right: int
    near_true: int = 0
    near_predicted: int = 0

    def precision(self, lam: float = 0.0) -> float:
        """(right + λ · near_predicted) / predicted."""
        return self._shares(lam)[0]

    def recall(self, lam: float = 0.0) -> float:
        """(found + λ · near_true) / true."""
        return self._shares(lam)[1]

    def f1(self, lam: float = 0.0) -> float:
        """The harmonic mean of precision and recall; 0 where both are 0."""
        return self._shares(lam)[2]

    def _shares(self, lam: float) -> tuple[float, float, float]:
        precision, recall, f1 = precision_recall_f1(np.array([self]), lam)[0].tolist()
        return precision, recall, f1


def precision_recall_f1(counts: npt.NDArray[np.int64] | Float64, lam: float = 0.0) -> Float64:
    """Precision, recall and F1 of many counts at once, shape (rows, 3).

    All three are 1 where nothing is true and nothing predicted, and 0 where only one side is empty.

    Args:
        counts: the fields of `MatchCounts`, shape (rows, 6). lam: λ, the weight of a near item.

    >>> precision_recall_f1(np.array([[1, 2, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0]]), 0.5).tolist()
    [[0.75, 1.0, 0.8571428571428571], [1.0, 1.0, 1.0]]
    """
    true, predicted, found, right, near_true, near_predicted = np.asarray(counts, dtype=np.float64).T
    empty = np.where(true == predicted, 1.0, 0.0)
    precision = _quotients(right + lam * near_predicted, predicted, empty)
    recall = _quotients(found + lam * near_true, true, empty)
    f1 = _quotients(2 * precision * recall, precision + recall, np.zeros_like(empty))
    return np.stack([precision, recall, f1], axis=1)


def _quotients(parts: Float64, wholes: Float64, without: Float64) -> Float64:
    """The quotients; the values of ``without`` where a divisor is 0."""
    return np.divide(parts, wholes, out=without.copy(), where=wholes != 0)
