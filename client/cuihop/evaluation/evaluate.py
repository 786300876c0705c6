"""Evaluation of rankings over a whole collection, exactly: by concepts, by labels and by relevance judgements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, Unpack

import numpy as np

from cuihop.collection.dataset import DataLike, Dataset, ImagesLike
from cuihop.errors import InputError
from cuihop.evaluation.assemble import evaluation_of_queries, evaluations_of_images
from cuihop.evaluation.collect import (
    Criteria,
    RankingLike,
    ranking_of_images,
    ranking_of_labelled,
    ranking_of_queries,
)
from cuihop.evaluation.gain import Gains, gains_of
from cuihop.evaluation.judge import JudgedSystem, Truth, depth_of, judged_system
from cuihop.evaluation.result import EmptyIdeal, Evaluation, Missing
from cuihop.files.text_lines import quoted
from cuihop.graph import ConceptGraph
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.nearness import Nearness, NearnessValues
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import QueryImage
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.arrays import Float64
from cuihop.resources.checkpoint import open_checkpoint, remove_finished
from cuihop.resources.resources import Resources

__all__ = ["cui_at_k", "evaluate", "evaluate_each", "evaluate_shard", "nn_cui_at_k"]

NamedRankings: TypeAlias = Mapping[str, RankingLike] | Iterable[tuple[str, RankingLike]]
Measures: TypeAlias = str | Measure | Iterable[str | Measure]
_MEASURES = "nn-CUI@5,10,30"


def evaluate(
    data: DataLike,
    ranking: RankingLike,
    graph: ConceptGraph | Measures | None = None,
    *,
    measures: Measures = _MEASURES,
    nearness: Nearness = Nearness(),
    missing: Missing = "error",
    empty_ideal: EmptyIdeal = "zero",
    query_image: QueryImage = "exclude",
    resources: Resources = Resources(),
    **near: Unpack[NearnessValues],
) -> Evaluation:
    """Measure how well a ranking orders a corpus for each query: also ``evaluate(qrels, run, measures)``.

    By concepts: DCG@K of the ranking is divided by IDCG@K, the DCG of the K best images of the *whole* corpus; the
    query itself takes no part in either, unless it is included. The gain of an image is its nn-IoU (nn-CUI@K) or IoU
    (CUI@K) with the query.

    By labels and judgements: as trec_eval does. If the data hold no concepts, the queries are those of the
    judgements, or without judgements the images with labels; no graph is needed.

    Args:
        data: a `Dataset`; image → its concepts, where the queries are the corpus and there is no other relevance; or
            judgements, query → document → grade.
        ranking: the result of `read_ranking`, `top_k` or `random_ranking`; that of `read_ranking_in_blocks`, of which
            no more is held at a time than its blocks; the path of its file; query → images, best first; query → image
            → score; row numbers of the images, shape (queries, k), as ``I`` of ``D, I = index.search(…)`` of FAISS; or
            a table with the columns query, document, and score or rank.
        graph: the source of distances and of retired identifiers. ``None`` will do for CUI@K: identifiers are then
            compared as they are. In its place may stand the measures.
        measures: names such as ``nn-CUI@5,10,30``, ``nn-CUI@10(n=2, λ=0.2)``, ``CUI@10`` and, with labels or
            judgements, ``P@5(modality)``, ``AP`` and ``nDCG@10``.
        nearness: n and λ, for measures that do not give their own; direction of the hops, from a concept of the query;
            treatment of unknown identifiers.
        missing: treatment of a query without a ranking; ``skip`` is what trec_eval does.
        empty_ideal: treatment of a query for which IDCG is 0 or nothing is relevant, counted in both cases; ``zero`` is
            what trec_eval does. A query without the label that a measure needs leaves the mean in both cases, counted.
        query_image: a query that the corpus holds leaves its own ranking and ideal, or counts there as any image does.
            In a ranking of documents that only judgements name, a query always stays.
        resources: threads, memory, progress and checkpoint. No number depends on them.
        near: values of the nearness by their names: ``n``, ``lam``, ``direction``, ``unknown``, ``weight``, ``ic``.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: identifiers cannot be used, and ``unknown`` is ``error``.
        InputError: a parameter, an image, the ranking or the checkpoint is not as expected.
        LimitExceeded: the memory allowed is not enough; states the amount that would be.
        OutputError: the checkpoint cannot be written.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])
    >>> images = {"vein": "C0042449", "vessel": "C0005847", "head": "C0018670"}
    >>> ranking = {"vein": ["vessel", "head"], "vessel": ["head", "vein"], "head": ["vein", "vessel"]}
    >>> evaluate(images, ranking, graph, measures="nn-CUI@1").means
    {'nn-CUI@1': 0.3333333333333333}
    >>> evaluate(images, ranking, graph, measures="nn-CUI@1", n=0).means
    {'nn-CUI@1': 0.0}
    >>> qrels, run = {"q": {"a": 1, "c": 0, "d": 2}}, {"q": {"a": 0.5, "b": 0.9, "c": 0.1}}
    >>> evaluate(qrels, run, ["AP", "P@2"]).means  # AP: (1/2) / 2
    {'AP': 0.25, 'P@2': 0.5}
    """
    if graph is not None and not isinstance(graph, ConceptGraph):
        if measures != _MEASURES:
            raise InputError("measures twice", column="graph", found=quoted(str(graph)), expected="a ConceptGraph")
        measures, graph = graph, None
    criteria = Criteria(measures_named(measures), nearness.having(near), missing, empty_ideal, query_image)
    (evaluation,) = _evaluations(Dataset.of(data), [("", ranking)], graph, criteria, resources).values()
    return evaluation


def evaluate_each(
    data: DataLike,
    rankings: NamedRankings,
    graph: ConceptGraph | None = None,
    *,
    measures: Measures = _MEASURES,
    nearness: Nearness = Nearness(),
    missing: Missing = "error",
    empty_ideal: EmptyIdeal = "zero",
    query_image: QueryImage = "exclude",
    resources: Resources = Resources(),
    **near: Unpack[NearnessValues],
) -> dict[str, Evaluation]:
    """Measure how well each of several rankings orders a corpus: `evaluate` of each, bit for bit.

    Images, identifiers, the graph's neighbourhoods, judgements and the ideal of the whole corpus are read and
    computed once, not once a ranking.

    Args:
        data, graph, measures, nearness, missing, empty_ideal, query_image, near: as in `evaluate`.
        rankings: name of a system → its ranking; or pairs of the two. Pairs are taken one by one, and of each ranking
            only the first images stay in memory: as many as gain.
        resources: as in `evaluate`. Judged blocks of the n-th ranking in blocks go into a file of their own: the name
            of the checkpoint, and ``.n``.

    Returns:
        Name of a system → its evaluation, in the order given.

    Raises:
        InputError: as `evaluate`; two systems have one name, or there is none.
        ConceptError, LimitExceeded, OutputError: as `evaluate`.

    >>> images = {"x": "C0042449", "y": "C0042449", "z": "C0018670"}
    >>> systems = {"good": {"x": ["y", "z"]}, "bad": {"x": ["z", "y"]}}
    >>> found = evaluate_each(images, systems, measures="CUI@1", missing="skip")
    >>> {name: evaluation.means for name, evaluation in found.items()}
    {'good': {'CUI@1': 1.0}, 'bad': {'CUI@1': 0.0}}
    """
    criteria = Criteria(measures_named(measures), nearness.having(near), missing, empty_ideal, query_image)
    return _evaluations(Dataset.of(data), rankings, graph, criteria, resources)


def evaluate_shard(
    data: DataLike,
    rankings: NamedRankings,
    graph: ConceptGraph | None = None,
    *,
    measures: Measures = _MEASURES,
    nearness: Nearness = Nearness(),
    missing: Missing = "error",
    empty_ideal: EmptyIdeal = "zero",
    query_image: QueryImage = "exclude",
    resources: Resources,
    **near: Unpack[NearnessValues],
) -> None:
    """Compute everything that `evaluate_each` needs of the queries of a shard, into its files of finished blocks.

    `evaluate_each`, or `evaluate` of one ranking, with the checkpoint in the folder of the job reads them, computes
    what no shard has, and gives the numbers of one process to the last bit.

    Args:
        data, rankings, graph, measures, nearness, missing, empty_ideal, query_image, near: as in `evaluate_each`, the
            same for every shard. A ranking in blocks is computed for the queries of the shard; `top_k` takes the
            resources of the shard, too.
        resources: those of a shard: see `cuihop.evaluation.open_shard`, which has an example.

    Raises:
        InputError: as `evaluate_each`; or there is no shard or no checkpoint in the resources.
        ConceptError, LimitExceeded, OutputError: as `evaluate_each`.
    """
    if resources.places is None or resources.checkpoint is None:
        raise InputError("no shard", column="resources", expected="the resources of an open shard")
    criteria = Criteria(measures_named(measures), nearness.having(near), missing, empty_ideal, query_image)
    dataset = Dataset.of(data)
    if dataset.queries is None:
        for _ in _judged_systems(dataset, rankings, criteria, resources):
            pass
    else:
        _scored_systems(dataset, rankings, graph, criteria, resources)


def cui_at_k(
    queries: ImagesLike,
    ranking: RankingLike,
    k: int,
    *,
    corpus: ImagesLike | None = None,
) -> float:
    """CUI@K of a ranking: `nn_cui_at_k` with IoU in place of nn-IoU. It needs no graph.

    Source: Serieys et al., as given by Wei, Kurtz and Cloppet (2025, section 4).

    Args:
        queries: image → its concepts, as ``"C1;C2"`` or as a collection of identifiers, or `ImageConcepts`.
        ranking: query → images of the corpus, best first, or any other form that `evaluate` takes.
        k: the cut-off.
        corpus: image → its concepts; the queries themselves without it.

    Raises:
        InputError: see `cuihop.evaluate`, which also gives the values per query.

    >>> images = {"a": "C0000001;C0000002", "b": "C0000001", "c": "C0000001;C0000002"}
    >>> round(cui_at_k(images, {"a": ["c"], "b": ["a"], "c": ["b"]}, k=1), 6)  # (1/1 + 0.5/0.5 + 0.5/1) / 3
    0.833333
    """
    measure = Measure("CUI", k)
    return evaluate(Dataset(queries, corpus), ranking, measures=measure).mean(measure)


def nn_cui_at_k(
    queries: ImagesLike,
    ranking: RankingLike,
    graph: ConceptGraph,
    k: int,
    *,
    corpus: ImagesLike | None = None,
    **near: Unpack[NearnessValues],
) -> float:
    """nn-CUI@K of a ranking: the mean over all queries of DCG@K / IDCG@K with the gain nn-IoU.

    DCG@K = Σ_{j=1..K} nn-IoU(query, j-th image) / log2(j + 1). The ideal is taken over the
    whole corpus, the query itself left out. A query whose ideal is 0 counts as 0.

    Args:
        queries: image → its concepts, as ``"C1;C2"`` or as a collection of identifiers, or `ImageConcepts`.
        ranking: query → images of the corpus, best first, or any other form that `evaluate` takes.
        graph: the source of distances.
        k: the cut-off.
        near: ``n``, ``lam``, ``direction``, ``unknown``, ``weight`` and ``ic`` as in `cuihop.measures.nn_iou`.
        corpus: image → its concepts; the queries themselves without it.

    Raises:
        InputError, ConceptError: see `cuihop.evaluate`, which also gives the values per query.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])
    >>> images = {"vein": "C0042449", "vessel": "C0005847", "head": "C0018670"}
    >>> ranking = {"vein": ["head", "vessel"], "vessel": ["vein", "head"], "head": ["vein", "vessel"]}
    >>> round(nn_cui_at_k(images, ranking, graph, k=2), 6)  # ((0.5 / log2 3) / 0.5 + 0.5 / 0.5 + 0) / 3
    0.543643
    """
    measure = Measure("nn-CUI", k)
    return evaluate(Dataset(queries, corpus), ranking, graph, measures=measure, **near).mean(measure)


def _evaluations(
    data: Dataset, rankings: NamedRankings, graph: ConceptGraph | None, criteria: Criteria, resources: Resources
) -> dict[str, Evaluation]:
    if resources.places is not None:
        raise InputError(
            "the queries of a shard are no evaluation", column="resources", found="places of some queries",
            expected="all queries", advice="evaluate_shard computes those of a shard.",
        )  # fmt: skip
    if data.queries is None:
        systems = _judged_systems(data, rankings, criteria, resources)
        return {name: evaluation_of_queries(system, data, criteria) for name, system in systems}
    scored = _scored_systems(data, rankings, graph, criteria, resources)
    return evaluations_of_images(*scored, data, graph, criteria)


def _judged_systems(
    data: Dataset, rankings: NamedRankings, criteria: Criteria, resources: Resources
) -> Iterator[tuple[str, JudgedSystem]]:
    """Rankings judged by labels and judgements alone. The first ranking in blocks has the checkpoint itself."""
    criteria.check_judged()
    truth = Truth(criteria.measures, data.qrels, data.labels, criteria.empty_ideal)
    files: list[Path] = []
    for name, unread in _named(rankings):
        ranking = ranking_of_queries(unread, data.qrels, data.labels, criteria.query_image)
        file, of_images = None, None
        if isinstance(ranking, RankingInBlocks):
            file = _next_file(resources, files, f".{len(files)}" if files else "")
        elif data.labels is not None and any(measure.labels for measure in criteria.measures):
            of_images = ranking_of_labelled(ranking, data.labels, criteria.query_image)
        yield name, judged_system(ranking, truth, criteria.missing, file=file, resources=resources, of_images=of_images)
    if resources.checkpoint is not None and resources.places is None and not files:
        raise InputError("a checkpoint goes with a ranking that is made in blocks", column="checkpoint")
    _remove(files, resources)


def _scored_systems(
    data: Dataset, rankings: NamedRankings, graph: ConceptGraph | None, criteria: Criteria, resources: Resources
) -> tuple[Mapping[str, JudgedSystem], Float64, Mapping[str, Float64], ImageCollection]:
    """Rankings of images with concepts: scored by these, and by labels and judgements where measures need them.

    Returned with the values, the best gains and the collection, as `evaluations_of_images` takes them.
    """
    gains = gains_of([measure for measure in criteria.measures if measure.kind != "judged"], criteria.nearness)
    if graph is None and any(measure.family == "nn-CUI" for measure in criteria.measures):
        raise InputError("nn-CUI@K needs a graph", column="graph", found="None", expected="a ConceptGraph")
    images = ImageCollection.of(data, graph, criteria.nearness.unknown, criteria.query_image)
    qrels = data.qrels
    if qrels is not None and criteria.query_image == "exclude":
        qrels = qrels.of_others(frozenset(images.query_names) & frozenset(images.corpus_names))
    truth = Truth(criteria.judged, qrels, data.labels, criteria.empty_ideal)
    depth = min(depth_of(gains) or 0, len(images.corpus))
    systems: dict[str, JudgedSystem] = {}
    files: list[Path] = []
    for name, unread in _named(rankings):
        ranking = ranking_of_images(unread, images)
        file = _next_file(resources, files, f".{len(files)}") if isinstance(ranking, RankingInBlocks) else None
        systems[name] = judged_system(ranking, truth, criteria.missing, head=depth, file=file, resources=resources)
    budget = resources.budget()
    numbers = len(systems) * len(criteria.measures) + len(set(gains.values()))
    budget.take("values of the queries", 8 * len(images.queries) * numbers)
    values = np.empty((len(systems), len(images.queries), len(criteria.measures)), dtype=np.float64)
    columns = {measure: values[:, :, column_index] for column_index, measure in enumerate(criteria.measures)}
    for column_index, system in enumerate(systems.values()):
        for measure, column in zip(truth.measures, system.judged.values.T, strict=True):
            columns[measure][column_index] = column
    job: dict[str, Any] = {}
    if resources.checkpoint is not None:
        job = {
            "work": "evaluation",
            **images.depends(graph),
            "content of ranking": [system.digest for system in systems.values()],
            "measures": [str(measure) for measure in gains],
            **criteria.nearness.fields(),
            "empty_ideal": criteria.empty_ideal,
        }
    empty = 0.0 if criteria.empty_ideal == "zero" else np.nan
    scored = Gains(images, graph, gains, criteria.nearness, depth, empty)
    with open_checkpoint(resources.checkpoint, job, keep=resources.keep_checkpoint) as saved:
        best = scored.score([system.ranking for system in systems.values()], columns, budget, resources, saved)
    _remove(files, resources)
    return systems, values, best, images


def _named(rankings: NamedRankings) -> Iterator[tuple[str, RankingLike]]:
    """Each name with its ranking; refuses two of one name, and none at all."""
    names = set()
    for name, ranking in rankings.items() if isinstance(rankings, Mapping) else rankings:
        if name in names:
            raise InputError(
                "two rankings of one name", column="rankings", found=quoted(name), expected="each name once"
            )
        names.add(name)
        yield name, ranking
    if not names:
        raise InputError("no ranking", column="rankings", found="none", expected="at least one")


def _next_file(resources: Resources, files: list[Path], suffix: str) -> Path | None:
    """The checkpoint of the next ranking in blocks."""
    if resources.checkpoint is None:
        return None
    files.append(Path(f"{resources.checkpoint}{suffix}"))
    return files[-1]


def _remove(files: Iterable[Path], resources: Resources) -> None:
    for file in [] if resources.keep_checkpoint else files:
        remove_finished(file)
