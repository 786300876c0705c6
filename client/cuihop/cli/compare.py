"""``cuihop compare``: systems side by side on the same queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuihop.cli.output import JsonOption, console, note, print_json, table
from cuihop.evaluation.comparison import Comparison, compare
from cuihop.evaluation.score_card import ScoreCard

__all__ = ["compare_systems"]


def compare_systems(
    cards: Annotated[list[Path], typer.Argument(help="Score cards of two or more systems.", show_default=False)],
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", "-m", help="Which; all that every card has if not given.", show_default=False),
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples", min=1, help="Of bootstrap and randomisation test.")] = 10_000,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the interval.")] = 0.95,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same gives the same.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the values of each query go, side by side, as CSV.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare systems by their score cards: differences, intervals, tests, wins. Cards have to match."""
    found = compare(
        [ScoreCard.read(card) for card in cards], measure, resamples=resamples, confidence=confidence, seed=seed
    )
    if len({str(sorted(card.versions.items())) for card in found.cards}) > 1:
        note("the cards were written by different versions of the software; --json tells which")
    if output is not None:
        found.to_csv(output)
    if json:
        print_json({**found.summary(), "per_query": None if output is None else str(output)})
    else:
        _show(found, output)


def _show(found: Comparison, output: Path | None) -> None:
    screen = console()
    header, *lines = found.table()
    rows = table(*header)
    for line in lines:
        rows.add_row(*line)
    screen.print(rows)
    queries = {row.queries for row in found.differences}
    screen.print(
        f"{' or '.join(f'{count:,}' for count in sorted(queries))} queries; intervals by paired bootstrap, p by "
        f"randomisation test, two-sided, {found.resamples:,} resamples, seed {found.seed}; wins are of B"
    )
    if output is not None:
        screen.print(f"Values of each query: {output}")
