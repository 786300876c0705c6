"""Images and the concepts detected in them, as ImageCLEFmedical's files list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cuihop.collection.concept_rows import EXPECTED_CONCEPTS, ConceptRows, concept_records
from cuihop.collection.image_rows import ImageRows
from cuihop.collection.tables import Schema
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import RowErrors
from cuihop.files.text_lines import counted, joined, quoted
from cuihop.identifiers import looks_like_identifier

__all__ = ["DetectedConcepts"]

MOST_CONCEPTS = 100

_OFFICIALLY = "read as the organisers' evaluator does: the form of identifiers is not looked at"


@dataclass(frozen=True, eq=False)
class DetectedConcepts:
    """Image → its concepts as they are listed, in upper case.

    Attributes:
        listed: an empty tuple for an image without a field of concepts. ``("",)`` for an empty field: the organisers'
            evaluator takes it for one concept without a name.
        rows: image → its line or row.
        source: the file.
        form: how it was read.
    """

    listed: Mapping[str, tuple[str, ...]]
    rows: ImageRows
    source: str
    form: str = ""

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        concepts = sum(len(set(concepts) - {""}) for concepts in self.listed.values())
        images = counted(len(self.listed), "image")
        return f"{self.source}: {images}, {counted(concepts, 'concept')}, {self.form}"

    @classmethod
    def read(
        cls, path: Readable, schema: Schema, *, most: int | None = MOST_CONCEPTS, official: bool = False
    ) -> DetectedConcepts:
        """Read images and concepts in any form of `ImageConcepts.read`; CSV of two columns may lack its header.

        A header is a first line whose second column holds no digit, as names of columns do and identifiers do not.

        Args:
            path: a file, a pipe, or ``-`` for standard input; text may be compressed by gzip or zstd.
            schema: columns of images and concepts.
            most: more concepts of an image are an error.
            official: as the organisers' evaluator: any text is an identifier, a line of CSV may lack its comma, and a
                header has ``ID`` in its first column.

        Raises:
            InputError: a line has other than two columns or too many concepts, a concept or an image stands twice, a
                concept is missing between two ``;`` or malformed, or columns are swapped. Names the line.
        """

        def is_header(names: Sequence[str]) -> bool:
            return _is_header(names, official=official)

        def split(field: str | None) -> Sequence[str]:
            return () if field is None else field.split(";")

        records = concept_records(opened_input(path), schema, is_header, split if official else None)
        rows, listed = ImageRows(records.error), dict[str, tuple[str, ...]]()
        strict = ConceptRows(records.error, records.source)
        for row, image, concepts in records.rows:
            rows.add(image, row)
            upper = _checked(concepts, row, most, records.error)
            listed[image] = upper if official else upper or ("",)
            if not official:
                strict.add([(row, image, concepts)])
        if not listed:
            raise records.error.empty("image", EXPECTED_CONCEPTS)
        form = _OFFICIALLY
        if not official:
            strict.check_columns()
            _check_first(listed, rows)
            form = joined("0 malformed", f"{strict.lower:,} in lower case read in upper case" if strict.lower else "")
        header = {None: "", "": "no header"}.get(records.header, f"header {quoted(records.header or '')}")
        return cls(listed, rows, records.source, joined(header, form, records.form))

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return content_digest({image: sorted(concepts) for image, concepts in self.listed.items()})

    def concepts(self, image: str, *, official: bool) -> tuple[str, ...]:
        """The concepts of an image, each once; one without a name is among them only in the organisers' reading."""
        listed = self.listed[image]
        return () if listed == ("",) and not official else listed

    def place_of(self, concept: str) -> str | None:
        """The file and the first row with a concept; ``None`` for a concept of no image."""
        for image, concepts in self.listed.items():
            if concept in concepts:
                return f"{self.source}, {self.rows.error.unit} {self.rows[image]:,}"
        return None

    def check_same_images(self, other: DetectedConcepts) -> None:
        """Refuse predictions, or a manual ground truth, of other images than this ground truth has.

        Raises:
            InputError: an image is unknown or missing; names the row.
        """
        other.rows.check_same(self.listed, self.source)


def _is_header(names: Sequence[str], *, official: bool) -> bool:
    """Recognise a header. ``COVID_1,C0040405`` is not one: the letters ``ID`` alone are not enough.

    The second column of names holds no digit. The organisers' evaluator wants ``ID`` in the first.
    """
    first, rest = names[0], "".join(names[1:]).strip()
    likely = "ID" in first or bool(rest and not official)
    return likely and not any(map(str.isdigit, rest or first))


def _check_first(listed: Mapping[str, tuple[str, ...]], rows: ImageRows) -> None:
    """Refuse a header with a digit, which looks like an image."""
    image, first = next(iter(listed.items()))
    others = [concept for name, concepts in listed.items() if name != image for concept in concepts if concept]
    plain = others and all(map(looks_like_identifier, others))
    if plain and first != ("",) and not any(map(looks_like_identifier, first)):
        raise rows.error_of(
            image, "neither a header nor concepts", 1, quoted(";".join(first)),
            "a name without digits, or identifiers as in the other lines",
        )  # fmt: skip


def _checked(concepts: Sequence[str], row: int, most: int | None, row_error: RowErrors) -> tuple[str, ...]:
    """The concepts of an image, in upper case."""
    upper = tuple(concept.strip().upper() for concept in concepts)
    if most is not None and len(upper) > most:
        raise row_error("too many concepts for an image", row, 1, f"{len(upper):,}", f"at most {most}")
    if len(upper) > 1 and "" in upper:
        raise row_error("a concept is missing", row, 1, "nothing beside a ';'", "identifiers between ';'")
    if len(set(upper)) < len(upper):
        twice = next(concept for index, concept in enumerate(upper) if concept in upper[:index])
        raise row_error("a concept stands twice for an image", row, 1, quoted(twice), "each concept once")
    return upper
