"""Systems that one command scores on the same queries: score cards, comparison, files and account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import typer

from cuihop.cli.compared_systems import named_files, write_cards
from cuihop.cli.output import Output, console, print_written
from cuihop.comparison.comparison import Comparison, compare
from cuihop.comparison.score_card import ScoreCard, system_name
from cuihop.evaluation.result import MeasuredQueries
from cuihop.notebooks.table import Table, write_tables

Scored = TypeVar("Scored", bound=MeasuredQueries)


def predictions_named(given: Sequence[str], argument: str) -> dict[str, Path]:
    """Name of each system → its file, from NAME=FILE, or from FILE alone, which gives its own name.

    Args:
        given: the texts of the command line. argument: their name there, for messages.

    Raises:
        typer.BadParameter: two systems have one name, a name or a file is missing, or a file is given twice.
    """
    files: dict[str, Path] = {}
    for given_name, path in named_files(given, argument):
        name = given_name or system_name(path.name)
        if name in files:
            raise typer.BadParameter(f"two predictions are called {name!r}: NAME=FILE gives one another name")
        files[name] = path
    return files


@dataclass(frozen=True, eq=False)
class ScoredSystems(Generic[Scored]):
    """Systems scored on the same queries, and their comparison.

    Attributes:
        scored: name of each system → its values.
        cards: name of each system → its score card.
        comparison: differences of every pair; ``None`` for one system.
    """

    scored: Mapping[str, Scored]
    cards: Mapping[str, ScoreCard]
    comparison: Comparison | None

    @classmethod
    def of(
        cls, scored: Mapping[str, Scored], *, resamples: int, confidence: float, seed: int, threads: int | None
    ) -> ScoredSystems[Scored]:
        """Compare several systems under every measure; arguments and errors as `compare`."""
        cards = {name: ScoreCard.of(values, name) for name, values in scored.items()}
        comparison = None
        if len(cards) > 1:
            comparison = compare(cards, resamples=resamples, confidence=confidence, seed=seed, threads=threads)
        return cls(scored, cards, comparison)

    def outputs(
        self, values: tuple[str, Path | None], tables: Sequence[Table], *, report: Path | None, cards: Path | None,
        plot: Path | None = None,
    ) -> list[Output]:  # fmt: skip
        """The files to write, as `cuihop.cli.output.write_and_show` takes them.

        Args:
            values: title and path of the values of each query; of several systems side by side.
            tables: for the report. report: its path. cards: folder of the score cards.
            plot: figure of the differences; of one system, of the spread of its values.
        """
        results = self.comparison or next(iter(self.scored.values()))
        return [
            (*values, results.to_csv),
            ("Tables", report, lambda path: write_tables(path, tables)),
            ("Score cards", cards, lambda path: write_cards(path, self.cards)),
            ("Figure", plot, results.plot),
        ]

    def fields(self) -> dict[str, Any]:
        """The comparison, ready for JSON."""
        if self.comparison is None:
            return {"differences": [], "holm": None}
        found = self.comparison.summary()
        return {"differences": found["differences"], "holm": found["holm"]}

    def print_account(self, written: Mapping[str, Path]) -> None:
        """Print the lines under the tables: on the comparison, on the inputs of each system, and on the files.

        Args:
            written: title of each file that was written → its path.
        """
        lines = [] if self.comparison is None else self.comparison.account_of_tests()
        lines += account_lines({name: values.account() for name, values in self.scored.items()})
        for line in lines:
            console().print(line)
        print_written(written)


def account_lines(accounts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The lines that all systems have in common; then those of one of them, each with its name.

    Args:
        accounts: name of each system → its lines.
    """
    shared = [line for line in next(iter(accounts.values()), []) if all(line in lines for lines in accounts.values())]
    yield from shared
    for name, lines in accounts.items():
        yield from (line if line.startswith(f"{name}: ") else f"{name}: {line}" for line in lines if line not in shared)


def first_rows(table: Table, rows: int) -> Iterator[Table]:
    """The table with its first rows, and a caption that says so; nothing where there are none."""
    if len(table.rows) > rows > 0:
        caption = f"{table.caption} The first {rows:,} of {len(table.rows):,} rows."
        yield replace(table, rows=table.rows[:rows], caption=caption)
    elif table.rows and rows:
        yield table
