"""Rows of images and concepts from every form of input, with one set of checks."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cuihop.collection.columns import EXPECTED_CONCEPTS, IMAGE_NAMES, ChosenColumns, Columns
from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable
from cuihop.files.input_file import InputFile
from cuihop.files.likely_causes import swapped_columns
from cuihop.files.records import Records, RowFault
from cuihop.files.text_lines import decoded_lines, delimiter_of, first_line, quoted
from cuihop.identifiers import identifier_fault, in_upper_case, looks_like_identifier


class Identifiers(dict[str, str]):
    """Identifier as it is written → as it is read: without white space, and a CUI in upper case.

    Each different one is checked once, so that rows of known identifiers cost no more than looking them up.

    Attributes:
        lower: those that were written in lower case.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lower: set[str] = set()

    def __missing__(self, written: str) -> str:
        plain = written.strip()
        if identifier_fault(plain) is not None:
            raise KeyError(plain)
        self[written] = read = in_upper_case(plain)
        if read != plain:
            self.lower.add(written)
        return read


class ConceptRows:
    """Image → concepts, from rows in any form.

    Args:
        fault: makes the error about a row. source: name of the file, or type of the object.

    Attributes:
        unit: of the rows. sets: image → concepts. places: the number of each image's row.
        repeated: concepts that stood again in the list of an image.
        lower: concepts in lower case, each counted in every image that has it.
        form: how the input was read, where that is no plain CSV of two columns.
    """

    def __init__(self, fault: RowFault, source: str, form: str = "") -> None:
        self._fault = fault
        self.unit, self.source, self.form = fault.unit, source, form
        self.sets: dict[str, frozenset[str]] = {}
        self._distinct: dict[frozenset[str], frozenset[str]] = {}
        self.places = array("q")
        self.repeated = self.lower = 0
        self._identifiers = Identifiers()

    def add(self, rows: Iterable[tuple[int, str, Sequence[str]]]) -> None:
        """The next rows: number, image and concepts.

        Raises:
            InputError: an image is missing or stands twice, or one of its concepts is malformed.
        """
        sets, distinct, places, identifiers = self.sets, self._distinct, self.places, self._identifiers
        read = identifiers.__getitem__
        for row, image, listed in rows:
            try:
                concepts = frozenset(map(read, listed))
            except KeyError:
                raise self._malformed(row, image, listed) from None
            if not image or image in sets:
                earlier = places[list(sets).index(image)] if image in sets else None
                check_image(image, row, earlier, self._fault, concepts)
            sets[image] = distinct.setdefault(concepts, concepts)
            places.append(row)
            if len(listed) > len(concepts):
                self.repeated += len(listed) - len(concepts)
            if identifiers.lower:
                self.lower += len({read(one) for one in listed if one in identifiers.lower})

    def _malformed(self, row: int, image: str, listed: Sequence[str]) -> InputError:
        for written in listed:
            if (fault := identifier_fault(written.strip())) is not None:
                found = quoted(written.strip()) if written.strip() else "nothing beside a ';'"
                cause = swapped_columns(image, [written])
                advice = None if cause is None else f"The image {quoted(image)} {cause}"
                return self._fault(fault.problem, row, 1, found, fault.expected, advice)
        return self._fault("not an identifier", row, 1, quoted(";".join(listed)), "identifiers")

    def add_all(self, rows: Iterable[tuple[int, str, Sequence[str]]]) -> ConceptRows:
        """All rows of an input.

        Raises:
            InputError: as `add` and `check_columns`; there is no row.
        """
        self.add(rows)
        if not self.sets:
            if self.unit == "row":
                raise self._fault.empty("image", "two columns: image and concepts")
            raise self._fault.empty("image", EXPECTED_CONCEPTS, "a header only")
        self.check_columns()
        return self

    def check_columns(self) -> None:
        """Refuse columns that look swapped.

        Raises:
            InputError: every image that has concepts looks like identifiers, while they do not.
        """
        first = None
        for (image, concepts), row in zip(self.sets.items(), self.places, strict=True):
            if concepts:
                if (cause := swapped_columns(image, concepts)) is None:
                    return
                first = first or (row, image, cause)
        if first is not None:
            row, image, cause = first
            raise self._fault(
                f"the image {cause}", row, 0, quoted(image), "the name of an image, and behind it its concepts"
            )


