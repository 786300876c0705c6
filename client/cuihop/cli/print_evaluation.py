"""Evaluations on the terminal: the text of the evaluation, and the files written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cuihop.cli.output import console, print_table
from cuihop.evaluation.result import Evaluation
from cuihop.notebooks.table import Table

__all__ = ["print_evaluation"]


def print_evaluation(evaluation: Evaluation, worst: Table | None, written: Mapping[str, Path | None]) -> None:
    """Print means, worst queries and account.

    Args:
        evaluation: its result.
        worst: the worst queries, if requested.
        written: title of each file that may have been written, and its path; ``None`` where it was not.
    """
    print_table(evaluation.table())
    if worst is not None:
        print_table(worst, worst.caption)
    screen = console()
    for line in evaluation.account():
        screen.print(line)
    for title, path in written.items():
        if path is not None:
            screen.print(f"{title}: {path}")
