"""Words and tables as Markdown, whatever signs stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["cell", "table"]

_ADDRESS = re.compile(r"(\b[a-z][a-z0-9+]*://(?:[^\s,;)]*[^\s,;).:])?)")
"""An address becomes code: as text it is a link for some readers of Markdown and not for others."""

_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)


def cell(text: str, *, lines: bool = False) -> str:
    r"""Plain text in which only what stands between backquotes is marked up.

    Args:
        text: as it stands in the code.
        lines: keep lines and their indents; without it, everything goes on one line, as in the cell of a table.

    >>> cell("from *.csv to ``out|err``")
    'from \\*.csv to `out\\|err`'
    """
    text = text.strip("\n") if lines else " ".join(text.split())
    parts: list[str] = []
    done = 0
    for found in _CODE.finditer(text):
        parts += [_plain(text[done : found.start()]), "`" + (found[2] if lines else found[2].replace("|", "\\|")) + "`"]
        done = found.end()
    return "".join(parts) + _plain(text[done:])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are Markdown already."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *lines])


def _plain(text: str) -> str:
    parts = _ADDRESS.split(text)
    parts[::2] = [re.sub(r"([\\*<>|\[\]#{}$]|\b_|_\b)", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"`{part}`" for part in parts[1::2]]
    return "".join(parts)
