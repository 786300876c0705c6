"""Files of concepts in either form: images and the concepts of each, or a plain list of identifiers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cuihop.collection.columns import Columns
from cuihop.collection.concept_rows import read_concepts
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.text_lines import DELIMITERS, counted, decoded_lines, first_line, quoted
from cuihop.identifiers import identifier_fault, in_upper_case

__all__ = ["ConceptList", "read_concept_file"]

_HEADERS = ("cui", "cuis", "concept", "concepts")


@dataclass(frozen=True)
class ConceptList:
    """Identifiers in the order of a file, repeats included.

    Attributes:
        concepts: CUIs in upper case. lines: of each.
        source: the file.
        lower: number of lines that were in lower case.
    """

    concepts: tuple[str, ...]
    lines: tuple[int, ...]
    source: str
    lower: int = 0

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        lower = f", {self.lower:,} in lower case read in upper case" if self.lower else ""
        return f"{self.source}: {counted(len(self.concepts), 'identifier')}, 0 malformed{lower}"

    def place_of(self, concept: str) -> str | None:
        """File and line of the first place of a concept; ``None`` for one that is not in the list."""
        if concept not in self.concepts:
            return None
        return f"{self.source}, line {self.lines[self.concepts.index(concept)]:,}"


def read_concept_file(
    path: Readable, *, image_column: str | None = None, concept_column: str | None = None
) -> ImageConcepts | ConceptList:
    """Read a file, a pipe, or with ``-`` standard input.

    A text whose first line has neither comma, tab nor ``;`` is a list of identifiers, one a line; its first line may be
    the header ``CUI``, ``CUIs``, ``concept`` or ``concepts``. Any other input is read as by `ImageConcepts.read`.

    Args:
        path: the input. image_column, concept_column: as in `ImageConcepts.read`.

    Raises:
        InputError: names the file, line and column, what was found and what was expected.
    """
    columns, file = Columns(image_column, concept_column), opened_input(path)
    if file.form == "table":
        return ImageConcepts.of_rows(read_concepts(file, columns))
    first, lines = first_line(decoded_lines(file))
    if columns.named or first.lstrip().startswith("{") or any(delimiter in first for delimiter in DELIMITERS):
        return ImageConcepts.of_rows(read_concepts(file, columns, (first, lines)))
    return _listed(lines, file.name)


def _listed(lines: Iterator[str], source: str) -> ConceptList:
    found: list[tuple[int, str]] = []
    lower, begun = 0, False
    for line, text in enumerate(lines, start=1):
        written = text.strip()
        if not written or (not begun and written.lower() in _HEADERS):
            begun = begun or bool(written)
            continue
        begun = True
        if (fault := identifier_fault(written)) is not None:
            raise InputError(
                fault.problem, file=source, line=line, found=quoted(written), expected=fault.expected,
                advice="A line without a comma, tab or semicolon is one identifier.",
            )  # fmt: skip
        concept = in_upper_case(written)
        lower += concept != written
        found.append((line, concept))
    if not found:
        raise InputError(
            "the file holds no concept", file=source,
            expected="images and their concepts, such as ID,CUIs, or one identifier a line",
        )  # fmt: skip
    return ConceptList(tuple(cui for _, cui in found), tuple(line for line, _ in found), source, lower)
