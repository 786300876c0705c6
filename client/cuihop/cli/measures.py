"""``cuihop measures list`` and ``verify``: the measures by name, and their values against the test vectors."""

from __future__ import annotations

from pathlib import Path

import typer

from cuihop.cli.command_files import FileUse
from cuihop.cli.option_groups import JsonOptions, argument, option, option_group
from cuihop.cli.output import console, print_json, print_table
from cuihop.files.text_lines import counted
from cuihop.measures.family import Kind
from cuihop.measures.measure import FAMILIES
from cuihop.notebooks.table import Table

_KINDS: dict[Kind, str] = {
    "concepts": "evaluate, with --concepts",
    "judged": "evaluate, with --qrels or --labels",
    "pair": "explain concepts",
    "detection": "score concepts",
    "code": "score irma",
    "annotation": "score annotations",
    "caption": "score captions",
}
_CUTOFFS = {"needed": "@K", "optional": "[@K]", "none": ""}
_ALSO_USED_BY = {"nn-F1": "score concepts, with --graph"}
_COLUMNS = ("measure", "meaning", "options", "used by")
_DIFFERENCE = ("case", "way", "expected", "found")
_LISTED = 20


def measures(options: JsonOptions) -> None:
    """List the measures by name, with their options."""
    rows = [
        (
            f"{each.name}{_CUTOFFS[each.cutoff]}", each.meaning,
            {option.name: option.expected for option in each.options},
            "; ".join(filter(None, (_KINDS[each.kind], _ALSO_USED_BY.get(each.name)))),
        )
        for each in FAMILIES.values()
    ]  # fmt: skip
    if options.json:
        print_json({"measures": [dict(zip(_COLUMNS, row, strict=True)) for row in rows]})
        return
    texts = [
        (name, meaning, "; ".join(f"{option}: {expected}" for option, expected in options.items()), used)
        for name, meaning, options, used in rows
    ]
    print_table(Table(_COLUMNS, texts))


@option_group
class _VectorOptions(JsonOptions):
    vectors: Path | None = argument(
        "Test vectors: a file, or a folder with vectors.json.", default=None, shown="those installed"
    )
    results: Path | None = option(
        "Values of another implementation: CSV with id and value, or JSON, id → value.", mark=FileUse.READS
    )


def verify_vectors(options: _VectorOptions) -> None:
    """Check the concept-based measures against the test vectors: those of this installation, or values in a file.

    Exit code 1 on a difference.
    """
    from cuihop.evaluation.test_vectors import TestVectors, installed_vectors, read_values  # evaluate imports much

    vectors = TestVectors.read(installed_vectors() if options.vectors is None else options.vectors)
    if options.results is None:
        checked, differences = vectors.expected.keys(), vectors.verify()
    else:
        values = read_values(options.results)
        checked, differences = values.keys(), vectors.compare(values, str(options.results))
    left = len(vectors.expected) - len(checked)
    rows = [(each.case, each.way, each.expected, each.found) for each in differences]
    if options.json:
        print_json({
            "vectors": vectors.source, "cases": dict(vectors.measures), "checked": len(checked), "not_checked": left,
            "tolerance": vectors.tolerance,
            "differences": [dict(zip(_DIFFERENCE, row, strict=True)) for row in rows],
        })  # fmt: skip
    else:
        screen = console()
        print_table(Table(("measure", "cases"), [(name, f"{count:,}") for name, count in vectors.measures.items()]))
        if rows:
            print_table(Table(_DIFFERENCE, [(*row[:2], *map(repr, row[2:])) for row in rows[:_LISTED]]))
        if len(rows) > _LISTED:
            screen.print(f"… and {len(rows) - _LISTED:,} more; --json lists them all")
        rest = f", {left:,} not in the file" if left else ""
        screen.print(
            f"{counted(len(checked), 'value')} checked{rest}: {counted(len(rows), 'difference')} of more than "
            f"{vectors.tolerance:g}"
        )
    if rows:
        raise typer.Exit(1)
