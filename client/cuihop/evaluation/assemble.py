"""Assemble results: values, counts, parameters and versions of an evaluation."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from cuihop.collection.dataset import Dataset
from cuihop.collection.image_rows import cause_of_strange_name
from cuihop.collection.judgements import Judgements
from cuihop.errors import InputError
from cuihop.evaluation.collect import Criteria
from cuihop.evaluation.counts import EvaluationCounts, IdentifierCount, JudgedCounts, RelevanceCount
from cuihop.evaluation.judge import JudgedSystem, depth_of
from cuihop.evaluation.result import Details, Evaluation
from cuihop.files.text_lines import quoted
from cuihop.graph import ConceptGraph
from cuihop.rankings.ranking import Ranking
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.arrays import Float64
from cuihop.resources.optional_packages import versions


def evaluation_of_queries(system: JudgedSystem, data: Dataset, criteria: Criteria) -> Evaluation:
    """The result of a ranking by judgements or labels alone."""
    values = system.judged.values
    if criteria.missing == "skip":
        values[~system.ranking.listed] = np.nan
    depth = depth_of(criteria.measures)
    return Evaluation(
        measures=criteria.measures,
        queries=system.ranking.queries,
        values=values,
        retrieved=system.lengths if depth is None else np.minimum(system.lengths, depth),
        release=None,
        versions=versions("cuihop", "numpy"),
        details=partial(_judged_details, system, data, criteria),
    )


def _judged_details(system: JudgedSystem, data: Dataset, criteria: Criteria) -> Details:
    ranking, judged = system.ranking, system.judged
    counting = ranking.listed if criteria.missing == "skip" else np.ones_like(ranking.listed)
    relevance = {}
    for name, counts in judged.relevance.items():
        scored = counting & (counts[:, 1] > 0) if criteria.empty_ideal == "skip" else counting
        relevance[name] = RelevanceCount(*counts[scored].sum(axis=0).tolist())
    counted = JudgedCounts(
        queries=len(ranking.queries),
        corpus=len(ranking.corpus),
        self_retrieved=int(ranking.self_retrieved.sum()),
        missing=ranking.missing,
        other_queries=ranking.other_queries,
        nothing_relevant=judged.nothing_relevant,
        unjudged=judged.unjudged,
        unlabelled=judged.unlabelled,
        relevance=relevance,
    )
    parameters = _parameters(data, criteria)
    digests = parameters.pop("digests")
    return Details(counted, {**parameters, **_of_ranking(ranking), "digests": digests}, _inputs(data, system))


def evaluations_of_images(
    systems: Mapping[str, JudgedSystem],
    values: Float64,
    best: Mapping[str, Float64],
    images: ImageCollection,
    data: Dataset,
    graph: ConceptGraph | None,
    criteria: Criteria,
) -> dict[str, Evaluation]:
    """The results of several rankings of images with concepts.

    ``values`` are float64, shape (systems, queries, measures); ``best``, of each gain, float64, shape (queries,).
    """
    outside = images.resolved.outside
    shared = partial(
        Evaluation,
        measures=criteria.measures,
        queries=images.query_names,
        best_gains=best,
        concepts=images.query_sets.numbers(len),
        unknown_concepts=images.queries.distinct.numbers(lambda concepts: len(outside & concepts)),
        release=None if graph is None else graph.release,
        versions=versions("cuihop", "numpy", "numba"),
    )
    counts, parameters = _counts(images, best, data.qrels), _parameters(data, criteria, images)
    deepest = depth_of(criteria.measures)
    looked_at = len(images.corpus) if deepest is None else deepest
    available = np.minimum(looked_at, len(images.corpus) - (images.own_rows >= 0))
    evaluations: dict[str, Evaluation] = {}
    for (name, system), of_system in zip(systems.items(), values, strict=True):
        ranking, judged = system.ranking, system.judged
        if criteria.missing == "skip":
            of_system[~ranking.listed] = np.nan
        of_ranking = dataclasses.replace(
            counts,
            self_retrieved=int(ranking.self_retrieved.sum()),
            missing=ranking.missing,
            short=int(((system.lengths < available) & ranking.listed).sum()),
            nothing_relevant=judged.nothing_relevant,
            unjudged=judged.unjudged,
            unlabelled=judged.unlabelled,
        )
        details = Details(of_ranking, {**parameters, **_of_ranking(ranking)}, _inputs(data, system))
        evaluations[name] = shared(values=of_system, retrieved=np.minimum(system.lengths, looked_at), details=details)
    return evaluations


def _parameters(data: Dataset, criteria: Criteria, images: ImageCollection | None = None) -> dict[str, Any]:
    """The parameters that all rankings share; without images, of judgements or labels alone."""
    judged: dict[str, Any] = {"qrels": data.qrels, "labels": data.labels}
    concepts: dict[str, Any] = {} if images is None else {"queries": images.queries, "corpus": images.corpus}
    codes = None if images is None else images.codes_digest
    return {
        "measures": [str(measure) for measure in criteria.measures],
        **({} if images is None else criteria.nearness.fields()),
        "missing": criteria.missing,
        "empty_ideal": criteria.empty_ideal,
        "query_image": criteria.query_image,
        **({} if images is None else {"ideal": "the best K of the whole corpus"}),
        **{name: None if source is None else source.source for name, source in judged.items()},
        "label_agreement": "equal" if data.labels is None else data.labels.agreement,
        **{name: source.source for name, source in concepts.items()},
        "digests": {name: None if source is None else source.digest for name, source in (concepts | judged).items()}
        | ({} if codes is None else {"codes": codes}),
    }


def _of_ranking(ranking: Ranking) -> dict[str, str | None]:
    return {"ranking": ranking.source, "ties": ranking.ties}


def _inputs(data: Dataset, system: JudgedSystem) -> dict[str, str]:
    parsed = {"concepts": data.queries, "corpus": data.corpus, "qrels": data.qrels, "labels": data.labels}
    return {name: source.account for name, source in parsed.items() if source is not None} | {"ranking": system.account}


def _counts(images: ImageCollection, best: Mapping[str, Float64], qrels: Judgements | None) -> EvaluationCounts:
    """The counts that all rankings share, with 0 and nothing for those of each."""
    resolved = images.resolved
    occurrences = images.occurrences

    def counted(identifiers: Iterable[str]) -> IdentifierCount:
        distinct = tuple(identifiers)
        return IdentifierCount(distinct, sum(occurrences[identifier] for identifier in distinct))

    collections = [(images.queries, images.query_sets)]
    in_corpus = len(images.queries)
    if not images.one:
        collections.append((images.corpus, images.corpus_sets))
        in_corpus = len(images.queries.keys() & images.corpus.keys())
    sizes = [sets.numbers(len) for _, sets in collections]
    total = occurrences.total()
    dropped = sum(map(occurrences.__getitem__, resolved.dropped))
    names = images.query_names
    return EvaluationCounts(
        queries=len(images.queries),
        corpus=len(images.corpus),
        queries_in_corpus=in_corpus,
        empty_queries=int((sizes[0] == 0).sum()),
        empty_corpus=int((sizes[-1] == 0).sum()),
        identifiers=len(occurrences),
        occurrences=total,
        unknown=counted(cui for cui in resolved.unknown if cui not in resolved.unknown_codes),
        unknown_codes=counted(resolved.unknown_codes),
        codes=counted(resolved.codes),
        concepts_of_codes={code: ";".join(concepts) for code, concepts in resolved.codes.items()},
        retired=counted(resolved.retired),
        merged=counted(resolved.merged),
        successors=dict(resolved.merged),
        repeated=sum(concepts.repeated for concepts, _ in collections),
        fused=total - dropped - sum(int(of_side.sum()) for of_side in sizes),
        self_retrieved=0,
        missing=(),
        short=0,
        empty_ideal={gain: tuple(names[q] for q in np.flatnonzero(of == 0.0).tolist()) for gain, of in best.items()},
        emptied=sum(
            int((concepts.distinct.numbers(len)[of_side == 0] > 0).sum())
            for (concepts, _), of_side in zip(collections, sizes, strict=True)
        ),
        judged_elsewhere=0 if qrels is None else _judged_elsewhere(qrels, images),
    )


def _judged_elsewhere(qrels: Judgements, images: ImageCollection) -> int:
    """Number of judgements of other images; refuses judgements that are all of others."""
    elsewhere = qrels.elsewhere(frozenset(images.query_names), frozenset(images.corpus_names))
    if elsewhere and elsewhere == sum(map(len, qrels.values())):
        query = next(iter(qrels))
        document = next(iter(qrels[query]), "")
        cause = cause_of_strange_name(query, images.queries) if query not in images.queries else None
        raise InputError(
            "judgements of other images", file=None if qrels.source == "memory" else qrels.source,
            found=f"{elsewhere:,} judgements, such as of {quoted(document)} for query {quoted(query)}",
            expected=f"some of the {len(images.queries):,} queries and the {len(images.corpus):,} images of the corpus",
            advice=cause
            or cause_of_strange_name(document, images.corpus)
            or "Are they of another collection or split?",
        )  # fmt: skip
    return elsewhere
