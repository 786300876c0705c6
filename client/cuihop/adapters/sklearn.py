"""A scorer for scikit-learn: nn-CUI@K of an estimator's retrieval. scikit-learn itself is not needed."""
# ruff: noqa: N803 - X and y are scikit-learn's names

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, get_args

from cuihop.collection.dataset import Dataset
from cuihop.errors import InputError, checked_choice
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.result import EmptyIdeal, Evaluation
from cuihop.graph import ConceptGraph
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.nearness import Nearness
from cuihop.rankings.in_memory import embedding_ranking, neighbour_ranking
from cuihop.rankings.ranking import Similarity

__all__ = ["ConceptScorer", "Finding"]

Finding: TypeAlias = Literal["transform", "kneighbors"]
"""Retrieval by an estimator: by embeddings of the images, or by neighbours among the images it was fitted on."""


class ConceptScorer:
    """``scoring=`` of GridSearchCV, cross_val_score and the like: the mean of a measure, greater is better.

    Called with an estimator, X and y. ``y`` holds the concepts of each row of X, as ``"C1;C2"`` or as collections.

    ``by="transform"``: the rows of ``estimator.transform(X)`` are embeddings of images; each is a query to the others.
    ``by="kneighbors"``: each row is a query to the images that the estimator was fitted on. scikit-learn does not pass
    their concepts to a scorer, so they are given here as ``corpus``, in the order of the rows: for a fitted estimator,
    or a search with one split (``PredefinedSplit``).

    A scorer works in other processes (``n_jobs``) if its graph was opened from a file.

    Args:
        graph, nearness, empty_ideal: as in `cuihop.evaluate`.
        measure: one of ``nn-CUI@K`` and ``CUI@K``.
        by: retrieval by the estimator.
        similarity: similarity of embeddings.
        corpus: concepts of each row that the estimator was fitted on, for ``kneighbors``.

    Raises:
        InputError: another measure, or ``corpus`` and ``by`` do not match.
    """

    def __init__(
        self,
        graph: ConceptGraph | None,
        measure: str | Measure = "nn-CUI@10",
        *,
        by: Finding = "transform",
        similarity: Similarity = "cosine",
        corpus: Iterable[object] | None = None,
        nearness: Nearness = Nearness(),
        empty_ideal: EmptyIdeal = "zero",
    ) -> None:
        measures = measures_named(measure)
        if len(measures) > 1 or measures[0].kind != "concepts":
            raise InputError(
                "not one measure of a ranking by concepts", column="measure", found=", ".join(map(str, measures)),
                expected="nn-CUI@K or CUI@K, with one K",
            )  # fmt: skip
        if (checked_choice("by", by, Finding) == "kneighbors") != (corpus is not None):
            raise InputError(
                "the concepts of the images that are searched go with kneighbors", column="corpus",
                found=f"by={by!r} {'without' if corpus is None else 'with'} corpus",
                expected="corpus with by='kneighbors', and only then",
            )  # fmt: skip
        self._measure = measures[0]
        self._by = by
        self._similarity: Similarity = checked_choice("similarity", similarity, Similarity)
        self._corpus = None if corpus is None else _named("row", list(corpus))
        self._graph = graph
        self._options: dict[str, Any] = {"measures": self._measure, "nearness": nearness, "empty_ideal": empty_ideal}

    def __repr__(self) -> str:
        return f"ConceptScorer({self._measure}, by={self._by!r})"

    def __call__(self, estimator: Any, X: Any, y: Iterable[object]) -> float:
        """The mean over the rows of X; NaN where all are skipped."""
        return self.evaluation(estimator, X, y).mean(self._measure)

    def evaluation(self, estimator: Any, X: Any, y: Iterable[object]) -> Evaluation:
        """The evaluation behind the score: values of each row, counts.

        Raises:
            InputError, ConceptError: as `cuihop.evaluate`; or the estimator lacks the method of ``by``.
        """
        if not hasattr(estimator, self._by):
            raise InputError(
                f"the estimator has no {self._by}", column="estimator", found=type(estimator).__name__,
                expected=" or ".join(get_args(Finding)) + ", as in by= of the scorer",
            )  # fmt: skip
        k = self._measure.k or 1
        if self._corpus is None:
            images = _named("row", list(y))
            ranking = embedding_ranking(images, estimator.transform(X), k, similarity=self._similarity)
            return evaluate(images, ranking, self._graph, **self._options)
        images = _named("query", list(y))
        fitted = getattr(estimator, "n_samples_fit_", len(self._corpus))
        if fitted != len(self._corpus):
            raise InputError(
                "the estimator was fitted on other images", column="corpus", found=f"{fitted:,} rows",
                expected=f"the {len(self._corpus):,} whose concepts were given",
            )  # fmt: skip
        rows = estimator.kneighbors(X, n_neighbors=min(k, len(self._corpus)), return_distance=False)
        ranking = neighbour_ranking(images, rows, corpus=self._corpus)
        return evaluate(Dataset(images, self._corpus), ranking, self._graph, **self._options)


def _named(kind: str, concepts: Sequence[Any]) -> dict[str, Any]:
    """Names for images that have none, in the order of their rows."""
    width = len(str(len(concepts)))
    return {f"{kind} {row:0{width}}": of for row, of in enumerate(concepts)}
