"""What λ and n change: P@30 of rankings by nn-IoU on the queries where IoU and nn-IoU disagree (the paper's Fig. 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.baselines import rows_by_nn_iou
from cuihop.evaluation.image_collection import ImageCollection
from cuihop.evaluation.image_labels import UNLABELLED, ImageLabels
from cuihop.study.numbers import Number, mean_of
from cuihop.study.setup import DEPTH, Setup, Telling

__all__ = ["HOPS", "LAMBDAS", "SUBSETS", "ablation"]

LAMBDAS = tuple(tenths / 10 for tenths in range(11))
HOPS = (0, 1, 2)

SUBSETS = {
    "other images": f"queries for which the {DEPTH} first images by IoU and by nn-IoU are not the same images, "
    "in whatever order",
    "other precision": f"queries for which P@{DEPTH} by this label is not the same",
}
"""Two readings of “where IoU and nn-IoU exhibit inconsistent performance”."""

Rows = npt.NDArray[np.int32]
Values = npt.NDArray[np.float64]


def ablation(setup: Setup, telling: Telling) -> Iterator[Number]:
    """P@30 by each label, for each n and λ, on the queries where IoU and nn-IoU (n, λ of the study) disagree.

    The queries are the same for all n and λ, so that the lines of one label can be compared. A query for which
    nothing is relevant is left out, or counts 0, as in the tables.

    Raises:
        InputError: there are no labels.
    """
    if setup.labels is None:
        raise InputError("the ablation needs labels", column="labels", found="none", expected="a label of every image")
    images = ImageCollection.of(setup.images, None, setup.graph, setup.unknown)
    depth = min(DEPTH, len(images.corpus))

    def top(n: int, lams: Sequence[float]) -> Rows:
        progress = telling(f"ablation, n = {n}")
        return rows_by_nn_iou(
            images, setup.graph, depth, n, lams, setup.direction, threads=setup.threads, progress=progress
        )

    (by_iou,), (by_nn_iou,) = top(0, [0.0]), top(setup.n, [setup.lam])
    others = (np.sort(by_iou, axis=1) != np.sort(by_nn_iou, axis=1)).any(axis=1)
    judges = {labels: _Judge(setup.labels, labels, images.query_names) for labels in setup.label_sets}
    subsets = {
        labels: dict(zip(SUBSETS, (others, judge.hits(by_iou) != judge.hits(by_nn_iou)), strict=True))
        for labels, judge in judges.items()
    }
    nothing = 0.0 if setup.empty_ideal == "zero" else np.nan
    for n in HOPS:
        for lam, rows in zip(LAMBDAS, top(n, LAMBDAS), strict=True):
            for labels, judge in judges.items():
                values = judge.precision(rows, nothing)
                for subset, where in subsets[labels].items():
                    value, queries = mean_of(values[where].tolist())
                    name = f"P@{DEPTH}({', '.join(labels)})"
                    yield Number("ablation", "nn-IoU", name, n, lam, subset, value, queries)


class _Judge:
    """Which images agree with a query in some labels."""

    def __init__(self, labels: ImageLabels, names: tuple[str, ...], images: tuple[str, ...]) -> None:
        self._codes = labels.codes(names)[labels.rows(images)]
        known = self._codes[self._codes != UNLABELLED]
        alike = np.bincount(known, minlength=int(self._codes.max(initial=0)) + 1)
        self._relevant = (self._codes != UNLABELLED) & (alike[self._codes] > 1)  # another one beside the query

    def hits(self, rows: Rows) -> npt.NDArray[np.int64]:
        """How many of the images of each query are relevant."""
        agree = (self._codes[rows] == self._codes[:, np.newaxis]) & (rows >= 0)
        found: npt.NDArray[np.int64] = np.where(self._relevant, agree.sum(axis=1), 0)
        return found

    def precision(self, rows: Rows, nothing: float) -> Values:
        """P@K of each query; ``nothing`` where nothing is relevant."""
        return np.where(self._relevant, self.hits(rows) / DEPTH, nothing)
