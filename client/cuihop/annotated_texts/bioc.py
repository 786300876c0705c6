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
from cuihop.files.text_lines import joined, quoted

LARGEST_COLLECTION = 1 << 28
"""Most characters of a collection, which is held in memory."""

_DOCUMENTS = ("documents", "PubTator3")
_COLLECTION = re.compile(r'\{.*"(documents|PubTator3)"\s*:\s*\[', re.DOTALL)
_CONCEPTS = ("identifier", "cui", "umls", "umls_cui", "concept_id", "mesh")
"""Keys of the infons of an annotation that hold its concept, in lower case, the first that is there."""


def is_bioc(head: str) -> bool:
    """Recognise a collection by its first characters."""
    return _COLLECTION.match(head.lstrip("\ufeff \t\r\n")) is not None


def bioc_rows(file: InputFile, lines: Iterable[str]) -> DocumentRows:
    """Documents of a collection. Offsets are those of the file; blanks fill what lies between two passages.

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
        collection = json.loads("".join(content))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", file=file.name, expected="a BioC collection") from None
    key = next((key for key in _DOCUMENTS if isinstance(collection, dict) and key in collection), None)
    reader = _Reader(file.name)
    if key is None:
        raise reader.error("not a BioC collection", "documents", collection, "an object with a list of documents")

    def row_error(
        problem: str, row: int, column: int, content: str, expected: str, hint: str | None = None
    ) -> InputError:
        field = f"field {key}[{row - 1}]{'.id' if column == 0 else ''}"
        return InputError(problem, file=file.name, column=field, found=content, expected=expected, advice=hint)

    form = joined(file.compression, "BioC JSON")
    return DocumentRows(file.name, form, reader.documents(collection[key], key), row_error, "document")


class _Reader:
    """Documents from the values of JSON; every error names its field."""

    def __init__(self, source: str) -> None:
        self._source = source

    def error(self, problem: str, field: str, value: object, expected: str, hint: str | None = None) -> InputError:
        as_text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:200]
        return InputError(
            problem, file=self._source, column=f"field {field}", found=quoted(as_text), expected=expected, advice=hint
        )

    def documents(self, items: object, key: str) -> Iterator[tuple[int, AnnotatedDocument]]:
        for number, item in enumerate(self._list(items, key), start=1):
            field = f"{key}[{number - 1}]"
            document = self._object(item, field)
            identifier = document.get("id")
            if isinstance(identifier, int) and not isinstance(identifier, bool):
                identifier = str(identifier)
            if not isinstance(identifier, str):
                raise self.error("not an identifier", f"{field}.id", identifier, "a text")
            yield number, self._document(identifier.strip(), document, field)

    def _document(self, identifier: str, document: Mapping[str, Any], field: str) -> AnnotatedDocument:
        text, annotations = "", list[tuple[str, object]]()
        for passage, where in self._passages(document, field):
            content = passage.get("text") or ""
            if not isinstance(content, str):
                raise self.error("not a text", f"{where}.text", content, "a text")
            begin = self._number(passage.get("offset"), f"{where}.offset")
            if begin < len(text):
                raise self.error(
                    "a passage begins within the one before", f"{where}.offset", begin, f"{len(text):,} or more",
                    "Offsets count characters (code points) of the document.",
                )  # fmt: skip
            text = text.ljust(begin) + content
            for n, annotation in enumerate(self._list(passage.get("annotations") or [], f"{where}.annotations")):
                annotations.append((f"{where}.annotations[{n}]", annotation))
        mentions = tuple(self._mention(self._object(item, where), text, where) for where, item in annotations)
        return AnnotatedDocument(identifier, text, mentions)

    def _passages(self, document: Mapping[str, Any], field: str) -> Iterator[tuple[Mapping[str, Any], str]]:
        """The passages, or the sentences of those that hold these instead of a text."""
        for n, item in enumerate(self._list(document.get("passages"), f"{field}.passages")):
            where = f"{field}.passages[{n}]"
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
        spans = []
        for n, item in enumerate(locations):
            location = self._object(item, f"{where}.locations[{n}]")
            start = self._number(location.get("offset"), f"{where}.locations[{n}].offset")
            spans.append((start, start + self._number(location.get("length"), f"{where}.locations[{n}].length")))
        stated = annotation.get("text")
        characters = " ".join(text[start:end] for start, end in spans)
        right = isinstance(stated, str) and same_text(stated, characters)
        if not spans or not right or not all(start < end <= len(text) for start, end in spans):
            raise self.error(
                "the text of a mention is not at its place", f"{where}.text", stated,
                f"{quoted(characters)}, the characters at its locations",
                "Offsets count characters (code points) of the document.",
            )  # fmt: skip
        start, end = min(start for start, _ in spans), max(end for _, end in spans)
        infons = {key.lower(): value for key, value in self._object(annotation.get("infons") or {}, where).items()}
        concept = next((str(infons[key]) for key in _CONCEPTS if infons.get(key) is not None), "")
        kind = infons.get("type")
        cuis = separated_identifiers(concept)
        return GoldMention(start, end, text[start:end], cuis, None if kind is None else str(kind))

    def _list(self, value: object, field: str) -> Sequence[Any]:
        if not isinstance(value, list):
            raise self.error("not a list", field, value, "a list")
        return value

    def _object(self, value: object, field: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.error("not an object", field, value, "an object")
        return value

    def _number(self, value: object, field: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LONGEST_TEXT:
            raise self.error("not a place in the text", field, value, f"a number from 0 to {LONGEST_TEXT:,}")
        return value
