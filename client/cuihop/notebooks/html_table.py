"""Results as tables in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_table"]


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts; its header may be empty.

    >>> html_table(["p"], [["< 0.05"]])
    '<table><tr><th>p</th></tr><tr><td>&lt; 0.05</td></tr></table>'
    """
    lines = [("th", header), *(("td", row) for row in rows)]
    return "<table>" + "".join(_line(kind, cells) for kind, cells in lines if cells) + "</table>"


def _line(kind: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"
