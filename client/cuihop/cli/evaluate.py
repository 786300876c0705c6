"""``cuihop evaluate``: the quality of a ranking of images whose concepts are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from cuihop.cli.graph_option import DirectionOption, GraphOption, LambdaOption, opened_graph
from cuihop.cli.output import JsonOption, console, counted, direction_told, note, print_json, progress, table
from cuihop.errors import ConceptError
from cuihop.evaluation.baselines import random_ranking, top_k
from cuihop.evaluation.image_concepts import ImageConcepts
from cuihop.evaluation.rankings import Ranking, read_ranking
from cuihop.evaluation.relevance_index import Progress
from cuihop.evaluation.result import IdentifierCount
from cuihop.evaluation.whole_collection import EmptyIdeal, Evaluation, Missing, evaluate
from cuihop.graph import ConceptGraph, Direction
from cuihop.measures import Measure, measures_named
from cuihop.measures.resolution import Unknown

__all__ = ["evaluate_ranking"]

_FILES = "Files"
_MEASURES = "Measures"
_LISTED = 5


def evaluate_ranking(
    concepts: Annotated[
        Path,
        typer.Option(
            "--concepts", help="Concepts of the query images: CSV, image and C1;C2.", rich_help_panel=_FILES,
            show_default=False,
        ),
    ],
    graph: GraphOption,
    ranking: Annotated[
        Path | None,
        typer.Option(
            "--ranking", help="TREC run, CSV (query,document,score or rank), or .npy of row numbers or embeddings.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", help="Instead of --ranking: iou, nn-iou, random or random:SEED.", rich_help_panel=_FILES
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus", help="Concepts of the images that can be retrieved; the queries themselves if not given.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    corpus_embeddings: Annotated[
        Path | None,
        typer.Option("--corpus-embeddings", help="With --corpus and embeddings: those of it.", rich_help_panel=_FILES),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the values of each query go, as CSV.", rich_help_panel=_FILES),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure", "-m", help="nn-CUI@K or CUI@K, several K with commas; may be repeated.",
            show_default="nn-CUI@5,10,30", rich_help_panel=_MEASURES,
        ),
    ] = None,
    hops: Annotated[
        int, typer.Option("--hops", "-n", min=0, help="Concepts so near count.", rich_help_panel=_MEASURES)
    ] = 1,
    lam: LambdaOption = 0.5,
    direction: DirectionOption = "any",
    unknown: Annotated[
        Unknown,
        typer.Option(
            "--unknown", help="Identifiers that the graph cannot use: refuse, or keep as near nothing but themselves.",
            rich_help_panel=_MEASURES,
        ),
    ] = "error",
    missing: Annotated[
        Missing,
        typer.Option("--missing", help="Queries without a ranking: refuse, or score 0.", rich_help_panel=_MEASURES),
    ] = "error",
    empty_ideal: Annotated[
        EmptyIdeal,
        typer.Option(
            "--empty-ideal", help="Queries for which no other image gains anything: score 0, or skip.",
            rich_help_panel=_MEASURES,
        ),
    ] = "zero",
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="How many; all cores if not given.", show_default=False)
    ] = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Measure how well a ranking puts the images with the same and near concepts first."""
    if (ranking is None) == (baseline is None):
        raise typer.BadParameter("give either --ranking FILE or --baseline")
    measures = measures_named(measure or "nn-CUI@5,10,30")
    with opened_graph(graph) as opened:
        queries = ImageConcepts.read(concepts)
        held = None if corpus is None else ImageConcepts.read(corpus)
        try:
            with progress() as bar:

                def telling(what: str) -> Progress:
                    task = bar.add_task(what, total=None)
                    return lambda done, total: bar.update(task, completed=done, total=total)

                if ranking is not None:
                    depth = max(m.k for m in measures)
                    names = None if held is None else tuple(held)
                    ranked = read_ranking(
                        ranking, tuple(queries), names, depth=depth, corpus_embeddings=corpus_embeddings
                    )
                else:
                    ranked = _baseline(
                        str(baseline), queries, held, opened, measures, hops, lam, direction, unknown, threads, telling
                    )
                evaluation = evaluate(
                    queries, ranked, opened, corpus=held, measures=measures, n=hops, lam=lam, direction=direction,
                    unknown=unknown, missing=missing, empty_ideal=empty_ideal, progress=telling("evaluated queries"),
                    threads=threads,
                )  # fmt: skip
        except ConceptError:
            note("--unknown isolated keeps such identifiers as concepts near nothing but themselves, and counts them")
            raise
    if output is not None:
        evaluation.to_csv(output)
    if json:
        print_json({**evaluation.summary(), "per_query": None if output is None else str(output)})
    else:
        _show(evaluation, output)


