"""Judge rankings by labels and relevance judgements, at once or a block of queries at a time.

Grades are counted in parts that fit a cache. A ranking that is made in blocks is never held as a whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.errors import InputError
from cuihop.evaluation.label_grades import LabelGrades
from cuihop.evaluation.means import relevance_name, relevant_from
from cuihop.evaluation.result import EmptyIdeal, Missing, missing_rankings
from cuihop.measures.judged_rankings import GainPools, JudgedRankings, Pools, blocks
from cuihop.measures.measure import FAMILIES, Measure
from cuihop.rankings.blocks import RankingInBlocks, VectorBlocks, bytes_of_rank
from cuihop.rankings.ranking import Ranking, first_of_each
from cuihop.resources.arrays import Bool, Float64, Int64
from cuihop.resources.block_work import BlockStore
from cuihop.resources.checkpoint import Checkpoint, open_checkpoint
from cuihop.resources.resources import Resources

Documents = npt.NDArray[np.int32 | np.int64]

_ABOVE_0 = float(np.nextafter(0.0, 1.0))  # a gain that counts as relevant
_DOCUMENTS_OF_A_PART = 1 << 19  # its arrays stay in the cache, and many parts feed all threads


@dataclass(frozen=True)
class Truth:
    """The measures of labels and judgements, the relevance behind them, and the treatment of none at all."""

    measures: Sequence[Measure]
    qrels: Judgements | None
    labels: Labels | None
    empty_ideal: EmptyIdeal

    def depends(self) -> dict[str, Any]:
        """Everything that judged values depend on, the ranking apart, for a checkpoint."""
        return {
            "empty_ideal": self.empty_ideal,
            "judged measures": [str(measure) for measure in self.measures],
            "content of qrels": None if self.qrels is None else self.qrels.digest,
            "content of labels": None if self.labels is None else self.labels.digest,
            "agreement of labels": None if self.labels is None else self.labels.agreement,
        }


@dataclass(frozen=True, eq=False)
class JudgedValues:
    """Values of a ranking under the measures of labels and judgements, and the counts behind them.

    Attributes:
        values: float64, shape (queries, measures); NaN where a query was skipped or is not judged.
        nothing_relevant, unjudged, unlabelled: as in `EvaluationCounts`.
        relevance: name of a relevance → int64, shape (queries, 3): number of each query's documents that were looked
            at, that are relevant, and that are both; 0 for a query that is not judged.
    """

    values: Float64
    nothing_relevant: Mapping[str, tuple[str, ...]]
    unjudged: Mapping[str, tuple[str, ...]]
    unlabelled: Mapping[str, int]
    relevance: Mapping[str, Int64] = field(default_factory=dict)


def judge(ranking: Ranking, truth: Truth, of_images: Ranking | None = None) -> JudgedValues:
    """The value of every measure for every query of the ranking; a query without a list is scored as an empty one.

    ``of_images`` is the ranking of images, for measures with labels, where the other is one of documents. A measure
    without the labels or judgements that it needs is an `InputError`.
    """
    values = np.empty((len(ranking.queries), len(truth.measures)), dtype=np.float64)
    nothing: dict[str, tuple[str, ...]] = {}
    unjudged: dict[str, tuple[str, ...]] = {}
    unlabelled: dict[str, int] = {}
    relevance: dict[str, Int64] = {}
    for source in dict.fromkeys(measure.labels for measure in truth.measures):
        columns = [column for column, measure in enumerate(truth.measures) if measure.labels == source]
        measures = [truth.measures[column] for column in columns]
        judged = of_images if source and of_images is not None else ranking
        grader = _grader(judged, source, truth)
        if source:
            unlabelled[", ".join(source)] = grader.unlabelled
        absent = np.flatnonzero(grader.unjudged)
        for threshold, counts in _measured(judged, measures, grader, values, columns).items():
            name = next(relevance_name(measure) for measure in measures if relevant_from(measure) == threshold)
            counts[absent] = 0
            empty = np.flatnonzero((counts[:, 1] == 0) & ~grader.unjudged)
            nothing[name], unjudged[name] = (
                tuple(map(ranking.queries.__getitem__, indices.tolist())) for indices in (empty, absent)
            )
            relevance[name] = counts
            for column, measure in zip(columns, measures, strict=True):
                if relevant_from(measure) == threshold:
                    values[empty, column] = 0.0 if truth.empty_ideal == "zero" else np.nan
                    values[absent, column] = np.nan
    return JudgedValues(values, nothing, unjudged, unlabelled, relevance)


@dataclass(frozen=True, eq=False)
class JudgedSystem:
    """A ranking after it was judged: everything that the other steps of an evaluation need of it.

    Attributes:
        ranking: its first images, as many as gain; all of them where nothing gains.
        lengths: int64, shape (queries,): number of images of the whole ranking.
        digest: of the whole ranking, or its recipe; ``None`` without a checkpoint, or where nothing gains.
    """

    ranking: Ranking
    lengths: Int64
    judged: JudgedValues
    digest: str | None
    account: str


def judged_system(
    ranking: Ranking | RankingInBlocks,
    truth: Truth,
    missing: Missing,
    *,
    head: int | None = None,
    file: Path | None = None,
    resources: Resources,
    of_images: Ranking | None = None,
) -> JudgedSystem:
    """Judge a ranking of either kind; of the queries of a shard, one in memory is not: that is soon done for all.

    Args:
        head: number of images of each query that gain; ``None`` where nothing gains.
        file: checkpoint of a ranking in blocks. It stays when the ranking is judged.
        of_images: as in `judge`.

    Raises:
        InputError: as `judge`; queries have no ranking, and ``missing`` is ``error``.
        LimitExceeded, OutputError: as `cuihop.evaluate`, of a ranking in blocks.
    """
    if isinstance(ranking, RankingInBlocks):
        job: dict[str, Any] = {"work": "judged evaluation", **truth.depends()}
        job |= {} if head is None else {"head": head}
        job |= {} if file is None else ranking.depends
        with open_checkpoint(file, job, keep=True) as saved:
            judged, first = _judged_in_blocks(ranking, truth, head=head or 0, resources=resources, saved=saved)
    else:
        unsharded = resources.places is None
        if missing == "error" and ranking.missing and (unsharded or not ranking.recipe):
            raise missing_rankings(ranking.missing, ranking.source)
        if unsharded:
            judged = judge(ranking, truth, of_images)
        else:
            judged = JudgedValues(np.full((len(ranking.queries), len(truth.measures)), np.nan), {}, {}, {})
        first = ranking
        if head is not None and ranking.lengths.max(initial=0) > head:
            rows, indptr = first_of_each(ranking.rows, ranking.lengths, head)
            first = dataclasses.replace(ranking, rows=rows, indptr=indptr)
    digest = None
    if head is not None and resources.checkpoint is not None:
        digest = (ranking.recipe if isinstance(ranking, Ranking) else "") or ranking.digest
    return JudgedSystem(first, ranking.lengths, judged, digest, ranking.account)


def _judged_in_blocks(
    ranking: RankingInBlocks, truth: Truth, *, head: int = 0, resources: Resources, saved: Checkpoint | None = None
) -> tuple[JudgedValues, Ranking]:
    """The values that `judge` gives of the whole ranking, which is never held as one, and each query's first images."""
    queries = len(ranking.queries)
    head = min(head, len(ranking.corpus))
    each = head * bytes_of_rank(in_checkpoint=saved is not None) + 40 * len(truth.measures)
    ranking.take_results(ranking.memory.copy(), queries * each)
    # Counts of queries and images do not depend on the retrieved images: an empty ranking has the same.
    no_images = np.zeros(queries, dtype=np.int64)
    empty = Ranking.from_lists(
        np.empty(0, dtype=np.int32), no_images, ranking.queries, ranking.corpus, ranking.source,
        query_image=ranking.query_image,
    )  # fmt: skip
    counted = judge(empty, truth)
    values = np.full((queries, len(truth.measures)), np.nan)
    first = np.full((queries, head), -1, dtype=np.int32)
    relevance = {name: np.zeros((queries, 3), dtype=np.int64) for name in counted.relevance}

    widths = np.cumsum([len(truth.measures), head, *(3 for _ in relevance)])

    def store(rows: Int64, columns: Float64) -> None:
        groups = np.split(columns, widths[:-1], axis=1)
        values[rows], first[rows] = groups[0], groups[1]
        for counts, columns_of in zip(relevance.values(), groups[2:], strict=True):
            counts[rows] = columns_of

    blocks = BlockStore(store, queries, positions=resources.places, saved=saved)
    if not blocks.complete:
        ranking.fill(blocks, _JudgedBlocks.of(ranking, resources, truth, head), resources)
    lengths = (first >= 0).sum(axis=1)
    heads = Ranking.from_lists(
        first[first >= 0], lengths, ranking.queries, ranking.corpus, ranking.source, ranking.form, ranking.query_image
    )
    return dataclasses.replace(counted, values=values, relevance=relevance), heads