def check_image(image: str, row: int, earlier: int | None, fault: RowFault, concepts: Collection[str] = ()) -> None:
    """Refuse an image without a name, or with one that an earlier row has.

    Args:
        image: its name. row: where it stands. earlier: where it stood already, if anywhere.
        fault: makes the error. concepts: what stands beside it.

    Raises:
        InputError: names the row.
    """
    if not image:
        raise fault("the image is missing", row, 0, "nothing", "an identifier")
    if earlier is not None:
        cause = swapped_columns(image, concepts)
        raise fault(
            "an image stands twice", row, 0, f"{quoted(image)}, as in {fault.unit} {earlier:,}", "each image once",
            None if cause is None else f"It {cause}",
        )  # fmt: skip


def separated(concepts: str | None) -> Sequence[str]:
    """The parts of ``C1;C2``; none of an empty text, or a missing one."""
    return concepts.split(";") if concepts and not concepts.isspace() else ()


@dataclass(frozen=True, eq=False)
class ConceptRecords:
    """Images and the concepts of each, as an input lists them.

    Attributes:
        rows: number, image and concepts. fault: makes the error about a row.
        source: name of the file, or type of the object. form: compression, form and columns, where not plain CSV.
        header: in CSV the record with names of columns; empty without. concept_name: the name of the concepts' column.
        line: of that record.
    """

    rows: Iterable[tuple[int, str, Sequence[str]]]
    fault: RowFault
    source: str
    form: str
    header: str | None = None
    concept_name: str = ""
    line: int | None = None

    def no_header(self) -> InputError:
        """The error about data in place of the header."""
        return InputError(
            "the header is missing", file=self.source, line=self.line, found=quoted(self.header or ""),
            expected="two column names, such as ID,CUIs",
            advice="Without a header the first image would be lost: add one.",
        )  # fmt: skip


def concept_records(
    given: object,
    columns: Columns,
    is_header: Callable[[Sequence[str]], bool] | None = None,
    parts: Callable[[str | None], Sequence[str]] | None = None,
    text: tuple[str, Iterator[str]] | None = None,
) -> ConceptRecords:
    """Images and concepts of CSV, JSON Lines, ROCO's tabs without a header, a Parquet or Arrow file, or an object.

    Args:
        given: an open file, or an object with ``__arrow_c_stream__``. columns: those of images and concepts.
        is_header: recognises the header of CSV of two columns, which may then lack it.
        parts: splits the concepts of CSV, in place of `separated`; gets ``None`` of a line without them.
        text: the first line of a text and all its lines, where these were looked at already.

    Raises:
        InputError: names the line or row, and the column.
    """
    if isinstance(given, InputFile) and given.form != "table":
        text = text or first_line(decoded_lines(given))
        names = [name.strip().lower() for name in text[0].split("\t")]
        hub = len(names) > 2 and not set(IMAGE_NAMES).isdisjoint(names)
        if delimiter_of(text[0]) == "\t" and not (columns.named or hub or text[0].lstrip().startswith("{")):
            form = ", ".join(filter(None, (given.compression, "tabs")))
            return ConceptRecords(_tab_rows(text[1]), RowFault(given.name), given.name, form)
    records = Records.of(given, EXPECTED_CONCEPTS, text)
    in_csv = records.table is None and not records.in_json
    if in_csv and not records.names:
        raise InputError("the file is empty", file=records.source, expected=f"a header and {EXPECTED_CONCEPTS}")
    header = records.delimiter.join(records.names).strip()
    if in_csv and is_header is not None and len(records.names) <= 2 and not columns.named:
        if is_header(records.names):
            records = dataclasses.replace(records, names=(*records.names, "")[:2])
        else:
            header, records = "", records.without_header(("image", "concepts"))
    chosen = columns.choose(records)
    fault = records.row_fault((chosen.first, chosen.second))
    form = ", ".join(filter(None, (records.form, chosen.account)))
    if records.table is not None:
        return ConceptRecords(_table_rows(records.table, chosen), fault, records.source, form)
    if records.in_json:
        return ConceptRecords(_json_rows(records.rows(), chosen, fault), fault, records.source, form)
    rows = _csv_rows(records, chosen, parts)
    name = records.names[chosen.second].strip()
    found = ConceptRecords(rows, fault, records.source, form, header, name, records.line)
    if is_header is None and (not name or ";" in name or looks_like_identifier(name)):
        raise found.no_header()
    return found


