"""Mentions in CSV and JSON Lines, and concepts of documents in the form that ``cuihop evaluate`` reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cuihop.annotated_texts.documents import AnnotatedDocument, DocumentRows, GoldMention
from cuihop.annotated_texts.pubtator import separated_identifiers
from cuihop.annotated_texts.text_tables import IDENTIFIER_NAMES
from cuihop.collection.columns import Columns
from cuihop.collection.concept_rows import read_concepts
from cuihop.errors import InputError
from cuihop.files.input_file import InputFile
from cuihop.files.records import Records, RowFault
from cuihop.files.text_lines import json_object, quoted

_CONCEPT_NAMES = ("cui", "cuis", "concept", "concepts")
_EXPECTED = "columns ID, start, end and cui"
_NO_PLACE, _PLACE = "not a place in the text", "a number of characters from 0"


def mention_rows(file: InputFile, text: tuple[str, Iterator[str]] | None) -> DocumentRows:
    """Documents of a table of mentions (``ID,start,end,cui``), or of concepts (``ID,CUIs``).

    Mentions of one document may stand anywhere. JSON Lines hold a mention in each line, or a document with a list
    ``mentions``.

    Args:
        file: the input. text: its first line and all its lines, unless it is Parquet or Arrow.

    Raises:
        InputError: names the line or row, and the column.
    """
    if text is not None:
        first, lines = text
        if first.lstrip().startswith("{"):
            keys = json_object(first, file.name, 1)
            if "mentions" in keys:
                form = ", ".join(filter(None, (file.compression, "documents in JSON Lines")))
                fault = RowFault(file.name, ("id", "text"))
                return DocumentRows(file.name, form, _documents_in_json(file.name, lines), fault)
            spans = {"start", "end"} <= {key.lower() for key in keys}
        else:
            spans = {"start", "end"} <= {name.strip(' "\r\n').lower() for name in first.replace("\t", ",").split(",")}
        if spans:
            return _spans(Records.of(file, _EXPECTED, text))
    found = read_concepts(file, Columns(), text)
    rows = (
        (row, AnnotatedDocument(name, None, tuple(GoldMention(-1, -1, None, (cui,)) for cui in sorted(cuis))))
        for (name, cuis), row in zip(found.sets.items(), found.places, strict=True)
    )
    form = ", ".join(filter(None, (found.form, "concepts of documents")))
    return DocumentRows(found.source, form, rows, RowFault(found.source, unit=found.unit), found.unit)


def _spans(records: Records) -> DocumentRows:
    """Mentions in rows, gathered by document in the order of their first mention."""
    places = [_place_of(records, names) for names in (IDENTIFIER_NAMES, ("start",), ("end",), _CONCEPT_NAMES)]
    others = [_place_among(records, (name,)) for name in ("text", "type")]
    fault = records.row_fault(places)
    found: dict[str, tuple[int, list[GoldMention]]] = {}
    for row, fields in records.rows():
        identifier, start, end, concepts = (fields[place] for place in places)
        text, kind = (None if place is None else fields[place] for place in others)
        if isinstance(identifier, int) and not isinstance(identifier, bool):
            identifier = str(identifier)
        for column, value in ((0, identifier), (3, concepts)):
            if not isinstance(value, str):
                raise fault("not a text", row, column, quoted(repr(value)), "a text")
        begin, stop = _offset(start, row, 1, fault), _offset(end, row, 2, fault)
        if begin >= stop:
            raise fault("a mention without characters", row, 2, quoted(str(stop)), f"more than {begin:,}, its start")
        mention = GoldMention(
            begin, stop, text if isinstance(text, str) else None, separated_identifiers(concepts),
            kind if isinstance(kind, str) and kind else None,
        )  # fmt: skip
        found.setdefault(identifier.strip(), (row, []))[1].append(mention)
    rows = ((row, AnnotatedDocument(name, None, tuple(mentions))) for name, (row, mentions) in found.items())
    form = ", ".join(filter(None, (records.form, "a mention in each row")))
    return DocumentRows(records.source, form, rows, fault, records.unit)


def _place_among(records: Records, wanted: Sequence[str]) -> int | None:
    names = [name.strip().lower() for name in records.names]
    return next((names.index(name) for name in wanted if name in names), None)


def _place_of(records: Records, wanted: Sequence[str]) -> int:
    place = _place_among(records, wanted)
    if place is None:
        raise records.fault("no such column", quoted(", ".join(records.names)), f"one column named {wanted[0]}")
    return place


def _offset(value: object, row: int, column: int, fault: RowFault) -> int:
    text = value.strip() if isinstance(value, str) else str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise fault(_NO_PLACE, row, column, quoted(text), _PLACE)
    return int(text)


def _documents_in_json(file: str, lines: Iterator[str]) -> Iterator[tuple[int, AnnotatedDocument]]:
    for line, content in enumerate(lines, start=1):
        if not content.strip():
            continue
        found = json_object(content, file, line)
        identifier, text, mentions = found.get("id"), found.get("text"), found.get("mentions")
        for name, value, right in (
            ("id", identifier, isinstance(identifier, str)),
            ("text", text, isinstance(text, str | None)),
            ("mentions", mentions, isinstance(mentions, list)),
        ):
            if not right:
                expected = "a list of objects" if name == "mentions" else "a text"
                raise InputError(
                    "not as expected", file=file, line=line, column=f"field {name}", found=quoted(repr(value)),
                    expected=expected,
                )  # fmt: skip
        read = tuple(_mention(item, n, text, file, line) for n, item in enumerate(mentions or ()))
        yield line, AnnotatedDocument(str(identifier).strip(), text, read)


def _mention(item: Any, number: int, text: str | None, file: str, line: int) -> GoldMention:
    def fault(problem: str, column: str, found: str, expected: str) -> InputError:
        place = f"field mentions[{number}]{column}"
        return InputError(problem, file=file, line=line, column=place, found=found, expected=expected)

    if not isinstance(item, Mapping):
        raise fault("not an object", "", quoted(repr(item)), "an object")

    def offset(name: str) -> int:
        value = item.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 10**9:
            raise fault(_NO_PLACE, f".{name}", quoted(repr(value)), _PLACE)
        return value

    start, end = offset("start"), offset("end")
    stated, concepts = item.get("text"), item.get("cuis", item.get("cui"))
    listed = concepts if isinstance(concepts, list) else [] if concepts is None else [concepts]
    if not all(isinstance(cui, str) for cui in listed):
        raise fault("not concepts", ".cui", quoted(repr(concepts)), "a text, or a list of texts")
    kind = item.get("type")
    if start >= end or (text is not None and (end > len(text) or (stated is not None and text[start:end] != stated))):
        here = "" if text is None else f", and in the document {quoted(text[start:end])}"
        raise fault(
            "the text of a mention is not at its place", ".text", f"{quoted(repr(stated))}{here}",
            "the characters from start to end",
        )  # fmt: skip
    return GoldMention(
        start, end, stated, tuple(cui for joined in listed for cui in separated_identifiers(joined)), kind
    )
