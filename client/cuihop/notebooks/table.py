"""Tables: one value behind the terminal, HTML, Markdown, LaTeX (booktabs) and CSV."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from cuihop.files.written_files import replaced_file, write_whole

__all__ = ["Table", "marked", "write_columns", "write_tables"]

_ROWS_AT_ONCE = 4096

_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "λ": r"$\lambda$",
    "µ": r"$\mu$",
    "–": "--",
    "−": "$-$",
    "∩": r"$\cap$",
    "∪": r"$\cup$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "×": r"$\times$",
    **{sign: f"$^{{{letter}}}$" for sign, letter in zip("ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ", "abcdefghijklmnop", strict=True)},
}
_MARKDOWN = re.compile(r"([\\`*_<>\[\]|])")


@dataclass(frozen=True)
class Table:
    """Rows under titles; printed on the terminal by `cuihop.cli.output.print_table`.

    Attributes:
        columns: titles; empty for rows of names and values.
        rows: cells of each row, as texts; as values for CSV. The first is its title.
        name: base name of its files, and LaTeX label.
        caption: text above the table.
        groups: title of each group of columns, and its number of columns, from the second column on.
        bold: cells in bold type, as (row, column), both from 0.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    name: str = ""
    caption: str = ""
    groups: Sequence[tuple[str, int]] = ()
    bold: Collection[tuple[int, int]] = ()

    @property
    def header(self) -> list[str]:
        """Columns; the title of each begins with that of its group."""
        if not self.groups:
            return list(self.columns)
        owners = ["", *(title for title, span in self.groups for _ in range(span))]
        return [f"{group} {column}".strip() for group, column in zip(owners, self.columns, strict=True)]

    def csv(self) -> str:
        r"""CSV, a line for each row. Floating-point numbers are in full; ``None`` and NaN are empty fields.

        >>> Table(["a", "b"], [[0.1, None], ["x,y", 2]]).csv()
        'a,b\n0.1,\n"x,y",2\n'
        """
        return _csv([self.columns, *self.rows])

    def text(self) -> str:
        """Columns of a fixed width under their titles, with blanks between, as the command line prints them.

        >>> print(Table(["measure", "mean"], [["P@5", "0.8"]]).text())
        measure  mean
        ─────────────
        P@5      0.8
        """
        lines = [self.header, *self.rows] if self.columns else list(self.rows)
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        texts = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        if self.columns:
            texts.insert(1, "─" * (sum(widths) + 2 * len(widths) - 2))
        return "\n".join(texts)

    def html(self) -> str:
        """HTML without the caption.

        >>> Table(["p"], [["< 0.05"]]).html()
        '<table><tr><th>p</th></tr><tr><td>&lt; 0.05</td></tr></table>'
        """
        header = [_line("th", map(escape, self.columns))] if self.columns else []
        lines = [_line("td", cells) for cells in self._cells(escape, "<b>{}</b>")]
        return "<table>" + "".join([*header, *lines]) + "</table>"

    _repr_html_ = html

    def markdown(self) -> str:
        """A caption and a table."""
        lines = [
            f"**{marked(self.caption)}**",
            "",
            _piped(map(marked, self.header)),
            "| --- |" + " ---: |" * (len(self.columns) - 1),
            *map(_piped, self._cells(marked, "**{}**")),
        ]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        r"""LaTeX table environment; it needs ``\usepackage{booktabs}``. Ten columns fit 122 mm, as in LNCS."""
        spans, rules, start = [], [], 2
        for title, span in self.groups:
            spans.append(rf"\multicolumn{{{span}}}{{c}}{{{_escaped(title)}}}")
            rules += [rf"\cmidrule(lr){{{start}-{start + span - 1}}}"] if title else []
            start += span
        grouped = [" & ".join(["", *spans]) + r" \\", " ".join(rules)] if any(title for title, _ in self.groups) else []
        lines = [
            "% needs \\usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            r"\footnotesize",
            r"\setlength{\tabcolsep}{3pt}",
            rf"\caption{{{_escaped(self.caption)}}}",
            rf"\label{{tab:{self.name}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}",
            r"\toprule",
            *grouped,
            " & ".join(map(_escaped, self.columns)) + r" \\",
            r"\midrule",
            *(" & ".join(line) + r" \\" for line in self._cells(_escaped, r"\textbf{{{}}}")),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def _cells(self, escaped: Callable[[str], str], bold: str) -> Iterator[list[str]]:
        """The cells of each row as a form writes them; those in bold type put into ``bold``."""
        for position, row in enumerate(self.rows):
            texts = map(escaped, row)
            yield [bold.format(text) if (position, at) in self.bold else text for at, text in enumerate(texts)]


def write_tables(path: Path, tables: Iterable[Table]) -> None:
    """Write the tables in one file, atomically: LaTeX where its name ends with .tex, else Markdown.

    Raises:
        OutputError: the disk is full, or the folder cannot be written.
    """
    in_latex = path.suffix.lower() == ".tex"
    write_whole(path, "\n".join(table.latex() if in_latex else table.markdown() for table in tables))


def marked(text: str) -> str:
    """Escape the signs that have a meaning in Markdown."""
    return _MARKDOWN.sub(r"\\\1", text)


def write_columns(path: str | os.PathLike[str], columns: Sequence[tuple[str, Any]]) -> None:
    """Write titled columns as `Table.csv`, atomically. Few values of an array become objects at a time.

    Args:
        path: the target. columns: the title of each, and its values: list, tuple, or array of one dimension.

    Raises:
        InputError, OutputError: as `cuihop.files.written_files.replaced_file`.
    """
    titles, values = zip(*columns, strict=True)
    with replaced_file(Path(path)) as file:
        file.write(_csv([titles]).encode())
        for first in range(0, len(values[0]), _ROWS_AT_ONCE):
            chunks = (column[first : first + _ROWS_AT_ONCE] for column in values)
            rows = zip(*(chunk if isinstance(chunk, list | tuple) else chunk.tolist() for chunk in chunks), strict=True)
            file.write(_csv(rows).encode())


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(map(_field, row) for row in rows)
    return text.getvalue()


def _field(cell: object) -> object:
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _piped(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escaped(text: str) -> str:
    """Escape a text for LaTeX, with n and λ in formula style."""
    plain = "".join(_LATEX.get(sign, sign) for sign in text)
    return re.sub(r"\b([nK]) = (\d+)\b", r"$\1 = \2$", plain)


def _line(kind: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{kind}>{cell}</{kind}>" for cell in cells) + "</tr>"
