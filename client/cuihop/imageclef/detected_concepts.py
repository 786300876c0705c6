"""Images and the concepts detected in them, as ImageCLEFmedical's files list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cuihop.collection.columns import EXPECTED_CONCEPTS, Columns
from cuihop.collection.concept_rows import ConceptRows, check_image, concept_records
from cuihop.collection.same_images import check_every_image, check_image_of_truth
from cuihop.files.content_digest import content_digest
from cuihop.files.input_file import Readable, opened_input
from cuihop.files.records import RowFault
from cuihop.files.text_lines import counted, quoted
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
        rows: image → the line or row it stands in. fault: makes the error about one.
        source: the file.
        form: how it was read, for the account.
    """

    listed: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, int]
    fault: RowFault
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
        cls, path: Readable, columns: Columns, *, most: int | None = MOST_CONCEPTS, official: bool = False
    ) -> DetectedConcepts:
        """Read images and concepts in any form of `ImageConcepts.read`; CSV of two columns may lack its header.

        A header is a first line whose second column holds no digit, as names of columns do and identifiers do not.

        Args:
            path: a file, a pipe, or ``-`` for standard input; text may be compressed by gzip or zstd.
            columns: those of images and concepts.
            most: more concepts of an image are an error.
            official: as the organisers' evaluator: any text is an identifier, a line of CSV may lack its comma, and a
                header has ``ID`` in its first column.

        Raises:
            InputError: a line has other than two columns or too many concepts, a concept or an image stands twice, a
                concept is missing between two ``;`` or malformed, or columns are swapped. Names the line.
        """

        def is_header(names: Sequence[str]) -> bool:
            return _is_header(names, official=official)

        def parts(field: str | None) -> Sequence[str]:
            return () if field is None else field.split(";")

        found = concept_records(opened_input(path), columns, is_header, parts if official else None)
        fault, listed, rows = found.fault, dict[str, tuple[str, ...]](), dict[str, int]()
        strict = ConceptRows(fault, found.source)
        for row, image, concepts in found.rows:
            if not image or image in rows:
                check_image(image, row, rows.get(image), fault)
            upper = _checked(concepts, row, most, fault)
            listed[image], rows[image] = upper if official else upper or ("",), row
            if not official:
                strict.add([(row, image, concepts)])
        if not listed:
            raise fault.empty("image", EXPECTED_CONCEPTS)
        form = _OFFICIALLY
        if not official:
            strict.check_columns()
            _check_first(listed, rows, fault)
            lower = f", {strict.lower:,} in lower case read in upper case" if strict.lower else ""
            form = f"0 malformed{lower}"
        header = {None: "", "": "no header"}.get(found.header, f"header {quoted(found.header or '')}")
        return cls(listed, rows, fault, found.source, ", ".join(filter(None, (header, form, found.form))))

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return content_digest({image: sorted(concepts) for image, concepts in self.listed.items()})

    def concepts(self, image: str, *, official: bool) -> tuple[str, ...]:
        """The concepts of an image, each once; one without a name is among them only in the organisers' reading."""
        listed = self.listed[image]
        return () if listed == ("",) and not official else listed

    def place_of(self, concept: str) -> str | None:
        """The file and the row that first have a concept; ``None`` where none has."""
        for image, concepts in self.listed.items():
            if concept in concepts:
                return f"{self.source}, {self.fault.unit} {self.rows[image]:,}"
        return None

    def check_same_images(self, other: DetectedConcepts) -> None:
        """Refuse predictions, or a manual ground truth, of other images than this ground truth has.

        Raises:
            InputError: an image is unknown or missing; names the row.
        """
        for image in other.listed:
            check_image_of_truth(image, self.listed, self.source, other.rows, other.fault)
        check_every_image(self.listed, other.rows, other.fault)


def _is_header(names: Sequence[str], *, official: bool) -> bool:
    """Recognise a header. ``COVID_1,C0040405`` is not one: the letters ``ID`` alone are not enough.

    The second column of names holds no digit. The organisers' evaluator wants ``ID`` in the first.
    """
    first, rest = names[0], "".join(names[1:]).strip()
    likely = "ID" in first or bool(rest and not official)
    return likely and not any(map(str.isdigit, rest or first))


def _check_first(listed: Mapping[str, tuple[str, ...]], rows: Mapping[str, int], fault: RowFault) -> None:
    """Refuse a header with a digit, which looks like an image."""
    image, first = next(iter(listed.items()))
    others = [concept for name, concepts in listed.items() if name != image for concept in concepts if concept]
    plain = others and all(map(looks_like_identifier, others))
    if plain and first != ("",) and not any(map(looks_like_identifier, first)):
        raise fault(
            "neither a header nor concepts", rows[image], 1, quoted(";".join(first)),
            "a name without digits, or identifiers as in the other lines",
        )  # fmt: skip


def _checked(concepts: Sequence[str], row: int, most: int | None, fault: RowFault) -> tuple[str, ...]:
    """The concepts of an image, in upper case."""
    upper = tuple(concept.strip().upper() for concept in concepts)
    if most is not None and len(upper) > most:
        raise fault("too many concepts for an image", row, 1, f"{len(upper):,}", f"at most {most}")
    if len(upper) > 1 and "" in upper:
        raise fault("a concept is missing", row, 1, "nothing beside a ';'", "identifiers between ';'")
    if len(set(upper)) < len(upper):
        twice = next(concept for place, concept in enumerate(upper) if concept in upper[:place])
        raise fault("a concept stands twice for an image", row, 1, quoted(twice), "each concept once")
    return upper
