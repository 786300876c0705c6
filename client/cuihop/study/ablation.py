"""Ablation of λ and n: P@30 of rankings by nn-IoU on the queries where IoU and nn-IoU disagree (the paper's Fig. 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cuihop.collection.labels import Labels
from cuihop.errors import InputError
from cuihop.evaluation.label_grades import LabelGrades
from cuihop.evaluation.means import mean_of
from cuihop.rankings.ranking import QueryImage
from cuihop.relevance.relevance_blocks import RelevanceWork
from cuihop.resources.arrays import Bool, Float64, Int32, Int64
from cuihop.resources.block_work import BlockStore
from cuihop.resources.checkpoint import open_checkpoint
from cuihop.resources.resources import Resources
from cuihop.study.checkpoint import StudyCheckpoint
from cuihop.study.inputs import DEPTH, LongRow, ProgressOf, StudyInputs

LAMBDAS = tuple(tenths / 10 for tenths in range(11))
HOPS = (0, 1, 2)

SUBSETS = {
    "other images": f"queries for which the {DEPTH} first images by IoU and by nn-IoU are not the same images, "
    "in whatever order",
    "other precision": f"queries for which P@{DEPTH} by this label is not the same",
}
"""Two readings of “where IoU and nn-IoU exhibit inconsistent performance”."""


def subset_name(subset: str) -> str:
    """The name of the table and the figure of a subset."""
    return f"ablation_{subset.replace(' ', '_')}"


def ablation(inputs: StudyInputs, progress_of: ProgressOf, checkpoint: StudyCheckpoint) -> Iterator[LongRow]:
    """P@30 by each label, for each n and λ, on the queries where IoU and nn-IoU (n, λ of the study) disagree.

    The queries are the same for all n and λ: the lines of one label can be compared. A query without a relevant image
    counts 0, or is left out, and one without the label is left out, as in the tables. Inputs need labels.

    All λ of one n take one pass: |A ∩ B|, |rel| and |A ∪ B| do not depend on λ. n = 0 takes none: it is λ = 0.
    """
    judges = _judges(inputs)
    passes = ablation_passes(inputs, progress_of, checkpoint)
    by_iou = passes[HOPS[1]]
    nothing = 0.0 if inputs.empty_ideal == "zero" else np.nan
    subsets = [
        _subsets(index, by_iou, passes.get(inputs.nearness.n), inputs.nearness.lam) for index in range(len(judges))
    ]
    for n in HOPS:
        for lam in LAMBDAS:
            for index, (labels, judge) in enumerate(judges.items()):
                values = judge.precision((passes[n].hits[lam] if n else by_iou.hits[0.0])[index], nothing)
                for subset, rows in subsets[index].items():
                    name, scores = f"P@{DEPTH}({', '.join(labels)})", values[rows]
                    queries = int((~np.isnan(scores)).sum())
                    behind = int(judge.nothing_relevant[rows].sum()), int(judge.unjudged[rows].sum())
                    yield LongRow("ablation", "nn-IoU", name, n, lam, subset, mean_of(scores), queries, *behind)


def ablation_passes(
    inputs: StudyInputs, progress_of: ProgressOf, checkpoint: StudyCheckpoint
) -> dict[int, AblationPass]:
    """The results of each n, in blocks of queries; of a shard for its queries."""
    judges = list(_judges(inputs).values())
    return {
        n: _pass(n, judges, inputs, checkpoint.resources(f"ablation {n}", progress_of(f"ablation, n = {n}")))
        for n in sorted({*HOPS, inputs.nearness.n} - {0})
    }


def _judges(inputs: StudyInputs) -> dict[tuple[str, ...], _LabelAgreement]:
    if inputs.labels is None:
        raise InputError("the ablation needs labels", column="labels", found="none", expected="a label of every image")
    names = inputs.collection.query_names
    return {labels: _LabelAgreement(inputs.labels, labels, names, inputs.query_image) for labels in inputs.label_sets}


class _LabelAgreement:
    """Images that agree with a query in a set of labels.

    ``unjudged`` and ``nothing_relevant`` are bool, shape (queries,): queries without one of the labels; the others that
    no other image agrees with.
    """

    def __init__(self, table: Labels, names: tuple[str, ...], images: tuple[str, ...], query_image: QueryImage) -> None:
        self._grades = LabelGrades.of(table, names, images, images, query_image)
        self.unjudged = self._grades.unjudged
        self.nothing_relevant = ~self.unjudged & (self._grades.pools.relevant(self._grades.pool) == 0)

    def hits(self, rows: Int32, queries: Int64) -> Int64:
        """Number of relevant images of each of these queries."""
        grades = self._grades.of_pairs(np.repeat(queries, rows.shape[1]), rows.ravel()).reshape(rows.shape)
        return np.asarray(np.where(rows >= 0, grades, 0).sum(axis=1, dtype=np.int64))

    def precision(self, hits: Int64, nothing: float) -> Float64:
        """P@K of each query; ``nothing`` for a query without a relevant image, NaN for one that is not judged."""
        return np.where(self.unjudged, np.nan, np.where(self.nothing_relevant, nothing, hits / DEPTH))


@dataclass(frozen=True)
class AblationPass:
    """Results of all rankings of one n.

    Attributes:
        hits: λ → int64, shape (label sets, queries): relevant images among the first 30.
        others: bool, shape (queries,): true if the λ of the study retrieves other images than λ = 0.
    """

    hits: Mapping[float, Int64]
    others: Bool


def _subsets(index: int, by_iou: AblationPass, by_nn_iou: AblationPass | None, lam: float) -> Mapping[str, Bool]:
    """Subset → bool, shape (queries,), for one set of labels. Without a pass, nn-IoU is IoU: n = 0."""
    iou = by_iou.hits[0.0][index]
    if by_nn_iou is None:
        return dict.fromkeys(SUBSETS, np.zeros(len(iou), dtype=np.bool_))
    return dict(zip(SUBSETS, (by_nn_iou.others, iou != by_nn_iou.hits[lam][index]), strict=True))


def _pass(n: int, judges: Sequence[_LabelAgreement], inputs: StudyInputs, resources: Resources) -> AblationPass:
    """All λ of one n, that of the study among them."""
    images = inputs.collection
    lams = [*LAMBDAS, *({inputs.nearness.lam} - {*LAMBDAS})]
    depth = min(DEPTH, len(images.corpus))
    counts = np.zeros((len(images.queries), 1 + len(lams) * len(judges)), dtype=np.int64)
    memory = resources.budget()
    memory.take("values of the queries", counts.nbytes)
    job = {
        "work": "ablation", **images.depends(inputs.graph), "n": n, "λ": lams, "direction": inputs.nearness.direction,
        "content of labels": None if inputs.labels is None else inputs.labels.digest, "labels": list(inputs.label_sets),
        "agreement of labels": None if inputs.labels is None else inputs.labels.agreement,
        "λ of the study": inputs.nearness.lam, "unknown": inputs.nearness.unknown,
        "weight": inputs.nearness.weight, "ic": inputs.nearness.ic,
    }  # fmt: skip
    with open_checkpoint(resources.checkpoint, job, keep=True) as saved:
        blocks = BlockStore(counts.__setitem__, len(counts), positions=resources.places, saved=saved)
        if not blocks.complete:
            index = images.index(inputs.graph, replace(inputs.nearness, n=n), memory, blocks.left)
            scored = index.blocks(lams, depth + 1, threads=resources.block_threads)
            compared = lams.index(0.0), lams.index(inputs.nearness.lam)
            job_blocks = _AblationBlocks(scored, images.own_rows, judges, compared)
            blocks.fill(job_blocks, progress=resources.progress, cluster=resources.cluster)
    hits = counts[:, 1:].T.reshape(len(lams), len(judges), -1)
    return AblationPass(dict(zip(lams, hits, strict=True)), counts[:, 0] > 0)


@dataclass(frozen=True, eq=False)
class _AblationBlocks(RelevanceWork):
    """Rankings by nn-IoU judged by labels, in blocks of queries; it compares the levels of λ = 0 and the study's λ."""

    judges: Sequence[_LabelAgreement]
    compared: tuple[int, int]

    def values(self, number: int) -> Float64:
        """Results of each query: whether two λ retrieve other images, and relevant images by λ and set of labels."""
        here = self.places(number)
        tops = [rows for _, rows in self.best(number)]
        first, second = (np.sort(tops[level], axis=1) for level in self.compared)
        others = (first != second).any(axis=1)
        hits = [judge.hits(rows, here) for rows in tops for judge in self.judges]
        return np.stack([others, *hits], axis=1).astype(np.float64)
