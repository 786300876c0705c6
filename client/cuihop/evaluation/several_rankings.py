"""Evaluation of several rankings of one collection: what they share is computed once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.errors import InputError
from cuihop.evaluation.concept_gains import GainPart, gains_of
from cuihop.evaluation.judged_blocks import Judging, judged_in_blocks, judging_depends
from cuihop.evaluation.judged_values import JudgedValues, depth_of, judged_values
from cuihop.evaluation.result import (
    EmptyIdeal,
    Evaluation,
    EvaluationCounts,
    IdentifierCount,
    Missing,
    checked_way,
    missing_rankings,
)
from cuihop.files.arrow_tables import ArrowStream, ArrowTable, is_table_object
from cuihop.files.likely_causes import cause_of_strange_name
from cuihop.files.text_lines import quoted
from cuihop.graph import ConceptGraph, Direction, checked_direction
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.nn_iou import checked_lam, checked_n
from cuihop.measures.resolution import Unknown
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.parsing import ranking_of_table
from cuihop.rankings.ranking import Ranking, first_of_each
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.checkpoint import open_checkpoint
from cuihop.resources.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.resources.progress import Progress
from cuihop.resources.versions import versions

__all__ = ["RankingLike", "evaluate_rankings"]

Float64 = npt.NDArray[np.float64]

RankingLike: TypeAlias = Ranking | RankingInBlocks | Mapping[str, Sequence[str]] | ArrowStream
"""What `cuihop.evaluate` takes for a ranking."""


def evaluate_rankings(
    queries: object,
    rankings: Mapping[str, RankingLike] | Iterable[tuple[str, RankingLike]],
    graph: ConceptGraph | None,
    *,
    corpus: object = None,
    measures: str | Measure | Iterable[str | Measure] = "nn-CUI@5,10,30",
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    unknown: Unknown = "error",
    missing: Missing = "error",
    empty_ideal: EmptyIdeal = "zero",
    qrels: Judgements | Mapping[str, Mapping[str, int]] | ArrowStream | None = None,
    labels: Labels | object | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
    memory: int | str = DEFAULT_MEMORY,
    checkpoint: str | Path | None = None,
    keep_checkpoint: bool = False,
) -> dict[str, Evaluation]:
    """Measure how well each of several rankings orders a corpus: `cuihop.evaluate` of each, bit for bit.

    Images, identifiers, the graph's neighbourhoods, judgements and the ideal of the whole corpus are read and
    computed once, not once a ranking.

    Args:
        queries, graph, corpus: as in `cuihop.evaluate`, and everything else. Judged blocks of the n-th
            ranking that is made in blocks go into a file of their own: the name of the checkpoint, and ``.n``.
        rankings: name of a system → its ranking; or pairs of the two. Pairs are taken one by one, and of each ranking
            only the first images are kept: those that gains are looked up for.

    Returns:
        Name of a system → its evaluation, in the order given.

    Raises:
        InputError: as `cuihop.evaluate`; two systems have one name, or there is none.
        ConceptError, LimitExceeded, OutputError: as `cuihop.evaluate`.

    >>> images = {"x": "C0042449", "y": "C0042449", "z": "C0018670"}
    >>> systems = {"good": {"x": ["y", "z"]}, "bad": {"x": ["z", "y"]}}
    >>> found = evaluate_rankings(images, systems, None, measures="CUI@1", missing="skip")
    >>> {name: evaluation.means for name, evaluation in found.items()}
    {'good': {'CUI@1': 1.0}, 'bad': {'CUI@1': 0.0}}
    """
    wanted = measures_named(measures)
    n, lam, direction = checked_n(n), checked_lam(lam), checked_direction(direction)
    missing, empty_ideal = checked_way("missing", missing, Missing), checked_way("empty_ideal", empty_ideal, EmptyIdeal)
    gains = gains_of([measure for measure in wanted if measure.kind != "judged"], n, lam)
    if any(measure.family == "nn-CUI" for measure in gains) and graph is None:
        raise InputError("nn-CUI@K needs a graph", column="graph", found="None", expected="a ConceptGraph")
    images = ImageCollection.of(queries, corpus, graph, unknown)
    judgements = None if qrels is None else Judgements.of(qrels)
    query_names, corpus_names = frozenset(images.query_names), frozenset(images.corpus_names)
    judged_others = None if judgements is None else judgements.of_others(query_names & corpus_names)
    labelled = None if labels is None else Labels.of(labels)
    others = [measure for measure in wanted if measure not in gains]
    depth = min(depth_of(gains) or 0, len(images.corpus))
    systems: dict[str, _System] = {}
    files: list[Path] = []
    for name, given in rankings.items() if isinstance(rankings, Mapping) else rankings:
        if name in systems:
            raise InputError(
                "two rankings of one name", column="rankings", found=quoted(name), expected="each name once"
            )
        ranking = _fitted(given, images)
        judging: Judging = {"qrels": judged_others, "labels": labelled, "empty_ideal": empty_ideal}
        if isinstance(ranking, RankingInBlocks):
            job: dict[str, Any] = {"work": "judged evaluation", **judging_depends(others, **judging), "head": depth}
            job |= {} if checkpoint is None else ranking.depends
            blocks = None if checkpoint is None else Path(f"{checkpoint}.{len(files)}")
            files += [] if blocks is None else [blocks]
            with open_checkpoint(blocks, job, keep=True) as saved:
                judged, first = judged_in_blocks(
                    ranking, others, **judging, head=depth, threads=threads, progress=progress, saved=saved
                )
        else:
            if ranking.missing and missing == "error":
                raise missing_rankings(ranking.missing, ranking.source)
            judged, first = judged_values(ranking, others, **judging), _shortened(ranking, depth)
        digest = None if checkpoint is None else ranking.digest
        systems[name] = _System(first, ranking.lengths, judged, digest, ranking.account)
    if not systems:
        raise InputError("no ranking", column="rankings", found="none", expected="at least one")
    budget = MemoryBudget.of(memory)
    levels = set(gains.values())
    budget.take("values of the queries", 8 * len(images.queries) * (len(systems) * len(wanted) + len(levels)))
    values = np.empty((len(systems), len(images.queries), len(wanted)), dtype=np.float64)
    for of_system, system in zip(values, systems.values(), strict=True):
        of_system[:, [wanted.index(measure) for measure in others]] = system.judged.values
    job = {"work": "evaluation"}
    if checkpoint is not None:
        digests = [system.digest for system in systems.values()]
        job |= {**images.depends(graph), "content of ranking": digests, "measures": list(map(str, gains))}
        job |= {"n": n, "lambda": lam, "direction": direction, "unknown": unknown, "empty_ideal": empty_ideal}
    empty = 0.0 if empty_ideal == "zero" else np.nan
    best: dict[str, Float64] = {}
    with open_checkpoint(checkpoint, job, keep=keep_checkpoint) as saved:
        for hops in sorted({gain.hops for gain in levels}):
            some = sorted({gain for gain in levels if gain.hops == hops}, key=lambda gain: gain.name)
            part = GainPart(hops, some, {m: gain for m, gain in gains.items() if gain in some}, depth, empty, saved)
            index = images.index(graph, hops=hops, direction=direction, memory=budget.copy())
            cut = [system.ranking for system in systems.values()]
            found, largest = part.scored(index, images, cut, threads, progress)
            values[:, :, [wanted.index(measure) for measure in part.measures]] = found
            best |= {gain.name: np.ascontiguousarray(of) for gain, of in zip(some, largest.T, strict=True)}
    for file in [] if keep_checkpoint else files:
        file.unlink(missing_ok=True)
    isolated = images.resolved.isolated
    made = partial(
        Evaluation,
        measures=wanted,
        queries=images.query_names,
        best_gains={gain.name: best[gain.name] for gain in gains.values()},
        concepts=np.array([len(concepts) for concepts in images.query_sets], dtype=np.int64),
        unknown_concepts=np.array([len(concepts & isolated) for concepts in images.query_sets], dtype=np.int64),
        release=None if graph is None else graph.release,
        versions=versions("cuihop", "numpy", "numba"),
    )
    parameters = {
        "measures": [str(measure) for measure in wanted],
        "n": n,
        "lambda": lam,
        "direction": direction,
        "unknown": unknown,
        "missing": missing,
        "empty_ideal": empty_ideal,
        "ideal": "the best K of the whole corpus, the query left out",
        "qrels": None if judgements is None else judgements.source,
        "labels": None if labelled is None else labelled.source,
        "queries": images.queries.source,
        "corpus": images.corpus.source,
        "digests": {
            "queries": images.queries.digest,
            "corpus": images.corpus.digest,
            "qrels": None if judgements is None else judgements.digest,
            "labels": None if labelled is None else labelled.digest,
        },
    }
    read = {"concepts": images.queries, "corpus": None if images.one else images.corpus, "qrels": judgements,
            "labels": labelled}  # fmt: skip
    inputs = {what: given.account for what, given in read.items() if given is not None}
    deepest = depth_of(wanted)
    counted = _counts(images, made.keywords["best_gains"])
    if judgements is not None:
        counted = dataclasses.replace(counted, judged_elsewhere=_elsewhere(judgements, images))
    evaluations: dict[str, Evaluation] = {}
    for (name, system), of_system in zip(systems.items(), values, strict=True):
        ranking, judged = system.ranking, system.judged
        if missing == "skip":
            of_system[~ranking.listed] = np.nan
        looked_at = len(images.corpus) if deepest is None else deepest
        available = np.minimum(looked_at, len(images.corpus) - (images.own_rows >= 0))
        evaluations[name] = made(
            values=of_system,
            retrieved=np.minimum(system.lengths, looked_at),
            counts=dataclasses.replace(
                counted,
                self_retrieved=int(ranking.self_retrieved.sum()),
                missing=ranking.missing,
                short=int(((system.lengths < available) & ranking.listed).sum()),
                nothing_relevant=judged.nothing_relevant,
                unjudged=judged.unjudged,
                unlabelled=judged.unlabelled,
            ),
            parameters={**parameters, "ranking": ranking.source, "ties": ranking.ties},
            inputs={**inputs, "ranking": system.account},
        )
    return evaluations


@dataclass(frozen=True, eq=False)
class _System:
    """What an evaluation keeps of a ranking.

    Attributes:
        ranking: its first images, as many as gains are looked up for.
        lengths: int64, shape (queries,): how many images the whole ranking has.
        judged: what labels and judgements say of it. digest: of the whole ranking; ``None`` where nobody asks.
        account: how it was read.
    """

    ranking: Ranking
    lengths: npt.NDArray[np.int64]
    judged: JudgedValues
    digest: str | None
    account: str


def _shortened(ranking: Ranking, depth: int) -> Ranking:
    """The first images of each query."""
    if ranking.lengths.max(initial=0) <= depth:
        return ranking
    rows, indptr = first_of_each(ranking.rows, ranking.lengths, depth)
    return Ranking(
        ranking.queries, ranking.corpus, indptr, rows, ranking.listed, ranking.self_retrieved, ranking.source,
        ranking.other_queries, ranking.ties, ranking.form,
    )  # fmt: skip


def _elsewhere(judgements: Judgements, images: ImageCollection) -> int:
    """Number of judgements of other images.

    Raises:
        InputError: all of them.
    """
    found = judgements.elsewhere(frozenset(images.query_names), frozenset(images.corpus_names))
    if found and found == sum(map(len, judgements.values())):
        query = next(iter(judgements))
        document = next(iter(judgements[query]), "")
        cause = cause_of_strange_name(query, images.queries) if query not in images.queries else None
        raise InputError(
            "judgements of other images", file=None if judgements.source == "memory" else judgements.source,
            found=f"{found:,} judgements, such as of {quoted(document)} for query {quoted(query)}",
            expected=f"some of the {len(images.queries):,} queries and the {len(images.corpus):,} images of the corpus",
            advice=cause
            or cause_of_strange_name(document, images.corpus)
            or "Are they of another collection or split?",
        )  # fmt: skip
    return found


def _fitted(ranking: object, images: ImageCollection) -> Ranking | RankingInBlocks:
    """The ranking of these very images, in their order."""
    queries, corpus = images.query_names, images.corpus_names
    if is_table_object(ranking):
        return ranking_of_table(ArrowTable.of(ranking), queries, corpus, None, "name")
    if not isinstance(ranking, Mapping | RankingInBlocks):
        raise InputError("not a ranking", found=type(ranking).__name__, expected="query → images of the corpus")
    if not isinstance(ranking, Ranking | RankingInBlocks):
        return Ranking.of(ranking, queries, corpus)
    if (ranking.queries, ranking.corpus) == (queries, corpus):
        return ranking
    raise InputError(
        "the ranking is of other images, or of the same in another order",
        found=f"{len(ranking.queries):,} queries, {len(ranking.corpus):,} images in the corpus",
        expected=f"the {len(queries):,} queries and {len(corpus):,} images given, in their order",
        advice="dict(ranking) is matched by the names of the images.",
    )


def _counts(images: ImageCollection, best: Mapping[str, Float64]) -> EvaluationCounts:
    """What the rankings share; nothing yet of what each has of its own."""
    resolved = images.resolved
    occurrences = images.occurrences

    def counted(identifiers: Iterable[str]) -> IdentifierCount:
        found = tuple(identifiers)
        return IdentifierCount(found, sum(occurrences[identifier] for identifier in found))

    collections = [(images.queries, images.query_sets)]
    if not images.one:
        collections.append((images.corpus, images.corpus_sets))
    total = occurrences.total()
    names = images.query_names
    return EvaluationCounts(
        queries=len(images.queries),
        corpus=len(images.corpus),
        queries_in_corpus=int((images.own_rows >= 0).sum()),
        empty_queries=sum(not concepts for concepts in images.query_sets),
        empty_corpus=sum(not concepts for concepts in images.corpus_sets),
        identifiers=len(occurrences),
        occurrences=total,
        unknown=counted(resolved.unknown),
        retired=counted(resolved.retired),
        merged=counted(resolved.merged),
        successors=dict(resolved.merged),
        repeated=sum(concepts.repeated for concepts, _ in collections),
        fused=total - sum(len(concepts) for _, sets in collections for concepts in sets),
        self_retrieved=0,
        missing=(),
        short=0,
        empty_ideal={gain: tuple(names[q] for q in np.flatnonzero(of == 0.0).tolist()) for gain, of in best.items()},
    )
