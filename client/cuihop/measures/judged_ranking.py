"""One query's judged ranking, the input of every measure of judged relevance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.measures.judged_rankings import JudgedRankings, Pools

__all__ = ["JudgedRanking"]

Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRanking:
    """Grades of the retrieved documents, and of all judged documents.

    A grade of at least the threshold (1 by default) is relevant; one of 0 or more below it is judged not
    relevant; a negative one counts as not judged, as in trec_eval.

    Attributes:
        grades: float64, in ranking order; NaN for a document without a judgement.
        pool_grades: float64, the distinct grades of all judged documents, descending.
        pool_counts: int64, same shape: number of documents with each grade.
    """

    grades: Float64
    pool_grades: Float64
    pool_counts: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls, grades: Sequence[float | None] | npt.NDArray[Any], pool: Sequence[float] | npt.NDArray[Any]
    ) -> JudgedRanking:
        """The ranking of a list of grades.

        Args:
            grades: of the retrieved documents in ranking order; ``None`` or NaN for one without a judgement.
            pool: of every judged document, retrieved or not, in any order.

        Raises:
            InputError: a grade of the pool is not finite.
        """
        retrieved = np.array([np.nan if grade is None else grade for grade in grades], dtype=np.float64)
        judged = np.asarray(pool, dtype=np.float64)
        if not np.isfinite(judged).all() or np.isinf(retrieved).any():
            raise InputError("not a grade", found="NaN or infinity", expected="finite numbers")
        distinct, counts = np.unique(judged, return_counts=True)
        return cls(retrieved, distinct[::-1], counts[::-1].astype(np.int64))

    def alone(self) -> JudgedRankings:
        """`JudgedRankings` with this ranking alone."""
        pools = Pools(self.pool_grades, self.pool_counts[np.newaxis])
        return JudgedRankings.of(self.grades, np.array([len(self.grades)]), pools, np.zeros(1, dtype=np.int64))
