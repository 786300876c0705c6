"""Tables of scored captions: the means of each system, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cuihop.captions.scoring import CaptionScores
from cuihop.evaluation.means import mean_of, number_text, span_of
from cuihop.evaluation.resampling import checked_resampling, mean_interval
from cuihop.notebooks.table import Table

_MOST_COLUMNS = 4  # measures with their intervals that fit a line


@dataclass(frozen=True, slots=True)
class MeanScore:
    """The mean of a measure over the captions.

    Attributes:
        measure: its name. mean: of all captions. low, high: confidence interval of the mean, by the bootstrap over
            captions.
    """

    measure: str
    mean: float
    low: float
    high: float


def mean_scores(
    scores: CaptionScores, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0,
    threads: int | None = None,
) -> list[MeanScore]:  # fmt: skip
    """The mean of each measure with its interval: see `cuihop.evaluation.resampling.mean_interval`.

    Args:
        scores: the result of a scoring.
        confidence, resamples, seed, threads: as in `cuihop.evaluation.group_means`.

    Raises:
        InputError: a parameter is out of its range.
    """
    checked_resampling(resamples, confidence, seed)
    means = []
    for measure, column in zip(scores.measures, scores.values.T, strict=True):
        interval = mean_interval(column, confidence=confidence, resamples=resamples, seed=seed, threads=threads)
        means.append(MeanScore(str(measure), *(number or 0.0 for number in (mean_of(column), *interval))))
    return means


def mean_table(means: Mapping[str, Sequence[MeanScore]], confidence: float) -> Table:
    """A row for each system, the best first by the first measure; with more than four measures a row for each of them.

    The best mean of each measure is in bold type.

    Args:
        means: name of a system → its means. A system without a measure has an empty cell there.
        confidence: of the intervals.
    """
    measures = list(dict.fromkeys(each.measure for scores in means.values() for each in scores))
    by_name = {name: {each.measure: each for each in scores} for name, scores in means.items()}
    ranked = sorted(by_name, key=lambda name: -by_name[name][measures[0]].mean if measures[0] in by_name[name] else 1)
    rows = [(name, *(_cell(by_name[name].get(measure)) for measure in measures)) for name in ranked]
    best = {measure: max(by[measure].mean for by in by_name.values() if measure in by) for measure in measures}
    bold = [
        (row, column)
        for row, name in enumerate(ranked)
        for column, measure in enumerate(measures, start=1)
        if len(ranked) > 1 and measure in by_name[name] and by_name[name][measure].mean == best[measure]
    ]
    header: tuple[str, ...] = ("system", *measures)
    if len(measures) > _MOST_COLUMNS:
        header, *rows = zip(("measure", *measures), *rows, strict=True)
        bold = [(column - 1, row + 1) for row, column in bold]
    caption = f"Means over the captions, with {100 * confidence:.4g}% intervals."
    return Table(header, rows, "captions", caption, bold=bold)


def _cell(score: MeanScore | None) -> str:
    return "" if score is None else f"{number_text(score.mean)} ({span_of(score.low, score.high)})"
