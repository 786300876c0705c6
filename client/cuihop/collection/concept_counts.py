"""Occurrences of concepts in a corpus, for information content."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cuihop.collection.columns import Columns
from cuihop.collection.concept_rows import read_concepts
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import Records
from cuihop.files.text_lines import counted, quoted
from cuihop.graph import ConceptGraph
from cuihop.identifiers import identifier_fault, in_upper_case, looks_like_identifier
from cuihop.measures.resolution import resolved_concepts

__all__ = ["ConceptCounts"]

_COLUMNS = Columns(
    usual=(("cui", "concept", "id", "identifier"), ("count", "counts", "occurrences", "frequency", "n")),
    contents="concepts and counts", expected="two columns separated by a comma or a tab: concept and count",
    advice="Call them CUI and count.",
)  # fmt: skip


@dataclass(frozen=True)
class ConceptCounts(Mapping[str, float]):
    """Concept → its occurrences.

    Attributes:
        counts: the mapping behind it. source: the file. form: how it was read.
    """

    counts: Mapping[str, float]
    source: str = "memory"
    form: str = ""

    def __getitem__(self, cui: str) -> float:
        return self.counts[cui]

    def __iter__(self) -> Iterator[str]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        total = f"{sum(self.values()):,g} occurrences" if len(self) else "none"
        return f"{self.source}: " + ", ".join(filter(None, (counted(len(self), "concept"), total, self.form)))

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
        records = Records.of(file, _COLUMNS.expected)
        in_csv = records.table is None and not records.in_json and len(records.names) == 2
        if in_csv and (looks_like_identifier(records.names[0].strip()) or _number(records.names[1]) is not None):
            records = records.without_header(("CUI", "count"))
        if file.mapped_from is not None and _of_images(records):
            return cls.of(ImageConcepts.of_rows(read_concepts(opened_input(path), Columns())))
        chosen = _COLUMNS.choose(records)
        fault = records.row_fault((chosen.first, chosen.second))
        counts: dict[str, float] = {}
        rows: dict[str, int] = {}
        for row, written, given in _rows(records, chosen.first, chosen.second):
            if (problem := identifier_fault(written)) is not None:
                raise fault(problem.problem, row, 0, quoted(written), problem.expected)
            number = _number(given)
            if number is None:
                raise fault("not a number of occurrences", row, 1, quoted(str(given)), "a number, 0 or more")
            cui = in_upper_case(written)
            if cui in counts:
                raise fault(
                    "a concept stands twice", row, 0, quoted(written), f"one row, as {fault.unit} {rows[cui]:,}"
                )
            counts[cui], rows[cui] = number, row
        if not any(counts.values()):
            raise fault.empty("occurrence", _COLUMNS.expected)
        return cls(counts, records.source, ", ".join(filter(None, (records.form, chosen.account))))

    @classmethod
    def of(cls, images: ImageConcepts) -> ConceptCounts:
        """The number of images that have each concept."""
        counts = Counter(cui for concepts in images.values() for cui in concepts)
        form = ", ".join(filter(None, (f"counted in {counted(len(images), 'image')}", images.form)))
        return cls({cui: float(count) for cui, count in sorted(counts.items())}, images.source, form)

    def used_in(self, graph: ConceptGraph) -> tuple[dict[str, float], str]:
        """The counts of the concepts that a graph holds, and the account of the others, which are left out.

        A retired identifier counts for its successor.

        Raises:
            InvalidCui: an identifier cannot be one of the graph.
            InputError: the graph holds none of the concepts that occur.
        """
        resolution = resolved_concepts(self.counts, graph, "drop")
        used: dict[str, float] = {}
        for cui, count in self.counts.items():
            if cui in resolution.concept:
                used[resolution.concept[cui]] = used.get(resolution.concept[cui], 0.0) + count
        left = self.counts.keys() - resolution.concept.keys()
        if not any(used.values()):
            raise InputError(
                "no concept of the counts is in the graph", file=None if self.source == "memory" else self.source,
                found=f"{counted(len(self), 'concept')}, such as {next(iter(self), 'none')}",
                expected=f"concepts of release {graph.release.name}",
            )  # fmt: skip
        outside = ""
        if left:
            lost = sum(self.counts[cui] for cui in left)
            outside = f"; {counted(len(left), 'concept')} with {lost:,g} occurrences not in the graph, left out"
        return used, self.account + outside


def _number(given: object) -> float | None:
    """A count; ``None`` for what is none."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    try:
        number = float(given)
    except ValueError:
        return None
    return number if 0 <= number < math.inf and "_" not in str(given) else None


def _of_images(records: Records) -> bool:
    """True where the header names images, or a table holds concepts in the place of counts."""
    plain = [name.strip().lower() for name in records.names]
    has_counts = any(name in plain for name in _COLUMNS.usual[1])
    return not has_counts and any(name in plain for name in ("cuis", "concepts", "image_id", "image"))


def _rows(records: Records, first: int, second: int) -> Iterator[tuple[int, str, Any]]:
    """Number, concept and count of each row; the count is a text, or a number of JSON or of a table."""
    if records.table is not None:
        for start, batch in records.table.batches():
            texts, codes = records.table.texts(start, batch, first)
            numbers = records.table.numbers(start, batch, second)
            for row, (code, number) in enumerate(zip(codes.tolist(), numbers.tolist(), strict=True), start=start):
                yield row, texts[code].strip(), number
        return
    for row, fields in records.rows():
        written, given = fields[first], fields[second]
        yield row, written.strip() if isinstance(written, str) else str(written), given
