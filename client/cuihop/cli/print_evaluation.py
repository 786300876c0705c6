"""Evaluations on the terminal: means, and in plain words the inputs and everything out of the ordinary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cuihop.cli.output import console, print_table
from cuihop.errors import first_few
from cuihop.evaluation.result import Evaluation, EvaluationCounts, IdentifierCount, JudgedCounts
from cuihop.files.text_lines import counted, direction_text

__all__ = ["print_evaluation", "summary_lines"]


def print_evaluation(evaluation: Evaluation, output: Path | None) -> None:
    """Print means and summary.

    Args:
        evaluation: its result.
        output: file with the values of each query, if any.
    """
    print_table(evaluation.table())
    screen = console()
    for line in summary_lines(evaluation):
        screen.print(line)
    if output is not None:
        screen.print(f"Values of each query: {output}")


def summary_lines(evaluation: Evaluation) -> Iterator[str]:
    """Lines about each input, and about everything out of the ordinary."""
    yield from evaluation.inputs.values()
    if isinstance(evaluation.counts, JudgedCounts):
        yield from _judged_lines(evaluation)
        return
    counts, parameters = evaluation.counts, evaluation.parameters
    yield (
        f"{counts.queries:,} queries, {counts.queries_in_corpus:,} of them in the corpus of {counts.corpus:,} images "
        "and left out of their own ranking and ideal"
    )
    if counts.empty_ideal:
        yield f"n = {parameters['n']}, λ = {parameters['lambda']}, hops {direction_text(parameters['direction'])}"
    if evaluation.release is not None:
        yield f"release {evaluation.release.name}, digest {evaluation.release.digest[:12]}"
    for kind, meaning in ((counts.unknown, "unknown"), (counts.retired, "retired without an exact successor")):
        if kind.distinct:
            yield f"{_share(kind, counts.identifiers, counts.occurrences)}: {meaning}; near nothing but themselves"
    if counts.merged.distinct:
        listed = first_few([f"{old} → {new}" for old, new in counts.successors.items()])
        yield (
            f"{_share(counts.merged, counts.identifiers, counts.occurrences)}: retired, taken for their successors "
            f"({listed})"
        )
    if counts.empty_queries or counts.empty_corpus:
        yield (
            f"{counts.empty_queries:,} of {counts.queries:,} queries and {counts.empty_corpus:,} of "
            f"{counted(counts.corpus, 'image')} of the corpus have no concept"
        )
    if counts.repeated:
        yield f"{counted(counts.repeated, 'time')} a concept stood again in the list of an image; each counts once"
    if counts.fused:
        yield f"{counted(counts.fused, 'time')} two identifiers of an image were one concept; it counts once"
    for gain, queries in counts.empty_ideal.items():
        if queries:
            treated = _treated(parameters["empty_ideal"])
            yield f"{counted(len(queries), 'image')} to which no other has any {gain} (IDCG is 0): {treated}"
    yield from _relevance(counts, parameters["empty_ideal"])
    if counts.judged_elsewhere:
        judgements = counted(counts.judged_elsewhere, "judgement")
        yield f"{judgements} of images that are not here: relevant ones are never found"
    if counts.self_retrieved:
        yield f"{counted(counts.self_retrieved, 'image')} retrieved itself; left out, the ranks behind close up"
    if counts.missing:
        yield f"{counted(len(counts.missing), 'image')} without a ranking: {_treated(parameters['missing'])}"
    if counts.short:
        yield f"{counted(counts.short, 'ranking')} shorter than the largest K; missing ranks gain 0"


def _judged_lines(evaluation: Evaluation) -> Iterator[str]:
    counts, parameters = evaluation.counts, evaluation.parameters
    yield f"{counts.queries:,} judged queries, {counts.corpus:,} documents"
    if counts.other_queries:
        yield f"{len(counts.other_queries):,} of the ranking's queries have no judgements; they take no part"
    if counts.missing:
        yield f"{len(counts.missing):,} without a ranking: {_treated(parameters['missing'])}"
    if counts.self_retrieved:
        yield f"{counted(counts.self_retrieved, 'image')} retrieved itself; left out, the ranks behind close up"
    for source, count in counts.relevance.items():
        yield (
            f"{counted(count.relevant, 'relevant document')}, {count.relevant_retrieved:,} of them among the "
            f"{count.retrieved:,} retrieved and looked at ({source})"
        )
    yield from _relevance(counts, parameters["empty_ideal"])


def _relevance(counts: EvaluationCounts | JudgedCounts, empty_ideal: str) -> Iterator[str]:
    for labels, images in counts.unlabelled.items():
        if images:
            agrees = f"one of {labels}: agrees with none in it" if "+" in labels else f"{labels}: relevant to none"
            yield f"{counted(images, 'image')} without {agrees}"
    unjudged = {source.partition(", rel=")[0]: queries for source, queries in counts.unjudged.items()}
    for source, queries in unjudged.items():
        if queries:
            lacking = "a judgement" if source == "judgements" else source
            yield f"{_queries(queries)} without {lacking}: not judged, left out"
    for source, queries in counts.nothing_relevant.items():
        if queries:
            yield f"{_queries(queries)} for which nothing is relevant ({source}): {_treated(empty_ideal)}"


def _queries(queries: Sequence[str]) -> str:
    return "1 query" if len(queries) == 1 else f"{len(queries):,} queries"


def _treated(how: str) -> str:
    return "scored 0" if how == "zero" else "skipped"


def _share(kind: IdentifierCount, identifiers: int, occurrences: int) -> str:
    return (
        f"{kind.distinct:,} of {identifiers:,} identifiers ({kind.distinct / identifiers:.1%}), "
        f"{kind.occurrences:,} of {occurrences:,} occurrences ({kind.occurrences / occurrences:.1%})"
    )