def _baseline(
    name: str,
    queries: ImageConcepts,
    corpus: ImageConcepts | None,
    graph: ConceptGraph,
    measures: tuple[Measure, ...],
    hops: int,
    lam: float,
    direction: Direction,
    unknown: Unknown,
    threads: int | None,
    telling: Callable[[str], Progress],
) -> Ranking:
    depth = max(measure.k for measure in measures)
    kind, _, seed = name.partition(":")
    if kind == "random" and (seed.isdecimal() or name == "random"):
        return random_ranking(queries, depth, corpus=corpus, seed=int(seed or 0))
    if name == "iou":
        return top_k(
            queries, graph, depth, corpus=corpus, by="iou", unknown=unknown, threads=threads,
            progress=telling("ranked queries"),
        )  # fmt: skip
    if name == "nn-iou":
        return top_k(
            queries, graph, depth, corpus=corpus, n=hops, lam=lam, direction=direction, unknown=unknown,
            threads=threads, progress=telling("ranked queries"),
        )  # fmt: skip
    raise typer.BadParameter(f"no baseline is called {name!r}; there are iou, nn-iou, random and random:SEED")


def _show(evaluation: Evaluation, output: Path | None) -> None:
    found = table("measure", "mean", "queries")
    for place, measure in enumerate(evaluation.measures):
        mean = evaluation.means[str(measure)]
        scored = int((evaluation.values[:, place] >= 0).sum())
        found.add_row(str(measure), "none" if mean is None else f"{mean:.4f}", f"{scored:,}")
    screen = console()
    screen.print(found)
    for line in _account(evaluation):
        screen.print(line)
    if output is not None:
        screen.print(f"Values of each query: {output}")


def _account(evaluation: Evaluation) -> Iterator[str]:
    """What went in, in plain words; what did not occur is not told."""
    counts, asked = evaluation.counts, evaluation.parameters
    yield (
        f"{counts.queries:,} queries, {counts.queries_in_corpus:,} of them in the corpus of {counts.corpus:,} images "
        "and left out of their own ranking and ideal"
    )
    yield f"n = {asked['n']}, λ = {asked['lambda']}, hops {direction_told(asked['direction'])}"
    if evaluation.release is not None:
        yield f"release {evaluation.release.name}, digest {evaluation.release.digest[:12]}"
    for kind, meaning in (
        (counts.unknown, "unknown"),
        (counts.retired, "retired without an exact successor"),
        (counts.invalid, "no identifiers of this graph"),
    ):
        if kind.distinct:
            yield f"{_share(kind, counts.identifiers, counts.occurrences)}: {meaning}; near nothing but themselves"
    if counts.merged.distinct:
        told = [f"{old} → {new}" for old, new in list(counts.successors.items())[:_LISTED]]
        more = f" and {len(counts.successors) - _LISTED:,} more" if len(counts.successors) > _LISTED else ""
        yield (
            f"{_share(counts.merged, counts.identifiers, counts.occurrences)}: retired, taken for their successors "
            f"({', '.join(told)}{more})"
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
            treated = "scored 0" if asked["empty_ideal"] == "zero" else "skipped"
            yield f"{counted(len(queries), 'image')} to which no other has any {gain} (IDCG is 0): {treated}"
    if counts.self_retrieved:
        yield f"{counted(counts.self_retrieved, 'image')} retrieved itself; left out, the ranks behind close up"
    if counts.missing:
        yield f"{counted(len(counts.missing), 'image')} without a ranking: scored 0"
    if counts.short:
        yield f"{counted(counts.short, 'ranking')} shorter than the largest K; missing ranks gain 0"


def _share(kind: IdentifierCount, identifiers: int, occurrences: int) -> str:
    return (
        f"{kind.distinct:,} of {identifiers:,} identifiers ({kind.distinct / identifiers:.1%}), "
        f"{kind.occurrences:,} of {occurrences:,} occurrences ({kind.occurrences / occurrences:.1%})"
    )
