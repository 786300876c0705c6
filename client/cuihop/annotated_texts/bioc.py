"""BioC in JSON: a collection of documents, each in passages with annotations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cuihop.annotated_texts.documents import LONGEST_TEXT, AnnotatedDocument, DocumentRows, GoldMention, same_text
from cuihop.annotated_texts.pubtator import separated_identifiers
from cuihop.errors import InputError
from cuihop.files.input_file import InputFile
from cuihop.files.text_lines import quoted

LARGEST_COLLECTION = 1 << 28
"""Characters of a collection, which is read as a whole."""

_DOCUMENTS = ("documents", "PubTator3")
_COLLECTION = re.compile(r'\{.*"(documents|PubTator3)"\s*:\s*\[', re.DOTALL)
_CONCEPTS = ("identifier", "cui", "umls", "umls_cui", "concept_id", "mesh")
"""Keys of the infons of an annotation that hold its concept, in lower case, the first that is there."""


def is_bioc(head: str) -> bool:
    """Recognise a collection by its first characters."""
    return _COLLECTION.match(head.lstrip("\ufeff \t\r\n")) is not None


def bioc_rows(file: InputFile, lines: Iterable[str]) -> DocumentRows:
    """Documents of a collection. Offsets are those of the file; blanks fill what lies between two passages.

    Args:
        file: the input. lines: all its lines.

    Raises:
        InputError: it is no collection, or too large; or when it is read: names the field.
    """
    content, size = list[str](), 0
    for line in lines:
        content.append(line)
        size += len(line)
        if size > LARGEST_COLLECTION:
            raise InputError(
                "the collection is too large", file=file.name, expected=f"{LARGEST_COLLECTION:,} characters at most",
                advice="Divide it, or write it as JSON Lines.",
            )  # fmt: skip
    try:
        found = json.loads("".join(content))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", file=file.name, expected="a BioC collection") from None
    key = next((key for key in _DOCUMENTS if isinstance(found, dict) and key in found), None)
    reader = _Reader(file.name)
    if key is None:
        raise reader.fault("not a BioC collection", "documents", found, "an object with a list of documents")

    def fault(problem: str, row: int, column: int, found: str, expected: str, advice: str | None = None) -> InputError:
        place = f"field {key}[{row - 1}]{'.id' if column == 0 else ''}"
        return InputError(problem, file=file.name, column=place, found=found, expected=expected, advice=advice)

    form = ", ".join(filter(None, (file.compression, "BioC JSON")))
    return DocumentRows(file.name, form, reader.documents(found[key], key), fault, "document")


class _Reader:
    """Documents from the values of JSON; every error names its field."""

    def __init__(self, source: str) -> None:
        self._source = source

    def fault(self, problem: str, field: str, found: object, expected: str, advice: str | None = None) -> InputError:
        as_text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)[:200]
        return InputError(
            problem, file=self._source, column=f"field {field}", found=quoted(as_text), expected=expected, advice=advice
        )

    def documents(self, given: object, key: str) -> Iterator[tuple[int, AnnotatedDocument]]:
        for number, item in enumerate(self._list(given, key), start=1):
            place = f"{key}[{number - 1}]"
            document = self._object(item, place)
            identifier = document.get("id")
            if isinstance(identifier, int) and not isinstance(identifier, bool):
                identifier = str(identifier)
            if not isinstance(identifier, str):
                raise self.fault("not an identifier", f"{place}.id", identifier, "a text")
            yield number, self._document(identifier.strip(), document, place)

    def _document(self, identifier: str, document: Mapping[str, Any], place: str) -> AnnotatedDocument:
        text, annotations = "", list[tuple[str, object]]()
        for passage, where in self._passages(document, place):
            content = passage.get("text") or ""
            if not isinstance(content, str):
                raise self.fault("not a text", f"{where}.text", content, "a text")
            begin = self._number(passage.get("offset"), f"{where}.offset")
            if begin < len(text):
                raise self.fault(
                    "a passage begins within the one before", f"{where}.offset", begin, f"{len(text):,} or more",
                    "Offsets count characters (code points) of the document.",
                )  # fmt: skip
            text = text.ljust(begin) + content
            for n, annotation in enumerate(self._list(passage.get("annotations") or [], f"{where}.annotations")):
                annotations.append((f"{where}.annotations[{n}]", annotation))
        mentions = tuple(self._mention(self._object(item, where), text, where) for where, item in annotations)
        return AnnotatedDocument(identifier, text, mentions)

    def _passages(self, document: Mapping[str, Any], place: str) -> Iterator[tuple[Mapping[str, Any], str]]:
        """The passages, or the sentences of those that hold these instead of a text."""
        for n, item in enumerate(self._list(document.get("passages"), f"{place}.passages")):
            where = f"{place}.passages[{n}]"
            passage = self._object(item, where)
            sentences = self._list(passage.get("sentences") or [], f"{where}.sentences")
            if passage.get("text") or not sentences:
                yield passage, where
                continue
            for m, sentence in enumerate(sentences):
                yield self._object(sentence, f"{where}.sentences[{m}]"), f"{where}.sentences[{m}]"

    def _mention(self, annotation: Mapping[str, Any], text: str, where: str) -> GoldMention:
        """A mention; one in several parts from the first to the last."""
        locations = self._list(annotation.get("locations"), f"{where}.locations")
        parts = []
        for n, item in enumerate(locations):
            location = self._object(item, f"{where}.locations[{n}]")
            start = self._number(location.get("offset"), f"{where}.locations[{n}].offset")
            parts.append((start, start + self._number(location.get("length"), f"{where}.locations[{n}].length")))
        stated = annotation.get("text")
        found = " ".join(text[start:end] for start, end in parts)
        right = isinstance(stated, str) and same_text(stated, found)
        if not parts or not right or not all(start < end <= len(text) for start, end in parts):
            raise self.fault(
                "the text of a mention is not at its place", f"{where}.text", stated,
                f"{quoted(found)}, the characters at its locations",
                "Offsets count characters (code points) of the document.",
            )  # fmt: skip
        start, end = min(start for start, _ in parts), max(end for _, end in parts)
        infons = {key.lower(): value for key, value in self._object(annotation.get("infons") or {}, where).items()}
        concept = next((str(infons[key]) for key in _CONCEPTS if infons.get(key) is not None), "")
        kind = infons.get("type")
        cuis = separated_identifiers(concept)
        return GoldMention(start, end, text[start:end], cuis, None if kind is None else str(kind))

    def _list(self, value: object, field: str) -> Sequence[Any]:
        if not isinstance(value, list):
            raise self.fault("not a list", field, value, "a list")
        return value

    def _object(self, value: object, field: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.fault("not an object", field, value, "an object")
        return value

    def _number(self, value: object, field: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LONGEST_TEXT:
            raise self.fault("not a place in the text", field, value, f"a number from 0 to {LONGEST_TEXT:,}")
        return value
