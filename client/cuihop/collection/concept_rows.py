"""Rows of images and concepts from every form of input, with one set of checks."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Protocol

from cuihop.collection.columns import ChosenColumns, Columns
from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable
from cuihop.files.input_file import InputFile
from cuihop.files.likely_causes import cause_of_columns, swapped_columns
from cuihop.files.text_lines import (
    DELIMITERS,
    csv_records,
    decoded_lines,
    delimiter_of,
    first_line,
    json_records,
    quoted,
)
from cuihop.identifiers import identifier_fault, in_upper_case, looks_like_identifier

__all__ = [
    "ConceptRows",
    "Identifiers",
    "RowFault",
    "check_image",
    "concepts_of_pairs",
    "concepts_of_table",
    "concepts_of_text",
    "fault_in_file",
    "fault_in_table",
    "separated",
]

_EXPECTED = "two columns separated by a comma: image and concepts, the concepts separated by ';'"


class RowFault(Protocol):
    """An error about a row: the problem, the row's number, the place of the column, found, expected, advice."""

    def __call__(
        self, problem: str, row: int, column: int, found: str, expected: str, advice: str | None = None
    ) -> InputError:
        """The error."""
        ...


def fault_in_file(file: str, columns: Sequence[int | str] = (1, 2)) -> RowFault:
    """Errors about rows that are lines of a text file.

    Args:
        file: its name. columns: numbers, from 1, or names of the columns of images and concepts.
    """

    def fault(problem: str, row: int, column: int, found: str, expected: str, advice: str | None = None) -> InputError:
        return InputError(
            problem, file=file, line=row, column=columns[column], found=found, expected=expected, advice=advice
        )

    return fault


def fault_in_table(table: ArrowTable, places: Sequence[int] = (0, 1)) -> RowFault:
    """Errors about rows of a table, whose columns of images and concepts stand at these places."""

    def fault(problem: str, row: int, column: int, found: str, expected: str, advice: str | None = None) -> InputError:
        return table.problem(problem, row, places[column], found, expected, advice)

    return fault


