"""``cuihop verify-vectors``: this installation, or values computed elsewhere, against the test vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.output import JsonOption, console, print_json, print_table
from cuihop.evaluation.test_vectors import Difference, TestVectors, installed_vectors, read_values
from cuihop.files.text_lines import counted
from cuihop.notebooks.table import Table

_LISTED = 20
_COLUMNS = ("case", "way", "expected", "found")


def verify_vectors(
    vectors: Annotated[
        Path | None,
        typer.Argument(help="Test vectors: a file, or a folder with vectors.json.", show_default="those installed"),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results", help="Values of another implementation: CSV with id and value, or JSON, id → value.",
            show_default=False,
        ),
        FileUse.READS,
    ] = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Check the measures by concepts against the test vectors: those of this installation, or values in a file.

    Exit code 1 on a difference.
    """
    given = TestVectors.read(installed_vectors() if vectors is None else vectors)
    if results is None:
        checked, differences = given.expected.keys(), given.verify()
    else:
        values = read_values(results)
        checked, differences = values.keys(), given.compare(values, str(results))
    left = len(given.expected) - len(checked)
    if json:
        print_json(
            {
                "vectors": given.source,
                "cases": dict(given.measures),
                "checked": len(checked),
                "not_checked": left,
                "tolerance": given.tolerance,
                "differences": [dict(zip(_COLUMNS, _row(each), strict=True)) for each in differences],
            }
        )
    else:
        _print(given, differences, len(checked), left)
    if differences:
        raise typer.Exit(1)


def _row(each: Difference) -> tuple[str, str, float | None, float | None]:
    return each.case, each.way, each.expected, each.found


def _print(given: TestVectors, differences: list[Difference], checked: int, left: int) -> None:
    screen = console()
    print_table(Table(("measure", "cases"), [(name, f"{count:,}") for name, count in given.measures.items()]))
    if differences:
        rows = [(each.case, each.way, repr(each.expected), repr(each.found)) for each in differences[:_LISTED]]
        print_table(Table(_COLUMNS, rows))
        if len(differences) > _LISTED:
            screen.print(f"… and {len(differences) - _LISTED:,} more; --json lists them all")
    rest = f", {left:,} not in the file" if left else ""
    screen.print(
        f"{counted(checked, 'value')} checked{rest}: {counted(len(differences), 'difference')} of more than "
        f"{given.tolerance:g}"
    )
