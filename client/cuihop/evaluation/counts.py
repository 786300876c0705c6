"""Counts of an evaluation: everything that went in, and everything out of the ordinary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class IdentifierCount:
    """Identifiers of one kind, and the number of their occurrences in images."""

    identifiers: tuple[str, ...] = ()
    occurrences: int = 0

    @property
    def distinct(self) -> int:
        """Number of different identifiers."""
        return len(self.identifiers)


@dataclass(frozen=True, slots=True)
class EvaluationCounts:
    """Counts of an evaluation of images with concepts. Where queries and corpus are two collections, both are counted.

    Attributes:
        queries, corpus: images of each; queries_in_corpus: queries that the corpus holds under the same name.
        empty_queries, empty_corpus: images without a concept.
        identifiers: distinct identifiers; occurrences: each counted in every image that has it.
        unknown, retired: identifiers that became isolated concepts, or were dropped: not in the graph; retired without
            an exact successor in it.
        emptied: images that had concepts, and lost all because the graph holds none of them and they were dropped.
        merged: retired identifiers that were replaced by their successors; successors: each with its own.
        repeated: number of repetitions of a concept in the list of an image.
        fused: number of concepts that images lost because two of their identifiers are one concept.
        self_retrieved: queries that stood in their own ranking, and were left out of it.
        missing: queries without a ranking, scored 0 or skipped.
        short: queries with fewer images in their ranking than the largest K needs and the corpus has.
        empty_ideal: for each gain, the queries for which no other image gains anything: IDCG is 0.
        nothing_relevant: name of a relevance → the judged queries for which nothing is relevant.
        unjudged: name of a relevance → the queries without a label, or without a judgement. They leave the mean.
        unlabelled: labels → number of images that lack one of them.
        judged_elsewhere: judgements that are not of one of the queries and an image of the corpus.
    """

    queries: int
    corpus: int
    queries_in_corpus: int
    empty_queries: int
    empty_corpus: int
    identifiers: int
    occurrences: int
    unknown: IdentifierCount
    retired: IdentifierCount
    merged: IdentifierCount
    successors: Mapping[str, str]
    repeated: int
    fused: int
    self_retrieved: int
    missing: tuple[str, ...]
    short: int
    empty_ideal: Mapping[str, tuple[str, ...]]
    nothing_relevant: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unjudged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unlabelled: Mapping[str, int] = field(default_factory=dict)
    judged_elsewhere: int = 0
    emptied: int = 0


@dataclass(frozen=True, slots=True)
class RelevanceCount:
    """Documents of all queries that count: trec_eval's num_ret, num_rel and num_rel_ret.

    Attributes:
        retrieved: looked at: as many of each ranking as the deepest measure needs.
        relevant: retrieved or not.
        relevant_retrieved: both.
    """

    retrieved: int
    relevant: int
    relevant_retrieved: int


@dataclass(frozen=True, slots=True)
class JudgedCounts:
    """Counts of an evaluation by judgements or labels alone.

    Attributes:
        queries: those that were judged; corpus: documents that can be, or were, retrieved.
        self_retrieved: queries that stood in their own ranking, and were left out of it (with labels only).
        missing: queries without a ranking, scored 0 or skipped.
        other_queries: queries of the ranking that have no judgements; they take no part.
        nothing_relevant, unjudged, unlabelled: as in `EvaluationCounts`.
        relevance: name of a relevance → documents of the queries that were not skipped.
    """

    queries: int
    corpus: int
    self_retrieved: int
    missing: tuple[str, ...]
    other_queries: tuple[str, ...]
    nothing_relevant: Mapping[str, tuple[str, ...]]
    unjudged: Mapping[str, tuple[str, ...]]
    unlabelled: Mapping[str, int]
    relevance: Mapping[str, RelevanceCount]
