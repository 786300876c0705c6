"""Tables: one value behind the terminal, HTML, Markdown and LaTeX (booktabs)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Table", "html_table", "marked"]

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
}
_MARKDOWN = re.compile(r"([\\`*_<>\[\]|])")


@dataclass(frozen=True)
class Table:
    """A table of numbers, its columns in groups.

    Attributes:
        name: base name of its files, and LaTeX label.
        caption: text above the table.
        corner: title of the column of row titles.
        groups: title of each group of columns, and its number of columns.
        columns: their titles.
        rows: title of each row and its cells.
    """

    name: str
    caption: str
    corner: str
    groups: Sequence[tuple[str, int]]
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]

    @classmethod
    def of(cls, name: str, caption: str, texts: Sequence[Sequence[str]]) -> Table:
        """A table without groups, from its header and its rows."""
        (corner, *columns), *rows = texts
        return cls(name, caption, corner, [("", len(columns))], columns, [(title, cells) for title, *cells in rows])

    @property
    def header(self) -> list[str]:
        """Corner and columns; a column's title begins with its group's."""
        owners = [title for title, span in self.groups for _ in range(span)]
        return [self.corner, *(f"{group} {column}".strip() for group, column in zip(owners, self.columns, strict=True))]

    @property
    def lines(self) -> list[list[str]]:
        """Rows with their titles."""
        return [[title, *cells] for title, cells in self.rows]

    def markdown(self) -> str:
        """A caption and a table."""
        lines = [
            f"**{marked(self.caption)}**",
            "",
            _piped(self.header),
            "| --- |" + " ---: |" * len(self.columns),
            *map(_piped, self.lines),
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
            rf"\begin{{tabular}}{{l{'r' * len(self.columns)}}}",
            r"\toprule",
            *grouped,
            " & ".join(map(_escaped, [self.corner, *self.columns])) + r" \\",
            r"\midrule",
            *(" & ".join(map(_escaped, line)) + r" \\" for line in self.lines),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"


def marked(text: str) -> str:
    """Escape the signs that have a meaning in Markdown."""
    return _MARKDOWN.sub(r"\\\1", text)


def _piped(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(marked, cells)) + " |"


def _escaped(text: str) -> str:
    """Escape a text for LaTeX, with n and λ in formula style."""
    plain = "".join(_LATEX.get(sign, sign) for sign in text)
    return re.sub(r"\b([nK]) = (\d+)\b", r"$\1 = \2$", plain)


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts; its header may be empty.

    >>> html_table(["p"], [["< 0.05"]])
    '<table><tr><th>p</th></tr><tr><td>&lt; 0.05</td></tr></table>'
    """
    lines = [("th", header), *(("td", row) for row in rows)]
    return "<table>" + "".join(_line(kind, cells) for kind, cells in lines if cells) + "</table>"


def _line(kind: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"
