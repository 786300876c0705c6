"""Counts of an evaluation: everything that went in, and everything out of the ordinary, also in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cuihop.errors import first_few
from cuihop.files.text_lines import counted, direction_text
from cuihop.graph import Release
from cuihop.measures.nearness import nearness_text
from cuihop.measures.resolution import MANY_UNKNOWN, treated_text


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
    """Counts of an evaluation of images with concepts. If queries and corpus are two collections, both are counted.

    Attributes:
        queries, corpus: images of each; queries_in_corpus: queries that the corpus holds under the same name.
        empty_queries, empty_corpus: images without a concept.
        identifiers: distinct identifiers; occurrences: each counted in every image that has it.
        unknown, retired: identifiers that became isolated concepts, or were dropped: not in the graph; retired without
            an exact successor in it.
        unknown_codes: codes of vocabularies that the release does not hold; they are not among ``unknown``.
        codes: codes that were read as concepts; concepts_of_codes: those of each, several separated by semicolons.
        emptied: images that had concepts, and lost all because the graph holds none of them and they were dropped.
        merged: retired identifiers that were replaced by their successors; successors: each with its own.
        repeated: number of repetitions of a concept in the list of an image.
        fused: number of concepts that images lost because two of their identifiers are one concept.
        self_retrieved: queries that stood in their own ranking, and were left out of it.
        missing: queries without a ranking. short: queries whose ranking has fewer images than the largest K needs.
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
    unknown_codes: IdentifierCount = field(default_factory=IdentifierCount)
    codes: IdentifierCount = field(default_factory=IdentifierCount)
    concepts_of_codes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RelevanceCount:
    """Documents of all queries that count: trec_eval's num_ret, num_rel and num_rel_ret.

    Only as many of each ranking are retrieved as the deepest measure needs.
    """

    retrieved: int
    relevant: int
    relevant_retrieved: int


