"""Evaluations on the terminal: the text of the evaluation, and the files written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from cuihop.cli.output import console, print_table, print_written
from cuihop.evaluation.result import Evaluation
from cuihop.notebooks.table import Table


def print_evaluation(evaluation: Evaluation, tables: Iterable[Table], written: Mapping[str, Path]) -> None:
    """Print means, other tables and account.

    Args:
        evaluation: its result.
        tables: those requested, such as the worst queries.
        written: title of each file that was written, and its path.
    """
    print_table(evaluation.table())
    for table in tables:
        print_table(table, table.caption)
    for line in evaluation.account():
        console().print(line)
    print_written(written)
