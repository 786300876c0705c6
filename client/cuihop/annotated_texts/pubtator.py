"""PubTator: title, abstract and mentions of each document, in lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cuihop.annotated_texts.documents import AnnotatedDocument, DocumentRows, GoldMention, checked_offset, same_text
from cuihop.errors import InputError
from cuihop.files.input_file import InputFile
from cuihop.files.records import RowErrors
from cuihop.files.text_lines import joined, quoted

_TITLE = re.compile(r"([^|\t]+)\|t\|(.*)", re.DOTALL)
_ABSTRACT = re.compile(r"([^|\t]+)\|a\|(.*)", re.DOTALL)
_SEPARATORS = re.compile(r"[|+;,]")
_MENTION = "identifier, start, end, text, type and concept, separated by tabs"
_LEAST, _COLUMN_OF_CONCEPTS = 5, 5
_RELATION = 4
_NO_CONCEPT = frozenset({"", "-", "-1"})


def is_pubtator(line: str) -> bool:
    """Recognise the first line of a document."""
    return _TITLE.fullmatch(line.rstrip("\r\n")) is not None


def separated_identifiers(text: str) -> tuple[str, ...]:
    """The identifiers that a field joins by ``|``, ``+``, ``;`` or ``,``, without white space; ``-`` is none.

    >>> separated_identifiers(" D001943|D010051")
    ('D001943', 'D010051')
    """
    fields = (field.strip() for field in _SEPARATORS.split(text))
    return tuple(dict.fromkeys(field for field in fields if field not in _NO_CONCEPT))


def pubtator_rows(file: InputFile, lines: Iterable[str]) -> DocumentRows:
    """Documents of a file. The text is the title, a line feed and the abstract; the title alone without an abstract.

    Raises:
        InputError: when it is read: names the line.
    """
    form = joined(file.compression, "PubTator")
    rows = _documents(RowErrors(file.name, range(1, 1 + _COLUMN_OF_CONCEPTS)), lines)
    return DocumentRows(file.name, form, rows, RowErrors(file.name, ("identifier", "text")))


def _documents(error: RowErrors, lines: Iterable[str]) -> Iterator[tuple[int, AnnotatedDocument]]:
    begun: tuple[int, str] | None = None
    text, mentions = "", list[GoldMention]()
    for line, raw in enumerate(lines, start=1):
        content = raw.rstrip("\r\n")
        if (title := _TITLE.fullmatch(content)) is not None:
            if begun is not None:
                yield begun[0], AnnotatedDocument(begun[1], text, tuple(mentions))
            begun, text, mentions = (line, title[1].strip()), title[2], []
        elif not content.strip():
            continue
        elif begun is None:
            raise InputError(
                "a line before the title of its document", file=error.source, line=line, found=quoted(content),
                expected="IDENTIFIER|t|TITLE",
            )  # fmt: skip
        elif (abstract := _ABSTRACT.fullmatch(content)) is not None:
            _check_document(abstract[1], begun[1], error, line)
            text = f"{text}\n{abstract[2]}" if abstract[2] else text
        elif (mention := _mention(content.split("\t"), begun[1], text, error, line)) is not None:
            mentions.append(mention)
    if begun is not None:
        yield begun[0], AnnotatedDocument(begun[1], text, tuple(mentions))


def _mention(fields: list[str], identifier: str, text: str, error: RowErrors, line: int) -> GoldMention | None:
    """The mention in a line; ``None`` for a relation between two concepts."""
    if len(fields) == _RELATION and not fields[1].strip().isdecimal():
        _check_document(fields[0], identifier, error, line)
        return None
    if len(fields) < _LEAST:
        raise InputError(
            "wrong number of columns", file=error.source, line=line,
            found=f"{len(fields)} in {quoted(chr(9).join(fields))}", expected=_MENTION,
        )  # fmt: skip
    _check_document(fields[0], identifier, error, line)
    start, end = (checked_offset(fields[column], line, column, error) for column in (1, 2))
    characters = text[start:end]
    if not (start < end <= len(text) and same_text(fields[3], characters)):
        raise error(
            "the text of a mention is not at its place", line, 3,
            f"{quoted(fields[3])}, and in the document {quoted(characters)}",
            f"the characters {start:,} to {end:,} of title, line feed and abstract",
            "Offsets count characters (code points) from 0.",
        )  # fmt: skip
    cuis = separated_identifiers(fields[_COLUMN_OF_CONCEPTS]) if len(fields) > _COLUMN_OF_CONCEPTS else ()
    return GoldMention(start, end, characters, cuis, fields[4].strip() or None)


def _check_document(stated: str, expected: str, error: RowErrors, line: int) -> None:
    if stated.strip() != expected:
        above = f"{quoted(expected)}, whose title stands above"
        raise error("a line of another document", line, 0, quoted(stated.strip()), above)
