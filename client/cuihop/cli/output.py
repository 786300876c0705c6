"""Output of the commands: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from cuihop.files.text_lines import counted
from cuihop.notebooks.table import Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_WIDTH_OF_FILES = 160  # a pipe or a file has no width of its own

Output: TypeAlias = tuple[str, Path | None, Callable[[Path], object]]
"""Title of a file, its path if it is requested, and the function that writes it."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def console(*, error: bool = False) -> Console:
    """A console that prints text literally: names may hold square brackets."""
    from rich.console import Console

    screen = Console(stderr=error, markup=False, highlight=False, emoji=False, soft_wrap=True)
    if not screen.is_terminal:
        screen.width = _WIDTH_OF_FILES
    return screen


def print_table(
    given: Table,
    title: str | None = None,
    *,
    names: int | None = None,
    numbers: Iterable[int] = (),
    total: bool = False,
) -> None:
    """Print a table.

    Args:
        given: the table.
        title: text above it.
        names: number of columns that may fold; all by default.
        numbers: places of columns that end flush right.
        total: the last row is a sum; a line stands above it.
    """
    from rich import box
    from rich.table import Table as ScreenTable
    from rich.text import Text

    heading = title and Text(title)
    screen_table = ScreenTable(title=heading, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for place, column in enumerate(given.header or ("", "")):
        screen_table.add_column(Text(column), overflow="fold", justify="right" if place in numbers else "left")
    screen_table.show_header = bool(given.columns)
    if names is not None:
        screen_table.padding = (0, 1, 0, 0)  # 100 columns are enough for all but the longest names
        for folded in screen_table.columns[names:]:
            folded.no_wrap = True
    for place, row in enumerate(given.rows):
        cells = [Text(cell, "bold") if (place, at) in given.bold else cell for at, cell in enumerate(row)]
        screen_table.add_row(*cells, end_section=total and place == len(given.rows) - 2)
    console().print(screen_table)


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object, indented, on standard output."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def write_and_show(outputs: Iterable[Output], show: Callable[[Mapping[str, Path]], None]) -> None:
    """Write the requested files, and show the result; what was computed is shown if a file cannot be written, too.

    Args:
        outputs: the files.
        show: prints the result, and the titles and paths of the files that were written.
    """
    written: dict[str, Path] = {}
    try:
        for title, path, write in outputs:
            if path is not None:
                write(path)
                written[title] = path
    finally:
        show(written)


def print_written(written: Mapping[str, Path]) -> None:
    """Print a line for each file that was written: its title and its path."""
    for title, path in written.items():
        console().print(f"{title}: {path}")


def path_text(path: Path | None) -> str | None:
    """A path for JSON; ``None`` without one."""
    return None if path is None else str(path)


def note(text: str) -> None:
    """Print a remark beside the result, on standard error."""
    console(error=True).print(text, style="yellow")


@contextmanager
def noted_warnings() -> Iterator[None]:
    """Print cuihop's own warnings as notes, each about unknown concepts once."""
    from cuihop.errors import DamageWarning, ManyUnknownConcepts, OlderSnapshot

    with warnings.catch_warnings():
        others, printed = warnings.showwarning, set[str]()

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if issubclass(category, DamageWarning | OlderSnapshot):
                note(f"warning: {message}")
            elif issubclass(category, ManyUnknownConcepts):
                if str(message) not in printed:
                    note(str(message))
                printed.add(str(message))
            else:
                others(message, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]
        warnings.simplefilter("always", ManyUnknownConcepts)
        yield


def print_error(text: str) -> None:
    """Print an error, on standard error."""
    console(error=True).print(f"cuihop: {text}", style="bold red")


def progress() -> Progress:
    """A progress bar on standard error; silent where that is not a terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    screen = console(error=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )


def hops_text(hops: int | None, max_hops: int | None = None) -> str:
    """A distance in words."""
    if hops is None:
        return "no path" if max_hops is None else f"no path within {counted(max_hops, 'hop')}"
    return counted(hops, "hop")
