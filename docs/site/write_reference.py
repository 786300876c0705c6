"""The generated pages of docs/reference: ``make reference``.

The text above the mark of a page is written by hand; the pages in docs/reference/python are generated completely. With
``--check``, nothing is written, and a page that differs is an error.
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
    "settings": settings_reference,
}
"""Page → maker of its text, from the code, so that it cannot differ from it."""

PYTHON = """# Python

The public names of the library, one page a package. The names of everyday use come from `import cuihop`; the others
from a package by its name: `cuihop.measures`, `cuihop.rankings`, `cuihop.relevance`, `cuihop.evaluation`,
`cuihop.explanation`, `cuihop.adapters`, `cuihop.errors`. Every graph of concepts is a `cuihop.ConceptGraph`, whatever
holds it.
"""
"""The text above the packages, on the first page of the Python reference."""

MARK = "<!-- generated below: make reference -->\n"


def reference_pages() -> Iterator[tuple[Path, str]]:
    """Each page with the text that it should have."""
    for name, generated in GENERATORS.items():
        page = FOLDER / f"{name}.md"
        head, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
        if not mark:
            raise ValueError(f"{page}: no line {MARK.strip()}; expected one above the generated text")
        yield page, f"{head}{MARK}\n{generated().rstrip()}\n"
    for name, text in python_reference().items():
        head = f"{PYTHON}\n" if name == "index" else ""
        yield FOLDER / "python" / f"{name}.md", f"{head}{MARK}\n{text.rstrip()}\n"


if __name__ == "__main__":
    pages = dict(reference_pages())
    differing = {page for page, text in pages.items() if not page.exists() or page.read_text(encoding="utf-8") != text}
    leftover = set((FOLDER / "python").glob("*.md")) - set(pages)
    if "--check" in sys.argv and differing | leftover:
        sys.exit(f"{', '.join(map(str, sorted(differing | leftover)))}: not what the code says; run: make reference")
    (FOLDER / "python").mkdir(exist_ok=True)
    for page in differing:
        page.write_text(pages[page], encoding="utf-8")
    for page in leftover:
        page.unlink()