@dataclass(frozen=True, slots=True)
class JudgedCounts:
    """Counts of an evaluation by judgements or labels alone: as in `EvaluationCounts`, and others.

    Attributes:
        corpus: documents that can be, or were, retrieved.
        other_queries: queries of the ranking that have no judgements; they take no part.
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


def conditions_by_concepts(
    counts: EvaluationCounts, parameters: Mapping[str, Any], release: Release | None
) -> Iterator[str]:
    """Conditions of an evaluation of images with concepts: the collection, the nearness, the release."""
    queries, own = counted(counts.queries, "query", "queries"), _own_results(parameters["query_image"])
    in_corpus = counts.queries_in_corpus
    if in_corpus == counts.queries == counts.corpus:
        yield f"{queries}, each {own}"
    else:
        held = "" if in_corpus == 0 else f", {in_corpus:,} of the queries in it, each {own}"
        yield f"{queries}, a corpus of {counted(counts.corpus, 'image')}{held}"
    if counts.empty_ideal:
        direction = direction_text(parameters["direction"])
        yield nearness_text(parameters["n"], parameters["lambda"], parameters["weight"], parameters["ic"], direction)
    if release is not None:
        yield f"release {release.name} ({release.digest[:12]})"


def _own_results(query_image: str) -> str:
    return "kept in its own results" if query_image == "include" else "excluded from its own results"


def account_by_concepts(
    counts: EvaluationCounts, parameters: Mapping[str, Any], release: Release | None, *, brief: bool
) -> Iterator[str]:
    """Lines about everything out of the ordinary in an evaluation of images with concepts.

    With ``brief``, without usual treatments, and without unknown concepts that a warning names.
    """
    if parameters["unknown"] == "drop" and release is not None and counts.identifiers:
        yield _coverage(counts)
    treated = treated_text(parameters["unknown"]).removeprefix("are ")
    kinds = (
        (counts.unknown, "not in the graph"),
        (counts.unknown_codes, "codes that the release does not hold"),
        (counts.retired, "retired without an exact successor"),
    )
    outside = sum(kind.occurrences for kind, _ in kinds)
    for kind, meaning in kinds:
        if kind.distinct and not (brief and outside > MANY_UNKNOWN * counts.occurrences):
            yield f"{_share(kind.distinct, kind.occurrences, counts)}: {meaning}; {treated}"
    if counts.merged.distinct and not brief:
        listed = first_few([f"{old} → {new}" for old, new in counts.successors.items()])
        share = _share(counts.merged.distinct, counts.merged.occurrences, counts)
        yield f"{share}: retired, replaced by their successors ({listed})"
    if counts.codes.distinct and not brief:
        several = sum(";" in concepts for concepts in counts.concepts_of_codes.values())
        of_several = f", {counted(several, 'code')} of several concepts as all of them" if several else ""
        listed = first_few([f"{code} → {concepts}" for code, concepts in counts.concepts_of_codes.items()])
        share = _share(counts.codes.distinct, counts.codes.occurrences, counts)
        yield f"{share}: codes, read as their concepts{of_several} ({listed})"
    if counts.empty_queries or counts.empty_corpus:
        yield (
            f"{counts.empty_queries:,} of {counts.queries:,} queries and {counts.empty_corpus:,} of "
            f"{counted(counts.corpus, 'image')} of the corpus have no concept"
        )
    if counts.repeated and not brief:
        yield f"{counted(counts.repeated, 'concept')} listed again for the same image; each counts once"
    if counts.fused and not brief:
        yield f"{counted(counts.fused, 'time')} two identifiers of an image were one concept; it counts once"
    yield from _without_relevant(counts.empty_ideal, "image", parameters["empty_ideal"])
    yield from _relevance(counts, parameters["empty_ideal"], "image")
    if counts.judged_elsewhere:
        judgements = counted(counts.judged_elsewhere, "judgement")
        yield f"{judgements} of images outside the corpus: relevant ones are never found"
    if not brief:
        yield from _self_retrieved(counts.self_retrieved, parameters["query_image"])
    if counts.missing:
        yield f"{_queries(counts.missing)} without a ranking: {_treated(parameters['missing'])}"
    if counts.short:
        yield f"{counted(counts.short, 'ranking')} shorter than the largest K; missing ranks gain 0"


def _coverage(counts: EvaluationCounts) -> str:
    """The share of identifiers that the graph holds, where the others are left out."""
    outside = (counts.unknown, counts.unknown_codes, counts.retired)
    held = counts.identifiers - sum(kind.distinct for kind in outside)
    occurrences = counts.occurrences - sum(kind.occurrences for kind in outside)
    return f"the graph holds {_share(held, occurrences, counts)}; {counted(counts.emptied, 'image')} lost all concepts"


def conditions_by_judgements(counts: JudgedCounts) -> str:
    """Conditions of an evaluation by judgements or labels alone."""
    return f"{counted(counts.queries, 'judged query', 'judged queries')}, {counted(counts.corpus, 'document')}"


def account_by_judgements(counts: JudgedCounts, parameters: Mapping[str, Any], *, brief: bool) -> Iterator[str]:
    """Lines about an evaluation by judgements or labels alone; ``brief`` as in `account_by_concepts`."""
    if counts.other_queries:
        yield f"{len(counts.other_queries):,} of the ranking's queries have no judgements and take no part"
    if counts.missing:
        yield f"{_queries(counts.missing)} without a ranking: {_treated(parameters['missing'])}"
    if not brief:
        yield from _self_retrieved(counts.self_retrieved, parameters["query_image"])
    for source, count in counts.relevance.items():
        yield (
            f"{counted(count.relevant, 'relevant document')}, {count.relevant_retrieved:,} of them among the "
            f"{count.retrieved:,} retrieved and looked at ({source})"
        )
    yield from _relevance(counts, parameters["empty_ideal"], "document")


def _relevance(counts: EvaluationCounts | JudgedCounts, empty_ideal: str, thing: str) -> Iterator[str]:
    for labels, images in counts.unlabelled.items():
        if images:
            agrees = f"one of {labels}: agrees with none in it" if "+" in labels else f"{labels}: relevant to none"
            yield f"{counted(images, 'image')} without {agrees}"
    unjudged = {source.partition(", rel=")[0]: queries for source, queries in counts.unjudged.items()}
    for source, queries in unjudged.items():
        if queries:
            lacking = "a judgement" if source == "judgements" else source
            yield f"{_queries(queries)} without {lacking}: not judged, left out"
    yield from _without_relevant(counts.nothing_relevant, thing, empty_ideal)


def _without_relevant(queries: Mapping[str, Sequence[str]], thing: str, empty_ideal: str) -> Iterator[str]:
    """A line on the queries of each relevance; those of the same queries share one."""
    sources: dict[tuple[str, ...], list[str]] = {}
    for source, without in queries.items():
        sources.setdefault(tuple(without), []).append(source)
    for without, named in sources.items():
        if without:
            yield f"{_queries(without)} without any relevant {thing} by {' or '.join(named)} ({_treated(empty_ideal)})"


def _self_retrieved(queries: int, query_image: str | None) -> Iterator[str]:
    if query_image == "include":
        if queries:
            yield f"{counted(queries, 'query', 'queries')} among the images that they retrieved; those hits count"
    elif queries == 1:
        yield "1 query retrieved itself; that hit was removed and later ranks moved up"
    elif queries:
        yield f"{queries:,} queries retrieved themselves; those hits were removed and later ranks moved up"


def _queries(queries: Sequence[str]) -> str:
    return counted(len(queries), "query", "queries")


def _treated(how: str) -> str:
    return "scored 0" if how == "zero" else "skipped"


def _share(distinct: int, occurrences: int, counts: EvaluationCounts) -> str:
    return (
        f"{distinct:,} of {counts.identifiers:,} identifiers ({distinct / counts.identifiers:.1%}), "
        f"{occurrences:,} of {counts.occurrences:,} occurrences ({occurrences / counts.occurrences:.1%})"
    )