def _fault_in_memory(
    problem: str, row: int, column: int, found: str, expected: str, advice: str | None = None
) -> InputError:
    where = f"{'concepts' if column else 'image'}, row {row:,}"
    return InputError(problem, column=where, found=found, expected=expected, advice=advice)


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
        fault: makes the error about a row. unit: line or row. source: name of the file, or type of the object.

    Attributes:
        sets: image → concepts. places: the number of each image's row. repeated: concepts that stood again in the list
            of an image. lower: concepts in lower case, each counted in every image that has it.
        form: how the input was read, where that is no plain CSV of two columns.
    """

    def __init__(self, fault: RowFault, unit: str, source: str, form: str = "") -> None:
        self._fault = fault
        self.unit, self.source, self.form = unit, source, form
        self.sets: dict[str, frozenset[str]] = {}
        self.places = array("q")
        self.repeated = self.lower = 0
        self._identifiers = Identifiers()

    def add(self, rows: Iterable[tuple[int, str, Sequence[str]]]) -> None:
        """The next rows: number, image and concepts.

        Raises:
            InputError: an image is missing or stands twice, or one of its concepts is malformed.
        """
        sets, places, identifiers = self.sets, self.places, self._identifiers
        read = identifiers.__getitem__
        for row, image, listed in rows:
            try:
                concepts = frozenset(map(read, listed))
            except KeyError:
                raise self._malformed(row, image, listed) from None
            if not image or image in sets:
                earlier = places[list(sets).index(image)] if image in sets else None
                check_image(image, row, earlier, self._fault, self.unit, concepts)
            sets[image] = concepts
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

    def add_all(self, rows: Iterable[tuple[int, str, Sequence[str]]], expected: str = _EXPECTED) -> ConceptRows:
        """All rows of an input.

        Raises:
            InputError: as `add` and `check_columns`; there is no row.
        """
        self.add(rows)
        if not self.sets:
            found = "a header only" if self.unit == "line" else None
            holder = "file" if self.unit == "line" else "table"
            raise InputError(f"the {holder} holds no image", file=self.source, found=found, expected=expected)
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


def check_image(
    image: str, row: int, earlier: int | None, fault: RowFault, unit: str, concepts: Collection[str] = ()
) -> None:
    """Refuse an image without a name, or with one that an earlier row has.

    Args:
        image: its name. row: where it stands. earlier: where it stood already, if anywhere.
        fault, unit: as in `ConceptRows`. concepts: what stands beside it.

    Raises:
        InputError: names the row.
    """
    if not image:
        raise fault("the image is missing", row, 0, "nothing", "an identifier")
    if earlier is not None:
        cause = swapped_columns(image, concepts)
        raise fault(
            "an image stands twice", row, 0, f"{quoted(image)}, as in {unit} {earlier:,}", "each image once",
            None if cause is None else f"It {cause}",
        )  # fmt: skip


def separated(concepts: str) -> Sequence[str]:
    """The parts of ``C1;C2``; none of an empty text."""
    return concepts.split(";") if concepts and not concepts.isspace() else ()


def concepts_of_text(file: InputFile, columns: Columns) -> ConceptRows:
    """Images and concepts of CSV with a header, of JSON Lines, or of ROCO's tabs without a header.

    Raises:
        InputError: names the line and the column.
    """
    first, lines = first_line(decoded_lines(file))
    if first.lstrip().startswith("{"):
        return _of_json(file, lines, columns)
    delimiter = delimiter_of(first)
    names = [name.strip().lower() for name in first.split("\t")]
    if delimiter == "\t" and columns == Columns() and not ({"id", "image_id", "image"} & {*names} and len(names) > 2):
        form = ", ".join(filter(None, (file.compression, "tabs")))
        return ConceptRows(fault_in_file(file.name), "line", file.name, form).add_all(_tab_rows(lines))
    return _of_csv(file, lines, delimiter, columns)


def _of_csv(file: InputFile, lines: Iterator[str], delimiter: str, columns: Columns) -> ConceptRows:
    records = csv_records(lines, file.name, _EXPECTED, delimiter)
    line, header = next(records, (0, None))
    if header is None:
        raise InputError("the file is empty", file=file.name, expected=f"a header and {_EXPECTED}")

    def fault(problem: str, found: str, expected: str, advice: str | None) -> InputError:
        plain = columns == Columns() and problem == "wrong number of columns"
        return InputError(
            problem, file=file.name, line=line, found=found, expected=_EXPECTED if plain else expected, advice=advice
        )

    chosen = columns.choose(header, fault, delimiter=delimiter)
    name = header[chosen.concepts].strip()
    if not name or ";" in name or looks_like_identifier(name):
        raise _no_header(header, file.name, line)
    form = ", ".join(filter(None, (file.compression, DELIMITERS[delimiter], chosen.account)))
    rows = ConceptRows(
        fault_in_file(file.name, (chosen.image + 1, chosen.concepts + 1)), "line", file.name, form
    ).add_all(_csv_rows(records, chosen, file.name, delimiter))  # fmt: skip
    if any(name in concepts for concepts in rows.sets.values()):
        raise _no_header(header, file.name, line)
    return rows


def _csv_rows(
    records: Iterator[tuple[int, list[str]]], chosen: ChosenColumns, file: str, delimiter: str
) -> Iterator[tuple[int, str, Sequence[str]]]:
    width, image, concepts = len(chosen.names), chosen.image, chosen.concepts
    for line, fields in records:
        if len(fields) != width:
            advice = cause_of_columns(fields, width, delimiter)
            if delimiter == ";" and len(fields) > width:
                advice = "The columns look separated by ';' as the concepts are: quote the concepts, as in \"C1;C2\"."
            raise InputError(
                "wrong number of columns", file=file, line=line,
                found=f"{len(fields)} in {quoted(delimiter.join(fields))}",
                expected=_EXPECTED if width == 2 else f"{width}, as in the header", advice=advice,
            )  # fmt: skip
        yield line, fields[image].strip(), separated(fields[concepts])


def _tab_rows(lines: Iterator[str]) -> Iterator[tuple[int, str, Sequence[str]]]:
    """The rows in ROCO's first form: the image, one tab or two, then concepts, separated by tabs or ``;``."""
    for line, text in enumerate(lines, start=1):
        image, *fields = (field.strip() for field in text.split("\t"))
        concepts = [field for field in fields if field]
        if not text.strip() or (line == 1 and concepts and not any(map(str.isdigit, "".join(concepts)))):
            continue  # an empty line, or a header: names of columns hold no digit, identifiers do
        yield line, image, [part for field in concepts for part in field.split(";")]


