"""Reports of evaluations and comparisons: one HTML page that needs no other file, for the screen and for paper."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

import numpy as np

from cuihop.collection.dataset import DataLike, Dataset
from cuihop.comparison.comparison import Comparison
from cuihop.comparison.score_card import ScoreCard
from cuihop.errors import CuihopError
from cuihop.evaluation.gain import gains_of
from cuihop.evaluation.means import mean_columns, number_text, signed_text, span_of
from cuihop.evaluation.resampling import mean_interval
from cuihop.evaluation.result import Evaluation, MeasuredQueries
from cuihop.explanation.pair import explain_pair
from cuihop.explanation.query import explain_query
from cuihop.files.text_lines import counted, direction_text
from cuihop.files.written_files import write_whole
from cuihop.graph import ConceptGraph
from cuihop.measures.measure import FAMILIES, measures_named
from cuihop.measures.nearness import Nearness
from cuihop.notebooks.table import Table
from cuihop.rankings.blocks import RankingInBlocks
from cuihop.rankings.ranking import Ranking
from cuihop.reports.concepts import LEGEND, concepts_of_pair
from cuihop.reports.page import items, page, pairs_table, section, table
from cuihop.reports.pictures import histogram, interval_picture
from cuihop.resources.arrays import Float64

__all__ = ["html_report"]

AnyRanking: TypeAlias = Ranking | RankingInBlocks | Mapping[str, Sequence[str]]
_Sources: TypeAlias = tuple[Dataset, Any, ConceptGraph]

_RANKS = 5  # listed of a query
_MOST_PAIRS = 3  # of systems whose queries are listed
_MOST_PICTURES = 24
_NEARNESS = ("n", "lambda", "direction", "unknown", "weight", "ic")


def html_report(
    result: Evaluation | Comparison,
    path: str | os.PathLike[str] | None = None,
    *,
    data: DataLike | None = None,
    ranking: AnyRanking | Mapping[str, AnyRanking] | None = None,
    graph: ConceptGraph | None = None,
    queries: int = 5,
    tables: Iterable[Table] = (),
    threads: int | None = None,
) -> str:
    """One HTML page about a result: means with intervals, spread, the queries to look at, and all conditions.

    It refers to no other file, follows the colour scheme of the reader, and can be printed. The same result gives the
    same page. Intervals are those of `cuihop.evaluation.group_means`, or those of the comparison.

    Args:
        result: of `cuihop.evaluate` or `cuihop.compare`.
        path: file to write, atomically.
        data, graph: with the ranking, they explain the queries by their concepts: those with the smallest values of the
            first measure, or, of a comparison, those with the largest differences.
        ranking: the ranking; of a comparison, system → ranking.
        queries: number of queries to list.
        tables: further tables, such as means by label.
        threads: number of threads; ``None`` is one for each core.

    Raises:
        OutputError: the file cannot be written.
    """
    explained = None if data is None or ranking is None or graph is None else (Dataset.of(data), ranking, graph)
    if isinstance(result, Comparison):
        text = _comparison_page(result, explained, queries, tables, threads)
    else:
        text = _evaluation_page(result, explained, queries, tables, threads)
    if path is not None:
        write_whole(path, text)
    return text


def _evaluation_page(
    evaluation: Evaluation, explained: _Sources | None, queries: int, tables: Iterable[Table],
    threads: int | None,
) -> str:  # fmt: skip
    card = ScoreCard.of(evaluation)
    worst = evaluation.worst(queries)
    articles: list[str] = []
    if explained is not None:
        data, ranking, graph = explained
        nearness, k = _nearness(evaluation), min(_RANKS, evaluation.measures[0].k or _RANKS)
        articles = [_query_article(query, data, ranking, graph, nearness, k) for query, *_ in worst.rows]
    sections = (
        ("Means", section([_means_table({"": card}, list(card.values), threads), *_tables(tables)])),
        ("Distribution", _distribution({"": card}, list(card.values))),
        ("Worst queries", section([
            table(worst.caption, worst.columns, worst.rows, numbers=range(1, len(worst.columns))),
            *([LEGEND, *articles] if articles else []),
        ]) if worst.rows else ""),
        ("Conditions", section(_conditions(card, evaluation.account()[len(evaluation.inputs):]))),
    )  # fmt: skip
    title = "Evaluation" if card.system == "memory" else f"Evaluation of {card.system}"
    return page(title, evaluation.conditions(), sections, _footer(card))


def _comparison_page(
    comparison: Comparison, explained: _Sources | None, queries: int, tables: Iterable[Table],
    threads: int | None,
) -> str:  # fmt: skip
    cards = comparison.cards
    first = next(iter(cards.values()))
    sections = (
        ("Means", section([
            _means_table(cards, comparison.measures, threads, comparison), *_tables(tables),
        ])),
        ("Differences", section(_differences(comparison))),
        ("Distribution", _distribution(cards, comparison.measures)),
        ("Queries that differ most", section(_differing(comparison, explained, queries))),
        ("Conditions", section(_conditions(first, [], cards))),
    )  # fmt: skip
    title = f"Comparison of {' and '.join(cards)}" if len(cards) <= 3 else f"Comparison of {len(cards)} systems"
    lead = f"{counted(len(first.queries), 'query', 'queries')}, {', '.join(comparison.measures)}"
    return page(title, lead, sections, _footer(first))


def _means_table(
    cards: Mapping[str, ScoreCard], measures: Sequence[str], threads: int | None, comparison: Comparison | None = None
) -> str:
    """Means with intervals: a row for each measure, of several systems for each of them."""
    tests: dict[str, Any] = {"confidence": 0.95, "resamples": 10_000, "seed": 0}
    if comparison is not None:
        tests = {name: getattr(comparison, name) for name in tests}
    rows, bold = list[list[str]](), list[tuple[int, int]]()
    system = [] if comparison is None else ["system"]
    behind = [card.mean_queries[measure] for measure in measures for card in cards.values()]
    counts = mean_columns([[each] for each in behind], next(iter(cards.values())).conditions.get("empty_ideal"))
    scales = {_finite(FAMILIES[_family(measure)].limits, ()) for measure in measures}
    for measure in measures:
        means = {name: card.means[measure] for name, card in cards.items()}
        spans = {name: mean_interval(card.values[measure], threads=threads, **tests) for name, card in cards.items()}
        ends = [end for span in spans.values() for end in span if end is not None]
        limits = (min(ends, default=0.0), max(ends, default=1.0)) if comparison else FAMILIES[_family(measure)].limits
        best = comparison.best(measure) if comparison is not None else []
        for index, (name, (low, high)) in enumerate(spans.items()):
            if index in best:
                bold.append((len(rows), 2))
            picture = interval_picture(low, means[name], high, _finite(limits, ends))
            rows.append([
                measure, *([name] if system else []), number_text(means[name]),
                span_of(low, high).replace(" ", "\N{NO-BREAK SPACE}"), picture,
                *(cells[len(rows)] for _, cells in counts),
            ])  # fmt: skip
    caption = (
        f"Means over the queries, with {100 * tests['confidence']:.4g}% intervals by the bootstrap "
        f"({tests['resamples']:,} resamples, seed {tests['seed']})."
    )
    if comparison is not None:
        caption += " Bold: the best mean of a measure. The pictures of each measure have a scale of their own."
    scale = "side by side"
    if comparison is None:
        scale = "{:g} to {:g}".format(*scales.pop()) if len(scales) == 1 else "on its scale"
    titles = ["measure", *system, "mean", "interval", scale, *(title for title, _ in counts)]
    at = len(system)
    return table(caption, titles, rows, numbers=(1 + at, *range(4 + at, len(titles))), bold=bold)


def _family(measure: str) -> str:
    return measures_named(measure)[0].family


def _finite(limits: tuple[float, float], values: Sequence[float]) -> tuple[float, float]:
    """The limits; those that are infinite are taken from the values."""
    low, high = limits
    return (
        low if np.isfinite(low) else min(values, default=0.0), high if np.isfinite(high) else max(values, default=1.0)
    )  # fmt: skip


def _distribution(cards: Mapping[str, ScoreCard], measures: Sequence[str]) -> str:
    pictures = []
    for measure in measures:
        every = np.concatenate([card.values[measure] for card in cards.values()])
        limits = _finite(FAMILIES[_family(measure)].limits, every[~np.isnan(every)].tolist())
        pictures += [
            histogram(f"{measure} {name}".strip(), card.values[measure], *limits) for name, card in cards.items()
        ]
    note = ""
    if len(pictures) > _MOST_PICTURES:
        note = f"<p>The first {_MOST_PICTURES} of {len(pictures)} histograms.</p>"
    return f'{note}<div class="figures">{"".join(pictures[:_MOST_PICTURES])}</div>'


def _tables(tables: Iterable[Table]) -> Iterator[str]:
    for each in tables:
        yield table(each.caption, each.header, each.rows, numbers=range(2, len(each.columns)), bold=each.bold)


def _nearness(result: MeasuredQueries) -> Nearness:
    """The nearness of the first measure nn-CUI, or of the evaluation."""
    parameters = result.parameters
    recorded = {name: parameters[name] for name in _NEARNESS if parameters.get(name) is not None}
    base = Nearness(**{"lam" if name == "lambda" else name: value for name, value in recorded.items()})
    return next(
        (
            Nearness(gain.hops, gain.lam, base.direction, base.unknown, gain.weight, gain.ic)
            for measure, gain in gains_of([m for m in result.measures if m.family == "nn-CUI"], base).items()
        ),
        base,
    )


def _query_article(
    query: str, data: Dataset, ranking: AnyRanking, graph: ConceptGraph, nearness: Nearness, k: int
) -> str:
    """A query with its first ranks, and its concepts next to those of the image at the top, and of the best image."""
    heading = f"<h3>Query {escape(query)}</h3>"
    listed = None if isinstance(ranking, Ranking) and query in ranking.missing else ranking
    try:
        explanation = explain_query(data, query, graph, ranking=listed, k=k, nearness=nearness)
    except CuihopError as error:
        return f"<article>{heading}<p>Not explained: {escape(str(error))}</p></article>"
    parts = [heading]
    if explanation.ranked is not None:
        ranks = [
            (str(each.rank), each.image or "none", number_text(each.gain) if each.image else "",
             each.ideal_image or "none", number_text(each.ideal_gain) if each.ideal_image else "")
            for each in explanation.ranked.ranks
        ]  # fmt: skip
        caption = f"Ranks of query {query}: images retrieved, and the best ones of the corpus, with their nn-IoU."
        parts.append(
            table(caption, ("rank", "retrieved", "nn-IoU", "ideal", "nn-IoU of the ideal"), ranks, numbers=(2, 4))
        )
        rank = explanation.ranked.rank_below
        if rank is not None:
            parts.append(concepts_of_pair(explanation.pair_below, f"Rank {rank}, {explanation.below}"))
    parts.append(concepts_of_pair(explanation.pair_above, f"Best of the corpus, {explanation.above}"))
    return f"<article>{section(parts)}</article>"


def _differences(comparison: Comparison) -> Iterator[str]:
    differences = comparison.table()
    if not differences.rows:
        return
    rows = []
    for difference, cells in zip(comparison.differences, differences.rows, strict=True):
        ends = [
            0.0,
            *(end for d in comparison.differences if d.measure == difference.measure for end in (d.low, d.high)),
        ]
        picture = interval_picture(
            difference.low, difference.difference, difference.high, (min(ends), max(ends)),
            filled=difference.p_holm < 1.0 - comparison.confidence, zero=True,
        )  # fmt: skip
        span = cells[4].replace(" ", "\N{NO-BREAK SPACE}")
        rows.append([*cells[:4], span, picture, *cells[5:]])
    columns = [*differences.columns[:5], "around 0", *differences.columns[5:]]
    yield table("Differences of means. A filled mark: p (Holm) is below "
                f"{1 - comparison.confidence:.4g}.", columns, rows, numbers=(3, 6, 7, 8, 9))  # fmt: skip
    yield items(comparison.notes_on_tests())


def _differing(comparison: Comparison, explained: _Sources | None, queries: int) -> Iterator[str]:
    """The queries of each pair of systems with the largest differences under the first measure."""
    measure = comparison.measures[0]
    pairs = [(d.baseline, d.system) for d in comparison.differences if d.measure == measure]
    if explained is not None and pairs:
        yield LEGEND
    for baseline, system in pairs[:_MOST_PAIRS]:
        names = comparison.cards[baseline].queries
        before, after = (comparison.cards[name].column(measure, names) for name in (baseline, system))
        largest = _largest(after - before, queries)
        rows = [
            (names[row], number_text(before[row]), number_text(after[row]), signed_text(after[row] - before[row]))
            for row in largest
        ]
        caption = f"{measure}: queries with the largest differences of {system} over {baseline}."
        yield table(caption, ("query", baseline, system, "difference"), rows, numbers=(1, 2, 3))
        if explained is not None:
            yield from (_both_first(names[row], (system, baseline), explained, comparison) for row in largest)
    if len(pairs) > _MOST_PAIRS:
        yield f"<p>The first {_MOST_PAIRS} of {len(pairs)} pairs of systems.</p>"


def _largest(differences: Float64, number: int) -> list[int]:
    """Rows with the largest absolute differences, the largest first; equal ones stay in their order."""
    sizes = np.nan_to_num(np.abs(differences))
    return [row for row in np.argsort(-sizes, kind="stable")[:number].tolist() if sizes[row] > 0]


def _both_first(query: str, systems: tuple[str, str], explained: _Sources, comparison: Comparison) -> str:
    """The concepts of a query next to those of the image that each system retrieved first."""
    data, rankings, graph = explained
    sources, corpus = data.images
    nearness = _nearness(comparison.cards[systems[0]].measured())
    parts = [f"<h3>Query {escape(query)}</h3>"]
    images: dict[str, list[str]] = {}
    for system in systems:
        if system in rankings and (image := _first(rankings[system], query)) is not None:
            images.setdefault(image, []).append(system)
    for image, by in images.items():
        try:
            pair = explain_pair(sources[query], corpus[image], graph, nearness, titles=(query, image))
        except CuihopError as error:
            return f"<article>{section(parts)}<p>Not explained: {escape(str(error))}</p></article>"
        parts.append(concepts_of_pair(pair, f"First of {' and '.join(by)}, {image}"))
    return f"<article>{section(parts)}</article>" if images else ""


def _first(ranking: AnyRanking, query: str) -> str | None:
    listed = ranking.list_of(query) if isinstance(ranking, RankingInBlocks) else ranking.get(query, ())
    return next((image for image in listed if image != query), None)


_CONDITIONS = {
    "n": "hop threshold n", "lambda": "weight λ of a near concept", "weight": "weight", "ic": "information content",
    "direction": "direction of the hops", "unknown": "identifiers outside the graph",
    "missing": "queries without a ranking", "empty_ideal": "queries without anything relevant",
    "ideal": "ideal ranking", "query_image": "query in its own results", "ties": "order of equal scores",
    "label_agreement": "agreement of labels",
}  # fmt: skip


def _conditions(card: ScoreCard, notes: Sequence[str], cards: Mapping[str, ScoreCard] | None = None) -> Iterator[str]:
    """Everything that the values depend on, the inputs as they were read, and whatever was out of the ordinary."""
    yield items(notes)
    values = {
        "release": card.versions.get("release"),
        **{_CONDITIONS.get(name, name): direction_text(value) if name == "direction" and value else value
           for name, value in card.conditions.items()},
        **{f"version of {name}": version for name, version in card.versions.items() if name != "release"},
    }  # fmt: skip
    texts = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in values.items()
        if value not in (None, [])
    }
    yield pairs_table("Conditions of the values.", texts)
    for name, each in ({"": card} if cards is None else cards).items():
        if each.inputs:
            yield pairs_table(f"Inputs{name and f' of {name}'}, as they were read.", each.inputs)
        if cards is not None and each.counts:
            yield pairs_table(f"Counts of {name}, those of 0 left out.", dict(_counts(each.counts)))


def _counts(counts: Mapping[str, Any], of: str = "") -> Iterator[tuple[str, str]]:
    """Names and numbers, the nested ones behind the name of what they are of."""
    for name, count in counts.items():
        title = f"{of} {name.replace('_', ' ')}".strip()
        if isinstance(count, Mapping):
            yield from _counts(count, title)
        elif count:
            yield title, f"{count:,}" if isinstance(count, int) else str(count)


def _footer(card: ScoreCard) -> str:
    return f"Written by cuihop {card.versions.get('cuihop', '')}. The page needs no network."
