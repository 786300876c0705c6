"""XML checked while another parser reads it: well-formed, not too deep, without entities that expand without bound."""

from __future__ import annotations

import io
from typing import Any, BinaryIO
from xml.parsers import expat

from cuihop.errors import InputError

DEEPEST = 500
"""Elements within elements."""

LONGEST_ENTITY = 256
"""Characters of an entity, which may not hold other entities; Protégé declares prefixes of IRIs in this way."""

LONGEST_TEXT = 16 << 20
"""Bytes of a tag, or of the text up to the next: a parser holds it in memory."""

_SIMPLE = "entities of the file's own with plain text"


class CheckedXml(io.RawIOBase):
    """The bytes of an XML file, each checked before another parser sees it.

    Args:
        source: the bytes.
        name: of the file, for errors.
    """

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
            try:
                self._parser.Parse(data, self._ended)
            except expat.ExpatError as error:
                raise InputError(
                    "not well-formed XML", file=self._name, line=error.lineno, column=error.offset + 1,
                    found=expat.errors.messages[error.code], expected="a whole XML file", advice="Download it again",
                ) from None  # fmt: skip
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

    def _refused(self, problem: str, found: str, expected: str) -> InputError:
        return InputError(
            problem, file=self._name, line=self._parser.CurrentLineNumber,
            column=self._parser.CurrentColumnNumber + 1, found=found, expected=expected,
        )  # fmt: skip
