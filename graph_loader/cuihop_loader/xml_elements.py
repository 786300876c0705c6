"""Elements of an XML file of terms, in the order of the file, without the tree in memory."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from cuihop.errors import InputError
from cuihop_loader.streams import BLOCK_BYTES, BrokenStream, byte_stream
from cuihop_loader.term_lines import TextTermFile
from cuihop_loader.xml_guard import LONGEST_TEXT

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


class XmlTermFile(TextTermFile):
    """The part that formats in XML share of a `cuihop_loader.terms.TermFile`."""

    def elements(self, wanted: Container[str] | None = None) -> Iterator[Element]:
        """Beginnings and ends of elements. A document type is accepted, entities of the file's own are not.

        Args:
            wanted: names of the elements to give; ``None`` for all.

        Raises:
            InputError: the file cannot be read, is not well-formed, declares or uses an entity, is nested deeper than
                64 elements, or has a tag or text of more than 16 MB.
        """
        found: list[Element] = []
        parser = expat.ParserCreate()
        parser.buffer_text = True

        texts: list[str] = []
        depth = 0

        def fault(problem: str, found: str, expected: str) -> NoReturn:
            line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
            raise InputError(problem, file=str(self.file), line=line, column=column, found=found, expected=expected)

        def add(name: str, attributes: Mapping[str, str] | None) -> None:
            if wanted is None or name in wanted:
                line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
                found.append(
                    Element(name, attributes, line, column, depth, "" if attributes is not None else "".join(texts))
                )
            texts.clear()

        def begin(name: str, attributes: Mapping[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > _DEEPEST:
                fault("elements are nested too deeply", name, f"{_DEEPEST} at most")
            add(name, attributes)

        def end(name: str) -> None:
            nonlocal depth
            add(name, None)
            depth -= 1

        def entity(name: str, *_: Any) -> NoReturn:
            fault("an entity is declared, which could expand without bound", name, _NO_ENTITIES)

        def skipped(name: str, _: bool) -> None:
            fault("an entity that the file does not declare", f"&{name};", _NO_ENTITIES)

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
                    parser.Parse(bytes(view[:size]), size == 0)
                    fed += size
                    if fed - parser.CurrentByteIndex > LONGEST_TEXT or sum(map(len, texts)) > LONGEST_TEXT:
                        fault("a tag or text without end", f"more than {LONGEST_TEXT:,} bytes", f"XML of {self.role}")
                except BrokenStream as broken:
                    raise broken.at_line(parser.CurrentLineNumber) from None
                except expat.ExpatError as error:
                    raise InputError(
                        "not well-formed XML", file=str(self.file), line=error.lineno, column=error.offset + 1,
                        found=expat.errors.messages[error.code], expected=f"XML of {self.role}",
                        advice="Is the file complete?",
                    ) from None  # fmt: skip
                self._crlf = self._crlf or int(b"\r\n" in view[:size].tobytes())
                self.lines = self._crlf  # the ends of lines are those of the file as a whole
                self.bytes = stream.consumed
                if self._progress is not None:
                    self._progress(str(self.file), self.bytes, self.file.size)
                yield from found
                found.clear()
                if not size:
                    return
