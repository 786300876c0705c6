"""Elements of an XML file of terms, in the order of the file, without the tree in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from cuihop.errors import InputError
from cuihop_loader.streams import BLOCK_BYTES, BrokenStream, byte_stream
from cuihop_loader.term_lines import TextTermFile

__all__ = ["Element", "XmlTermFile"]


class Element(NamedTuple):
    """The beginning or end of an element.

    Attributes:
        name: with its prefix.
        attributes: ``None`` at the end of the element.
        line, column: of its first character, from 1.
    """

    name: str
    attributes: Mapping[str, str] | None
    line: int
    column: int


class XmlTermFile(TextTermFile):
    """The part that formats in XML share of a `cuihop_loader.terms.TermFile`."""

    def elements(self) -> Iterator[Element]:
        """Beginnings and ends of elements. A document type is accepted, entities of the file's own are not.

        Raises:
            InputError: the file cannot be read, is not well-formed, or declares an entity.
        """
        found: list[Element] = []
        parser = expat.ParserCreate()
        parser.buffer_text = True

        def add(name: str, attributes: Mapping[str, str] | None = None) -> None:
            found.append(Element(name, attributes, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1))

        def entity(name: str, *_: Any) -> NoReturn:
            raise InputError(
                "an entity is declared, which could expand without bound", file=str(self.file),
                line=parser.CurrentLineNumber, column=parser.CurrentColumnNumber + 1, found=name,
                expected="text without entities of its own",
            )  # fmt: skip

        parser.StartElementHandler = add
        parser.EndElementHandler = add
        parser.EntityDeclHandler = entity
        view = memoryview(bytearray(BLOCK_BYTES))
        with byte_stream(self.file.parts) as stream:
            while True:
                try:
                    size = stream.readinto(view)
                    parser.Parse(bytes(view[:size]), size == 0)
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