@dataclass(frozen=True, eq=False)
class _JudgedBlocks(VectorBlocks):
    """Rankings that are judged block by block. ``head``: number of images of each query that gain."""

    truth: Truth
    head: int

    def values(self, number: int) -> Float64:
        """Results of each query: the values of the measures, its first images, and the counts of relevant ones."""
        ranking = self.ranking.ranking_of(self.slices[number])
        judged = judge(ranking, self.truth)
        first = ranking.top(self.head, np.arange(len(ranking.queries)))
        return np.concatenate([judged.values, first, *judged.relevance.values()], axis=1, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Grader:
    """Grades of the retrieved documents, by labels or by judgements.

    Attributes:
        pools, pool: of the queries; see `JudgedRankings`. documents: the retrieved ones, as `grades` numbers them.
        grades: from the first and last of some queries, their ``documents``, one ranking after the other, and the
            lengths of the rankings, to the grade of each.
        unjudged: bool, shape (queries,). threads: number that saves time; ``None`` for all.
    """

    pools: Pools
    pool: Int64
    documents: Documents
    grades: Callable[[int, int, Documents, Int64], npt.NDArray[Any]]
    unjudged: Bool
    threads: int | None = None
    unlabelled: int = 0


def _grader(ranking: Ranking, source: tuple[str, ...], truth: Truth) -> _Grader:
    if source:
        if truth.labels is None:
            raise InputError(
                "no labels", column="labels", found="none", expected=f"the labels {', '.join(source)} of every image"
            )
        by_labels = LabelGrades.of(truth.labels, source, ranking.queries, ranking.corpus, ranking.query_image)
        return _Grader(
            by_labels.pools, by_labels.pool, ranking.rows, by_labels.grades, by_labels.unjudged,
            unlabelled=by_labels.unlabelled,
        )  # fmt: skip
    if truth.qrels is None:
        raise InputError(
            "nothing says which documents are relevant",
            column="measures",
            found="a measure without labels",
            expected="relevance judgements (qrels), or labels in the name of the measure, such as P@5(modality)",
        )
    qrels, (all_names, retrieved) = truth.qrels, ranking.retrieved
    same = qrels.of_same(ranking.queries, all_names)

    def grades(first: int, last: int, documents: Documents, lengths: Int64) -> npt.NDArray[Any]:
        if same is not None:
            begin, end = (np.repeat(bounds, lengths) for bounds in (same[0][first:last], same[0][first + 1 : last + 1]))
            if np.all((begin <= documents) & (documents < end)):  # each was judged for its own query
                return same[1][documents]
        names = map(all_names.__getitem__, documents.tolist())
        lists = (islice(names, length) for length in lengths.tolist())
        return qrels.found(ranking.queries[first:last], lists)

    unjudged = np.fromiter((query not in qrels for query in ranking.queries), np.bool_, len(ranking.queries))
    return _Grader(*qrels.pools(ranking.queries), retrieved, grades, unjudged, threads=1)  # Python's dictionaries


def _measured(
    ranking: Ranking, measures: Sequence[Measure], grader: _Grader, values: Float64, columns: Sequence[int]
) -> dict[int, Int64]:
    """Fill in the columns of measures that share a grader; return `JudgedValues.relevance` for each threshold."""
    computed, gains = [], isinstance(grader.pools, GainPools)
    for column, measure in zip(columns, measures, strict=True):
        if gains and measure.family != "nDCG":
            raise InputError(
                "gains are not relevant or not relevant", column="measures", found=str(measure), expected="nDCG, nDCG@K"
            )
        if (values_of := FAMILIES[measure.family].values) is None:
            raise InputError("not a measure of a ranking", column="measures", found=str(measure))
        computed.append((column, values_of, measure))
    depth = depth_of(measures)
    lengths = ranking.lengths if depth is None else np.minimum(ranking.lengths, depth)
    least = {each: _ABOVE_0 if gains else each for each in sorted({relevant_from(measure) for measure in measures})}
    counted = {
        threshold: np.stack([lengths, grader.pools.relevant(grader.pool, grade), np.zeros_like(lengths)], axis=1)
        for threshold, grade in least.items()
    }
    chunks = list(blocks(lengths, _DOCUMENTS_OF_A_PART))

    def fill(number: int) -> None:
        first, last = chunks[number]
        of_part = lengths[first:last]
        grades = grader.grades(
            first, last, _first_documents(ranking.indptr, grader.documents, first, last, of_part), of_part
        )
        judged = JudgedRankings.of(grades, of_part, grader.pools, grader.pool[first:last])
        for column, values_of, measure in computed:
            values[first:last, column] = values_of(judged, measure.k, measure.values)
        for threshold, counts in counted.items():
            counts[first:last, 2] = judged.count(judged.found(least[threshold]).owners)

    if len(chunks) == 1:
        fill(0)
    else:  # a small evaluation does not wait for the import
        from cuihop.resources.cores import in_threads

        in_threads(fill, range(len(chunks)), grader.threads)
    return counted


def _first_documents(indptr: Int64, documents: Documents, first: int, last: int, lengths: Int64) -> Documents:
    """The first documents of queries ``first`` up to ``last``, as many as the lengths, one ranking after the other."""
    starts, ends = indptr[first:last], indptr[first + 1 : last + 1]
    if np.array_equal(ends - starts, lengths):
        return documents[indptr[first] : indptr[last]]
    skipped = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    first_documents: Documents = documents[np.arange(len(skipped)) + skipped]
    return first_documents


def depth_of(measures: Iterable[Measure]) -> int | None:
    """Number of images of a ranking that the measures look at; ``None`` for all."""
    ks = [measure.k for measure in measures]
    return None if None in ks else max(filter(None, ks), default=0)
