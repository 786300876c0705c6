"""Output of the commands: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cuihop.files.text_lines import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from cuihop.notebooks.table import Table

_WIDTH_OF_FILES = 160  # a pipe or a file has no width of its own

Output: TypeAlias = tuple[str, Path | None, Callable[[Path], object]]
"""Title of a file, its path if it is requested, and the function that writes it."""


def console(*, error: bool = False) -> Console:
    """A console that prints text literally: names may hold square brackets."""
    from rich.console import Console

    screen = Console(stderr=error, markup=False, highlight=False, emoji=False, soft_wrap=True)
    if not screen.is_terminal:
        screen.width = _WIDTH_OF_FILES
    return screen


def print_table(
    table: Table,
    title: str | None = None,
    *,
    names: int | None = None,
    numbers: Iterable[int] = (),
    total: bool = False,
) -> None:
    """Print a table.

    Args:
        title: text above it. names: number of columns that may fold; all by default.
        numbers: indices of columns that are flush right. total: the last row is a sum; a line stands above it.
    """
    from rich import box
    from rich.table import Table as ScreenTable
    from rich.text import Text

    heading = title and Text(title)
    screen_table = ScreenTable(title=heading, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for index, column in enumerate(table.header or ("", "")):
        screen_table.add_column(Text(column), overflow="fold", justify="right" if index in numbers else "left")
    screen_table.show_header = bool(table.columns)
    if names is not None:
        screen_table.padding = (0, 1, 0, 0)  # 100 columns are enough for all but the longest names
        for folded in screen_table.columns[names:]:
            folded.no_wrap = True
    for index, row in enumerate(table.rows):
        cells = [Text(cell, "bold") if (index, at) in table.bold else cell for at, cell in enumerate(row)]
        screen_table.add_row(*cells, end_section=total and index == len(table.rows) - 2)
    console().print(screen_table)


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object, indented, on standard output."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def write_and_show(outputs: Iterable[Output], show: Callable[[Mapping[str, str]], None]) -> None:
    """Write the requested files, and show the result with their titles and paths, even if one cannot be written."""
    written: dict[str, str] = {}
    try:
        for title, path, write in outputs:
            if path is not None:
                write(path)
                written[title] = str(path)
    finally:
        show(written)


def print_lines(lines: Iterable[str], written: Mapping[str, str] | None = None) -> None:
    """Print lines, and one for each file that was written: its title and its path."""
    screen = console()
    for line in (*lines, *(f"{title}: {path}" for title, path in (written or {}).items())):
        screen.print(line)


def note(text: str) -> None:
    """Print a remark on standard error."""
    console(error=True).print(text, style="yellow")


@contextmanager
def noted_warnings() -> Iterator[None]:
    """Print cuihop's own warnings as notes, those about unknown concepts once each, at the end."""
    from cuihop.errors import DamageWarning, FileNotRemoved, ManyUnknownConcepts, OlderSnapshot

    with warnings.catch_warnings():
        others, unknown = warnings.showwarning, dict[str, None]()

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if issubclass(category, DamageWarning | FileNotRemoved | OlderSnapshot):
                note(f"warning: {message}")
            elif issubclass(category, ManyUnknownConcepts):
                unknown[str(message)] = None
            else:
                others(message, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]
        warnings.simplefilter("always", ManyUnknownConcepts)
        try:
            yield
        finally:
            for text in unknown:
                note(text)


def print_error(text: str) -> None:
    """Print an error, on standard error; if that cannot be written, the exit code remains."""
    with suppress(OSError):
        console(error=True).print(f"cuihop: {text}", style="bold red")


def progress() -> Progress:
    """A progress bar on standard error; silent where that is not a terminal."""
    from rich import progress as rich

    screen = console(error=True)
    kinds = (rich.BarColumn, rich.MofNCompleteColumn, rich.TaskProgressColumn, rich.TimeRemainingColumn)
    columns = (rich.TextColumn("{task.description}"), *(kind() for kind in kinds))
    return rich.Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)


@contextmanager
def progress_bars() -> Iterator[Callable[[str], Callable[[int, int], None]]]:
    """Progress bars on standard error: the value maps the label of a bar to its callback of done and total."""
    with progress() as bar:

        def bar_of(label: str) -> Callable[[int, int], None]:
            task = bar.add_task(label, total=None)
            return lambda done, total: bar.update(task, completed=done, total=total)

        yield bar_of


def hops_text(hops: int | None, max_hops: int | None = None) -> str:
    """A distance in words."""
    if hops is None:
        return "no path" if max_hops is None else f"no path within {counted(max_hops, 'hop')}"
    return counted(hops, "hop")
