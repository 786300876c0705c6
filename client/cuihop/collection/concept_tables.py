"""Files of concepts: names, occurrences in a corpus for information content, and plain lists of identifiers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cuihop.collection.concept_rows import IMAGES_AND_CONCEPTS, read_concepts
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.tables import KeyedTable, ReadMapping, Schema, amount
from cuihop.errors import InputError
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import Records
from cuihop.files.text_lines import DELIMITERS, counted, decoded_lines, first_line, joined, quoted
from cuihop.graph import ConceptGraph
from cuihop.identifiers import as_read, identifier_fault, looks_like_identifier
from cuihop.measures.resolution import resolved_concepts

__all__ = ["ConceptCounts", "ConceptList", "ConceptNames", "ConceptSynonyms", "read_concept_file"]

_CONCEPTS = ("cui", "concept", "id", "identifier")
_HEADERS = ("cui", "cuis", "concept", "concepts")
_COUNTS = Schema(
    usual=(_CONCEPTS, ("count", "counts", "occurrences", "frequency", "n")), contents="concepts and counts",
    expected="two columns separated by a comma or a tab: concept and count", hint="Call them CUI and count.",
    row="occurrence", headless=("CUI", "count"),
    is_data=lambda names: looks_like_identifier(names[0].strip()) or amount(names[1]) is not None,
)  # fmt: skip
_NAMES = Schema(
    usual=(_CONCEPTS, ("name", "names", "preferred_name", "canonical name", "str")), contents="concepts and names",
    expected="two columns separated by a comma or a tab: concept and name", hint="Call them CUI and name.",
    row="concept", headless=("CUI", "name"), is_data=lambda names: looks_like_identifier(names[0].strip()),
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class ConceptCounts(ReadMapping[float]):
    """Concept → its occurrences."""

    def _facts(self) -> tuple[str, ...]:
        total = f"{sum(self.values()):,g} occurrences" if len(self) else "none"
        return counted(len(self), "concept"), total

    @classmethod
    def read(cls, path: Readable) -> ConceptCounts:
        """Read concepts and counts: two columns of CSV or TSV with or without a header, JSON Lines or Parquet.

        A file of images and concepts, which `ImageConcepts.read` takes, is counted: a concept occurs once in each
        image that has it. A CUI in lower case is read in upper case.

        Raises:
            InputError: a concept is malformed or stands twice; a count is no number, or below 0; the file holds none.
                Names the line.
        """
        file = opened_input(path)
        records = Records.of(file, _COUNTS.expected)
        if file.mapped_from is not None and _of_images(records):
            return cls.of(ImageConcepts.of_rows(read_concepts(opened_input(path), IMAGES_AND_CONCEPTS)))
        table = _COUNTS.table(records)
        counts: dict[str, float] = {}
        rows: dict[str, int] = {}
        for row, written, value in _counted_rows(table):
            cui = table.error.checked_identifier(written, row, 0)
            number = amount(value)
            if number is None:
                raise table.error("not a number of occurrences", row, 1, quoted(str(value)), "a number, 0 or more")
            if cui in counts:
                expected = f"one row, as {records.unit} {rows[cui]:,}"
                raise table.error("a concept stands twice", row, 0, quoted(written), expected)
            counts[cui], rows[cui] = number, row
        if not any(counts.values()):
            raise table.empty()
        return cls(counts, records.source, table.form)

    @classmethod
    def of(cls, images: ImageConcepts) -> ConceptCounts:
        """The number of images that have each concept."""
        counts = Counter(cui for concepts in images.values() for cui in concepts)
        form = joined(f"counted in {counted(len(images), 'image')}", images.form)
        return cls({cui: float(count) for cui, count in sorted(counts.items())}, images.source, form)

    def used_in(self, graph: ConceptGraph) -> tuple[dict[str, float], str]:
        """The counts of the concepts that a graph holds, and a summary with the others, which are left out.

        A retired identifier counts for its successor.

        Raises:
            InvalidCui: an identifier cannot be one of the graph.
            InputError: the graph holds none of the concepts that occur.
        """
        resolution = resolved_concepts(self.entries, graph, "drop")
        used: dict[str, float] = {}
        for cui, count in self.items():
            if cui in resolution.concept:
                used[resolution.concept[cui]] = used.get(resolution.concept[cui], 0.0) + count
        left = self.keys() - resolution.concept.keys()
        if not any(used.values()):
            raise InputError(
                "no concept of the counts is in the graph", file=None if self.source == "memory" else self.source,
                found=f"{counted(len(self), 'concept')}, such as {next(iter(self), 'none')}",
                expected=f"concepts of release {graph.release.name}",
            )  # fmt: skip
        outside = ""
        if left:
            lost = sum(self[cui] for cui in left)
            outside = f"; {counted(len(left), 'concept')} with {lost:,g} occurrences not in the graph, left out"
        return used, self.account + outside


def _of_images(records: Records) -> bool:
    """True for a header that names images, or concepts without counts."""
    plain = [name.strip().lower() for name in records.names]
    has_counts = any(name in plain for name in _COUNTS.usual[1])
    return not has_counts and any(name in plain for name in ("cuis", "concepts", "image_id", "image"))


def _counted_rows(table: KeyedTable) -> Iterator[tuple[int, str, Any]]:
    """Number, concept and count of each row; the count is a text, or a number of JSON or of a table."""
    key, value = table.columns
    if (arrow := table.records.table) is not None:
        for start, batch in arrow.batches():
            texts, codes = arrow.texts(start, batch, key)
            numbers = arrow.numbers(start, batch, value)
            for row, (code, number) in enumerate(zip(codes.tolist(), numbers.tolist(), strict=True), start=start):
                yield row, texts[code].strip(), number
        return
    for row, fields in table.records.rows():
        written = fields[key]
        yield row, written.strip() if isinstance(written, str) else str(written), fields[value]


@dataclass(frozen=True, eq=False, repr=False)
class ConceptNames(ReadMapping[str]):
    """Concept → its name."""

    def _facts(self) -> tuple[str, ...]:
        return (counted(len(self), "name"),)

    @classmethod
    def read(cls, path: Readable) -> ConceptNames:
        """Read concepts and names: two columns of CSV or TSV with or without a header, JSON Lines or Parquet.

        A CUI in lower case is read in upper case. A concept may stand again with the same name.

        Raises:
            InputError: a concept is malformed, has two names or an empty one; the columns are swapped; the file holds
                none. Names the line.
        """
        table = _NAMES.table(Records.of(opened_input(path), _NAMES.expected))
        names: dict[str, str] = {}
        rows: dict[str, int] = {}
        for row, cui, name in _named_rows(table):
            if names.setdefault(cui, name) != name:
                expected = f"one name for each concept, as {quoted(names[cui])} in {table.error.unit} {rows[cui]:,}"
                raise table.error(f"a second name of {cui}", row, 1, quoted(name), expected)
            rows.setdefault(cui, row)
        return cls(names, table.records.source, table.form)


@dataclass(frozen=True)
class ConceptSynonyms:
    """Names of concepts, of which a concept may have several.

    Attributes:
        names: pairs of concept and name, each once, in their order. source: the file. form: how it was read.
    """

    names: tuple[tuple[str, str], ...]
    source: str = "memory"
    form: str = ""

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        names, concepts = counted(len(self.names), "name"), counted(len({cui for cui, _ in self.names}), "concept")
        return f"{self.source}: {joined(f'{names} of {concepts}', self.form)}"

    @classmethod
    def read(cls, path: Readable) -> ConceptSynonyms:
        """Read concepts and names as `ConceptNames.read` does, but with several names of a concept.

        Raises:
            InputError: as `ConceptNames.read`.
        """
        table = _NAMES.table(Records.of(opened_input(path), _NAMES.expected))
        names = dict.fromkeys((cui, name) for _, cui, name in _named_rows(table))
        return cls(tuple(names), table.records.source, table.form)


def _named_rows(table: KeyedTable) -> Iterator[tuple[int, str, str]]:
    """Number, concept and name of each row."""
    row = 0
    for row, (written, name) in table.texts():
        cui = table.error.checked_identifier(written, row, 0)
        if looks_like_identifier(name) and not looks_like_identifier(written):
            expected = "the concept, and behind it its name"
            raise table.error("the columns are swapped", row, 0, quoted(written), expected)
        if not name:
            raise table.error("the name is missing", row, 1, "nothing", "a name")
        yield row, cui, name
    if not row:
        raise table.empty()


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
        """File and line of the first occurrence of a concept; ``None`` for one that is not in the list."""
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
    schema, file = IMAGES_AND_CONCEPTS.naming(image_column, concept_column), opened_input(path)
    if file.form == "table":
        return ImageConcepts.of_rows(read_concepts(file, schema))
    first, lines = first_line(decoded_lines(file))
    if schema.named or first.lstrip().startswith("{") or any(delimiter in first for delimiter in DELIMITERS):
        return ImageConcepts.of_rows(read_concepts(file, schema, (first, lines)))
    return _listed(lines, file.name)


def _listed(lines: Iterator[str], source: str) -> ConceptList:
    concepts, rows = list[str](), list[int]()
    lower, begun = 0, False
    for line, text in enumerate(lines, start=1):
        written = text.strip()
        if not written or (not begun and written.lower() in _HEADERS):
            begun = begun or bool(written)
            continue
        begun = True
        if (problem := identifier_fault(written)) is not None:
            raise InputError(
                problem.problem, file=source, line=line, found=quoted(written), expected=problem.expected,
                advice="A line without a comma, tab or semicolon is one identifier.",
            )  # fmt: skip
        concept = as_read(written)
        lower += concept == written.upper() != written
        concepts.append(concept)
        rows.append(line)
    if not concepts:
        raise InputError(
            "the file holds no concept", file=source,
            expected="images and their concepts, such as ID,CUIs, or one identifier a line",
        )  # fmt: skip
    return ConceptList(tuple(concepts), tuple(rows), source, lower)
