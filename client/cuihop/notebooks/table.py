"""Tables of numbers in Markdown and in LaTeX (booktabs)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Table", "marked"]

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

    def markdown(self) -> str:
        """Markdown with a caption; a column's title begins with its group's."""
        owners = [title for title, span in self.groups for _ in range(span)]
        heads = [f"{group} {column}".strip() for group, column in zip(owners, self.columns, strict=True)]
        lines = [
            f"**{marked(self.caption)}**",
            "",
            _piped([self.corner, *heads]),
            "| --- |" + " ---: |" * len(heads),
            *(_piped([title, *cells]) for title, cells in self.rows),
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
            *(" & ".join(map(_escaped, [title, *cells])) + r" \\" for title, cells in self.rows),
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
