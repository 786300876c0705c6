"""nn-IoU as whole grades, for tools without real-valued ones. An approximation, with its error."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cuihop.collection.dataset import DataLike
from cuihop.collection.judgements import LARGEST_GRADE, Judgements
from cuihop.errors import InputError
from cuihop.graph import ConceptGraph
from cuihop.measures.nearness import Nearness
from cuihop.relevance.image_collection import ImageCollection

__all__ = ["IntegerGains", "to_integer_gains"]


@dataclass(frozen=True, eq=False, slots=True)
class IntegerGains:
    """Judgements made from nn-IoU, with the error of rounding.

    Attributes:
        qrels: grade = nn-IoU · scale, rounded to the nearest whole number, halves to the even one. Grades of 0 are left
            out. Of use for nDCG with linear gain alone: for measures of relevance such as AP every grade of 1 or more
            is relevant.
        scale: the grade of two equal sets.
        pairs: number of pairs of images with an nn-IoU above 0.
        rounded: number of pairs whose grade is not exactly nn-IoU · scale; 0 means that nDCG@K, where
            the tool defines it equally, is nn-CUI@K up to the rounding of sums.
        lost: number of pairs with the grade 0.
        largest_error: the largest |grade / scale − nn-IoU|; at most 1 / (2 · scale).
    """

    qrels: Judgements
    scale: int
    pairs: int
    rounded: int
    lost: int
    largest_error: float


def to_integer_gains(
    images: DataLike, graph: ConceptGraph | None, scale: int, nearness: Nearness = Nearness()
) -> IntegerGains:
    """Judgements of every pair of images: their nn-IoU times ``scale``, as whole numbers. IoU with n = 0.

    They take memory for every pair with an overlap, so they suit small collections.

    Args:
        images: a `Dataset`, or image → its concepts, where the queries are the corpus.
        graph: the source of distances; ``None`` will do for n = 0.
        nearness: as in `cuihop.evaluate`.
        scale: the grade of two equal sets, 1 to 1,000.

    Raises:
        InputError, ConceptError: as `cuihop.evaluate`, or the scale is out of its range.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")])
    >>> images = {"vein": "C0042449", "vessel": "C0005847", "both": "C0042449;C0005847"}
    >>> gains = to_integer_gains(images, graph, 100)
    >>> gains.qrels["vein"], gains.rounded
    ({'both': 75, 'vessel': 50}, 0)
    """
    if isinstance(scale, bool) or not isinstance(scale, int) or not 1 <= scale <= LARGEST_GRADE:
        raise InputError(
            "not a scale", column="scale", found=repr(scale), expected=f"a whole number from 1 to {LARGEST_GRADE:,}"
        )
    if nearness.n > 0 and graph is None:
        raise InputError("nn-IoU needs a graph", column="graph", found="None", expected="a ConceptGraph, or n=0")
    collection = ImageCollection.of(images, graph, nearness.unknown)
    names = collection.corpus_names
    grades: dict[str, dict[str, int]] = {query: {} for query in collection.query_names}
    rounding = _Rounding()
    nothing = np.empty((len(collection.queries), 0), dtype=np.int32)
    for scores in collection.index(graph, nearness).scores([nearness.lam], len(names) + 1, nothing):
        gains, rows = scores.best_others(0, collection.own_rows[scores.queries])
        for query, of_query, of_images in zip(scores.queries.tolist(), gains.tolist(), rows.tolist(), strict=True):
            grades[collection.query_names[query]] = {
                names[row]: grade
                for row, gain in zip(of_images, of_query, strict=True)
                if gain > 0.0 and (grade := rounding.grade(gain, scale))
            }
    return IntegerGains(
        Judgements.of(grades), scale, rounding.pairs, rounding.rounded, rounding.lost, rounding.largest_error
    )


class _Rounding:
    """Grades of gains, with an account of their rounding."""

    def __init__(self) -> None:
        self.pairs = self.rounded = self.lost = 0
        self.largest_error = 0.0

    def grade(self, gain: float, scale: int) -> int:
        """The gain times the scale, to the nearest whole number."""
        exact = Fraction(gain) * scale
        grade = round(exact)
        self.pairs += 1
        self.lost += grade == 0
        # 1/3 · 3 is 1, though no double is 1/3: a gain that rounds to grade / scale counts as exact.
        if float(Fraction(grade, scale)) != gain:
            self.rounded += 1
            self.largest_error = max(self.largest_error, float(abs(exact - grade) / scale))
        return grade
