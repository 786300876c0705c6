"""The generated part of docs/reference/*.md, below the mark of each page: ``make reference``.

The text above the mark is written by hand. With ``--check``, nothing is written, and a page that differs is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from command_reference import command_reference
from grpc_reference import grpc_reference
from http_reference import http_reference
from python_reference import python_reference
from settings_reference import settings_reference

__all__ = ["reference_pages"]

FOLDER = Path(__file__).parents[1] / "reference"
GENERATORS: dict[str, Callable[[], str]] = {
    "commands": command_reference,
    "grpc": grpc_reference,
    "http": http_reference,
    "python": python_reference,
    "settings": settings_reference,
}
"""Page → maker of its text, from the code, so that it cannot differ from it."""

MARK = "<!-- generated below: make reference -->\n"


def reference_pages() -> Iterator[tuple[Path, str]]:
    """Each page with the text that it should have."""
    for name, generated in GENERATORS.items():
        page = FOLDER / f"{name}.md"
        head, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
        if not mark:
            raise ValueError(f"{page}: no line {MARK.strip()}; expected one above the generated text")
        yield page, f"{head}{MARK}\n{generated().rstrip()}\n"


if __name__ == "__main__":
    differing = {page: text for page, text in reference_pages() if page.read_text(encoding="utf-8") != text}
    if "--check" in sys.argv and differing:
        sys.exit(f"{', '.join(map(str, differing))}: not what the code says; run: make reference")
    for page, text in differing.items():
        page.write_text(text, encoding="utf-8")
