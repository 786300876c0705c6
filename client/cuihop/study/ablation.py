"""What λ and n change: P@30 of rankings by nn-IoU on the queries where IoU and nn-IoU disagree (the paper's Fig. 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.collection.labels import UNLABELLED, Labels
from cuihop.errors import InputError
from cuihop.evaluation.means import mean_of
from cuihop.relevance.image_collection import ImageCollection
from cuihop.relevance.relevance_index import Scores
from cuihop.resources.checkpoint import FinishedBlock, open_checkpoint
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.progress import Progress
from cuihop.study.checkpoint import Unfinished
from cuihop.study.inputs import DEPTH, Setup, Telling
from cuihop.study.long_table import Number

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
Hits = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


def ablation(setup: Setup, telling: Telling, unfinished: Unfinished) -> Iterator[Number]:
    """P@30 by each label, for each n and λ, on the queries where IoU and nn-IoU (n, λ of the study) disagree.

    The queries are the same for all n and λ, so that the lines of one label can be compared. A query for which
    nothing is relevant counts 0, or is left out, and one without the label is left out, as in the tables.

    All λ of one n take one pass: |A ∩ B|, |rel| and |A ∪ B| do not depend on λ. n = 0 takes none: it is λ = 0.

    Raises:
        InputError: there are no labels.
    """
    if setup.labels is None:
        raise InputError("the ablation needs labels", column="labels", found="none", expected="a label of every image")
    images = ImageCollection.of(setup.images, None, setup.graph, setup.unknown)
    judges = {labels: _Judge(setup.labels, labels, images.query_names) for labels in setup.label_sets}
    passes = {
        n: _pass(n, images, list(judges.values()), setup, telling(f"ablation, n = {n}"), unfinished)
        for n in sorted({*HOPS, setup.n} - {0})
    }
    by_iou = passes[HOPS[1]]
    nothing = 0.0 if setup.empty_ideal == "zero" else np.nan
    subsets = [_subsets(place, by_iou, passes.get(setup.n), setup.lam) for place in range(len(judges))]
    for n in HOPS:
        for lam in LAMBDAS:
            for place, (labels, judge) in enumerate(judges.items()):
                values = judge.precision((passes[n].hits[lam] if n else by_iou.hits[0.0])[place], nothing)
                for subset, where in subsets[place].items():
                    name, some = f"P@{DEPTH}({', '.join(labels)})", values[where]
                    queries = int((~np.isnan(some)).sum())
                    behind = int(judge.nothing_relevant[where].sum()), int(judge.unjudged[where].sum())
                    yield Number("ablation", "nn-IoU", name, n, lam, subset, mean_of(some), queries, *behind)


class _Judge:
    """Which images agree with a query in some labels.

    Attributes:
        unjudged, nothing_relevant: bool, shape (queries,): queries without one of the labels; the others that no other
            image agrees with.
    """

    def __init__(self, labels: Labels, names: tuple[str, ...], images: tuple[str, ...]) -> None:
        self._codes = labels.codes(names)[labels.rows(images)]
        known = self._codes[self._codes != UNLABELLED]
        alike = np.bincount(known, minlength=int(self._codes.max(initial=0)) + 1)
        self.unjudged = self._codes == UNLABELLED
        self.nothing_relevant = ~self.unjudged & (alike[self._codes] == 1)  # the query itself

    def hits(self, rows: Rows, queries: npt.NDArray[np.int64]) -> Hits:
        """How many of the images of some queries are relevant."""
        agree = (self._codes[rows] == self._codes[queries, np.newaxis]) & (rows >= 0)
        found: Hits = np.where(self.unjudged[queries], 0, agree.sum(axis=1))
        return found

    def precision(self, hits: Hits, nothing: float) -> Values:
        """P@K of each query; ``nothing`` where nothing is relevant, NaN where a query is not judged."""
        return np.where(self.unjudged, np.nan, np.where(self.nothing_relevant, nothing, hits / DEPTH))


@dataclass(frozen=True)
class _Pass:
    """What all rankings of one n give.

    Attributes:
        hits: λ → int64, shape (label sets, queries): relevant images among the first 30.
        others: bool, shape (queries,): whether the λ of the study retrieves other images than λ = 0.
    """

    hits: Mapping[float, Hits]
    others: npt.NDArray[np.bool_]


def _subsets(place: int, by_iou: _Pass, by_nn_iou: _Pass | None, lam: float) -> Mapping[str, npt.NDArray[np.bool_]]:
    """Subset → bool, shape (queries,), for one set of labels. Without a pass, nn-IoU is IoU: n = 0."""
    iou = by_iou.hits[0.0][place]
    if by_nn_iou is None:
        return dict.fromkeys(SUBSETS, np.zeros(len(iou), dtype=np.bool_))
    return dict(zip(SUBSETS, (by_nn_iou.others, iou != by_nn_iou.hits[lam][place]), strict=True))


def _pass(
    n: int, images: ImageCollection, judges: Sequence[_Judge], setup: Setup, progress: Progress, unfinished: Unfinished
) -> _Pass:
    """All λ of one n, that of the study among them."""
    lams = [*LAMBDAS, *({setup.lam} - {*LAMBDAS})]
    depth = min(DEPTH, len(images.corpus))
    own = images.own_rows
    found = np.empty((len(images.queries), 1 + len(lams) * len(judges)), dtype=np.int64)
    memory = MemoryBudget.of(setup.memory)
    memory.take("values of the queries", found.nbytes)
    index = images.index(setup.graph, hops=n, direction=setup.direction, memory=memory)
    job = {
        "work": "ablation", **images.depends(setup.graph), "n": n, "λ": lams, "direction": setup.direction,
        "content of labels": None if setup.labels is None else setup.labels.digest, "labels": list(setup.label_sets),
        "λ of the study": setup.lam, "unknown": setup.unknown,
    }  # fmt: skip
    options = unfinished.options(f"ablation {n}")
    with open_checkpoint(options["checkpoint"], job, keep=True) as saved:
        done = [] if saved is None else saved.finished
        for block in done:
            found[block.queries] = block.values

        def receive(scores: Scores) -> None:
            here = scores.queries
            tops = [scores.best_others(level, own[here])[1] for level in range(len(lams))]
            first, second = (np.sort(tops[lams.index(lam)], axis=1) for lam in (0.0, setup.lam))
            others = (first != second).any(axis=1)
            hits = [judge.hits(rows, here) for rows in tops for judge in judges]
            found[here] = np.stack([others.astype(np.int64), *hits], axis=1)
            if saved is not None:
                saved.add(FinishedBlock(0, scores.block, here, found[here].astype(np.float64)))

        index.score(
            lams, depth + 1, lambda places: np.empty((len(places), 0), dtype=np.int32), receive,
            threads=setup.threads, progress=progress, done={block.number for block in done},
        )  # fmt: skip
    hits = found[:, 1:].T.reshape(len(lams), len(judges), -1)
    return _Pass(dict(zip(lams, hits, strict=True)), found[:, 0] > 0)