def read_concepts(given: object, columns: Columns, text: tuple[str, Iterator[str]] | None = None) -> ConceptRows:
    """Images and concepts of an open file, or of an object with ``__arrow_c_stream__``, checked.

    Args:
        given, columns, text: as in `concept_records`.

    Raises:
        InputError: names the line or row, and the column.
    """
    found = concept_records(given, columns, text=text)
    rows = ConceptRows(found.fault, found.source, found.form).add_all(found.rows)
    if found.concept_name and any(found.concept_name in concepts for concepts in rows.sets.values()):
        raise found.no_header()
    return rows


def _csv_rows(
    records: Records, chosen: ChosenColumns, parts: Callable[[str | None], Sequence[str]] | None
) -> Iterator[tuple[int, str, Sequence[str]]]:
    width, first, second, split = len(records.names), chosen.first, chosen.second, parts or separated
    for line, fields in records.rest:
        if parts is not None and len(fields) < width:
            fields = [*fields, *[None] * (width - len(fields))]
        if len(fields) != width:
            raise records.wrong_width(line, fields, EXPECTED_CONCEPTS if width == 2 else None)
        yield line, fields[first].strip(), split(fields[second])


def _table_rows(table: ArrowTable, chosen: ChosenColumns) -> Iterator[tuple[int, str, Sequence[str]]]:
    for first, batch in table.batches():
        names, codes = table.texts(first, batch, chosen.first)
        lists = table.lists(first, batch, chosen.second)
        for row, (code, listed) in enumerate(zip(codes.tolist(), lists, strict=True), start=first):
            yield row, names[code].strip(), () if listed is None else [concept or "" for concept in listed]


def _tab_rows(lines: Iterator[str]) -> Iterator[tuple[int, str, Sequence[str]]]:
    """The rows in ROCO's first form: the image, one tab or two, then concepts, separated by tabs or ``;``."""
    for line, text in enumerate(lines, start=1):
        image, *fields = (field.strip() for field in text.split("\t"))
        concepts = [field for field in fields if field]
        if not text.strip() or (line == 1 and concepts and not any(map(str.isdigit, "".join(concepts)))):
            continue  # an empty line, or a header: names of columns hold no digit, identifiers do
        yield line, image, [part for field in concepts for part in field.split(";")]


def _json_rows(
    rows: Iterable[tuple[int, Sequence[Any]]], chosen: ChosenColumns, fault: RowFault
) -> Iterator[tuple[int, str, Sequence[str]]]:
    for line, values in rows:
        image, listed = values[chosen.first], values[chosen.second]
        if not isinstance(image, str):
            raise fault("not the name of an image", line, 0, quoted(repr(image)), "a text")
        if isinstance(listed, list) and all(isinstance(concept, str) for concept in listed):
            yield line, image.strip(), listed
        elif listed is None or isinstance(listed, str):
            yield line, image.strip(), separated(listed)
        else:
            raise fault("not the concepts of an image", line, 1, quoted(repr(listed)), "'C1;C2', or a list of texts")


def concepts_of_pairs(pairs: Iterable[tuple[object, object]], source: str) -> ConceptRows:
    """Images and concepts that a program holds: texts such as ``C1;C2``, or collections of identifiers.

    Raises:
        InputError: names the row.
    """
    rows = ConceptRows(RowFault(None, ("image", "concepts"), "row"), source)
    for row, (image, concepts) in enumerate(pairs, start=1):
        if not isinstance(image, str) or not image:
            raise InputError("not the name of an image", found=repr(image), expected="a text that is not empty")
        rows.add([(row, image, _listed(concepts, image))])
    rows.check_columns()
    return rows


def _listed(concepts: object, image: str) -> Sequence[str]:
    if isinstance(concepts, str):
        return separated(concepts)
    if isinstance(concepts, Iterable):
        listed = list(concepts)
        if all(isinstance(concept, str) for concept in listed):
            return listed
    raise InputError(
        f"not the concepts of an image, {quoted(image)}", found=quoted(repr(concepts)),
        expected="'C1;C2', or a collection of identifiers",
    )  # fmt: skip
