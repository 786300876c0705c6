"""XML files of terms: elements one by one, without the tree in memory, or a check before another parser reads them."""

from __future__ import annotations

import io
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple, NoReturn
from xml.parsers import expat

from cuihop.errors import InputError
from cuihop_loader.streams import BLOCK_BYTES, BrokenStream, byte_stream
from cuihop_loader.term_files import TermFile

DEEPEST = 500
"""Elements within elements."""

LONGEST_ENTITY = 256
"""Characters of an entity, which may not hold other entities; Protégé declares prefixes of IRIs in this way."""

LONGEST_TEXT = 16 << 20
"""Bytes of a tag, or of the text up to the next: a parser holds it in memory."""

_SIMPLE = "entities of the file's own with plain text"


@contextmanager
def _worded(file: str, parser: expat.XMLParserType, expected: str, advice: str) -> Iterator[None]:
    """Errors of the parser, and of Python's codec for a declared encoding, as an `InputError`."""
    try:
        yield
    except expat.ExpatError as error:
        raise InputError(
            "not well-formed XML", file=file, line=error.lineno, column=error.offset + 1,
            found=expat.errors.messages[error.code], expected=expected, advice=advice,
        ) from None  # fmt: skip
    except (LookupError, ValueError) as error:
        raise InputError(
            "an encoding that cannot be read", file=file, line=parser.CurrentLineNumber,
            column=parser.CurrentColumnNumber + 1, found=str(error), expected="UTF-8",
        ) from None  # fmt: skip


class CheckedXml(io.RawIOBase):
    """The bytes of an XML file, each checked before another parser sees it."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        self._source = source
        self._name = name
        self._depth = 0
        self._fed = self._last_tag = 0
        self._ended = False
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._entity

    def readable(self) -> bool:
        """See `io.IOBase`."""
        return True

    def readinto(self, into: Any) -> int:
        """See `io.RawIOBase`.

        Raises:
            InputError: the file is not well-formed, ends early, is too deep, has a tag or text that is too
                long, or declares an unsuitable entity.
        """
        data = self._source.read(len(into))
        if not self._ended:
            self._ended = not data
            with _worded(self._name, self._parser, "a whole XML file", "Download it again"):
                self._parser.Parse(data, self._ended)
            self._fed += len(data)
            if self._fed - self._last_tag > LONGEST_TEXT:
                raise self._refused("a tag or text without end", f"more than {LONGEST_TEXT:,} bytes", "shorter ones")
        into[: len(data)] = data
        return len(data)

    def _begin(self, name: str, _: Any) -> None:
        self._last_tag = self._parser.CurrentByteIndex
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._refused("elements within elements", repr(name), f"{DEEPEST} levels at most")

    def _end(self, _: str) -> None:
        self._last_tag = self._parser.CurrentByteIndex
        self._depth -= 1

    def _entity(self, name: str, is_parameter: bool, value: str | None, *_: Any) -> None:
        if is_parameter or value is None:
            raise self._refused("an entity from elsewhere", repr(name), _SIMPLE)
        if "&" in value:
            raise self._refused("an entity of other entities, which can expand without bound", repr(name), _SIMPLE)
        if len(value) > LONGEST_ENTITY:
            raise self._refused("a long entity", repr(name), f"{LONGEST_ENTITY} characters at most")

    def _refused(self, problem: str, actual: str, expected: str) -> InputError:
        return InputError(
            problem, file=self._name, line=self._parser.CurrentLineNumber,
            column=self._parser.CurrentColumnNumber + 1, found=actual, expected=expected,
        )  # fmt: skip


_DEEPEST = 64
_NO_ENTITIES = "text without entities of its own"


class Element(NamedTuple):
    """The beginning or end of an element.

    Attributes:
        name: with its prefix.
        attributes: ``None`` at the end of the element.
        line, column: of its first character, from 1.
        depth: number of elements around it, itself included.
        text: at the end of an element, its characters after the last element inside.
    """

    name: str
    attributes: Mapping[str, str] | None
    line: int
    column: int
    depth: int
    text: str


class XmlTermFile(TermFile):
    """The part that formats in XML share of a `cuihop_loader.term_files.TermFile`."""

    def elements(self, names: Container[str] | None = None) -> Iterator[Element]:
        """Beginnings and ends of all elements, or of those of some names.

        A document type is accepted, entities of the file's own are not.

        Raises:
            InputError: the file cannot be read, is not well-formed, declares or uses an entity, is nested deeper than
                64 elements, or has a tag or text of more than 16 MB.
        """
        elements: list[Element] = []
        parser = expat.ParserCreate()
        parser.buffer_text = True

        texts: list[str] = []
        depth = 0

        def refuse(problem: str, actual: str, expected: str) -> NoReturn:
            line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
            raise InputError(problem, file=str(self.file), line=line, column=column, found=actual, expected=expected)

        def add(name: str, attributes: Mapping[str, str] | None) -> None:
            if names is None or name in names:
                line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
                elements.append(
                    Element(name, attributes, line, column, depth, "" if attributes is not None else "".join(texts))
                )
            texts.clear()

        def begin(name: str, attributes: Mapping[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > _DEEPEST:
                refuse("elements are nested too deeply", name, f"{_DEEPEST} at most")
            add(name, attributes)

        def end(name: str) -> None:
            nonlocal depth
            add(name, None)
            depth -= 1

        def entity(name: str, *_: Any) -> NoReturn:
            refuse("an entity is declared, which could expand without bound", name, _NO_ENTITIES)

        def skipped(name: str, _: bool) -> None:
            refuse("an entity that the file does not declare", f"&{name};", _NO_ENTITIES)

        parser.StartElementHandler = begin
        parser.EndElementHandler = end
        parser.CharacterDataHandler = texts.append
        parser.EntityDeclHandler = entity
        parser.SkippedEntityHandler = skipped
        fed = 0
        view = memoryview(bytearray(BLOCK_BYTES))
        with byte_stream(self.file.parts) as stream:
            while True:
                try:
                    size = stream.readinto(view)
                    with _worded(str(self.file), parser, f"XML of {self.role}", "Is the file complete?"):
                        parser.Parse(bytes(view[:size]), size == 0)
                    fed += size
                    if fed - parser.CurrentByteIndex > LONGEST_TEXT or sum(map(len, texts)) > LONGEST_TEXT:
                        refuse("a tag or text without end", f"more than {LONGEST_TEXT:,} bytes", f"XML of {self.role}")
                except BrokenStream as broken:
                    raise broken.at_line(parser.CurrentLineNumber) from None
                self._crlf = self._crlf or int(b"\r\n" in view[:size].tobytes())
                self.lines = self._crlf  # the ends of lines are those of the file as a whole
                self._show_progress(stream.consumed)
                yield from elements
                elements.clear()
                if not size:
                    return