def _of_json(file: InputFile, lines: Iterator[str], columns: Columns) -> ConceptRows:
    records = json_records(enumerate(lines, start=1), file.name)
    first, record = next(records)

    def fault(problem: str, found: str, expected: str, advice: str | None) -> InputError:
        return InputError(problem, file=file.name, line=first, found=found, expected=expected, advice=advice)

    chosen = columns.choose(tuple(record), fault, by_name=True)
    keys = chosen.names[chosen.image], chosen.names[chosen.concepts]
    row_fault = fault_in_file(file.name, keys)

    def rows() -> Iterator[tuple[int, str, Sequence[str]]]:
        for line, row in chain([(first, record)], records):
            for place, key in enumerate(keys):
                if key not in row:
                    raise row_fault(
                        "a value is missing", line, place, "no such key", f"the key {key}, as in the first line"
                    )
            image, listed = row[keys[0]], row[keys[1]]
            if not isinstance(image, str):
                raise row_fault("not the name of an image", line, 0, quoted(repr(image)), "a text")
            if isinstance(listed, list) and all(isinstance(concept, str) for concept in listed):
                yield line, image.strip(), listed
            elif listed is None or isinstance(listed, str):
                yield line, image.strip(), separated(listed or "")
            else:
                raise row_fault(
                    "not the concepts of an image", line, 1, quoted(repr(listed)), "'C1;C2', or a list of texts"
                )

    form = ", ".join(filter(None, (file.compression, "JSON Lines", chosen.account)))
    return ConceptRows(row_fault, "line", file.name, form).add_all(rows())


def _no_header(fields: list[str], file: str, line: int) -> InputError:
    return InputError(
        "the header is missing", file=file, line=line, found=quoted(",".join(fields)),
        expected="two column names, such as ID,CUIs",
        advice="Without a header the first image would be lost: add one.",
    )  # fmt: skip


def concepts_of_table(table: ArrowTable, columns: Columns) -> ConceptRows:
    """Images and concepts of a Parquet or Arrow file, or of a table in memory; a missing value is no concept.

    Raises:
        InputError: names the row and the column.
    """

    def fault(problem: str, found: str, expected: str, advice: str | None) -> InputError:
        return InputError(problem, file=table.source, found=found, expected=expected, advice=advice)

    chosen = columns.choose(table.names, fault)

    def rows() -> Iterator[tuple[int, str, Sequence[str]]]:
        for first, batch in table.batches():
            names, codes = table.texts(first, batch, chosen.image)
            lists = table.lists(first, batch, chosen.concepts)
            for row, (code, listed) in enumerate(zip(codes.tolist(), lists, strict=True), start=first):
                yield row, names[code].strip(), () if listed is None else [concept or "" for concept in listed]

    form = ", ".join(filter(None, (table.form, chosen.account)))
    row_fault = fault_in_table(table, (chosen.image, chosen.concepts))
    return ConceptRows(row_fault, "row", table.source, form).add_all(rows(), "two columns: image and concepts")


def concepts_of_pairs(pairs: Iterable[tuple[object, object]], source: str) -> ConceptRows:
    """Images and concepts that a program holds: texts such as ``C1;C2``, or collections of identifiers.

    Raises:
        InputError: names the row.
    """
    rows = ConceptRows(_fault_in_memory, "row", source)
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
