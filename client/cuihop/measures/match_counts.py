"""Precision, recall and F1 from counts, with a weight for near items."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MatchCounts"]


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
        return self._share(self.right + lam * self.near_predicted, self.predicted)

    def recall(self, lam: float = 0.0) -> float:
        """(found + λ · near_true) / true."""
        return self._share(self.found + lam * self.near_true, self.true)

    def f1(self, lam: float = 0.0) -> float:
        """The harmonic mean of precision and recall; 0 where both are 0."""
        precision, recall = self.precision(lam), self.recall(lam)
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    def _share(self, part: float, whole: int) -> float:
        """1 where nothing is true and nothing predicted, 0 where only one side is empty."""
        if whole:
            return part / whole
        return 1.0 if self.true == self.predicted else 0.0
