"""A JSON document read piece by piece, in little memory, with the line and column of an error."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import orjson

from cuihop.errors import InputError
from cuihop_loader._kernels.splitting import end_of_object

LARGEST_VALUE = 64 << 20
"""Characters of one value that is read at once: a term, an edge, a header."""

_WINDOW = 1 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SHOWN = 40
_DOWNLOAD = "Download it again"
_NO_BYTES = np.empty(0, dtype=np.uint8)


class JsonStream:
    """A cursor over one JSON document, which moves from its beginning to its end.

    Attributes:
        line, column: of the value that `value` returned last, or of the cursor before the first; from 1.
    """

    def __init__(self, source: BinaryIO, name: str) -> None:
        self._source = source
        self._name = name
        self._decode_bytes = codecs.getincrementaldecoder("utf-8")().decode
        self._decode_value = json.JSONDecoder().raw_decode
        self._bytes = _NO_BYTES  # the text, where it is ASCII
        self._text = ""
        self._at = 0
        self._ended = False
        self._counted = 0  # characters of the text whose line ends are counted
        self._begin = 0  # of the line of that character; negative where it is before the text
        self._lines = 1
        self.line = self.column = 1

    def members(self) -> Iterator[str]:
        """Names of an object's members; the caller reads the value of each before the next.

        Raises:
            InputError: the document breaks the syntax of JSON, or ends here.
        """
        for _ in self._each("{", "}", "an object"):
            if self._next() != '"':
                raise self._error("not JSON", self._at, "the name of a member in quotation marks")
            end = self._text.find('"', self._at + 1)
            name = self._text[self._at + 1 : end]
            if end > 0 and name.isprintable() and "\\" not in name:
                self._at = end + 1
            else:
                name = self.value()
            self._take(":", "a colon")
            yield name

    def items(self) -> Iterator[None]:
        """Once for each item of an array; the caller reads each before the next.

        Raises:
            InputError: the document breaks the syntax of JSON, or ends here.
        """
        return self._each("[", "]", "an array")

    def _each(self, opening: str, closing: str, expected: str) -> Iterator[None]:
        self._take(opening, expected)
        if self._next() == closing:
            self._at += 1
            return
        while True:
            yield
            sign = self._next()
            if sign not in (",", closing) or not sign:
                raise self._error("not JSON", self._at, f"a comma or '{closing}'")
            self._at += 1
            if sign == closing:
                return

    def value(self) -> Any:
        """The next value, complete.

        Raises:
            InputError: it breaks the syntax of JSON, is larger than `LARGEST_VALUE` or nested too deeply.
        """
        sign = self._next()
        self.line, self.column = self._position(self._at)
        if sign == "{" and (decoded := self._object()) is not None:
            return decoded
        while True:
            try:
                value, end = self._decode_value(self._text, self._at)
            except json.JSONDecodeError as error:
                beyond = error.pos - self._at
                if self._more():
                    continue
                _, _, expected = error.msg.partition("Expecting ")
                raise self._error("not JSON", self._at + beyond, expected or "a whole value") from None
            except RecursionError:
                raise self._error("values within values", self._at, "some hundred levels at most") from None
            except ValueError as error:  # a number of thousands of digits
                raise self._error("not a number", self._at, str(error)) from None
            if end == len(self._text) and self._more():
                continue  # a number may continue
            if self._text.find("\\u", self._at, end) >= 0 and _LONE_SURROGATE.search(
                json.dumps(value, ensure_ascii=False)
            ):
                raise self._error("half of a surrogate pair", self._at, "Unicode text")
            self._at = end
            return value

    def _object(self) -> dict[str, Any] | None:
        """The object at the cursor, decoded by orjson in a third of the time; ``None`` where `value` has to look.

        What orjson refuses is decoded again, for the position of the error. It accepts no more than JSON.
        """
        end = end_of_object(self._bytes, self._at) if len(self._bytes) else 0
        if not end:
            return None
        try:
            decoded: dict[str, Any] = orjson.loads(self._text[self._at : end])
        except ValueError:
            return None
        self._at = end
        return decoded

    def end(self) -> None:
        """Check that nothing follows the document.

        Raises:
            InputError: something does.
        """
        if self._next():
            raise self._error("text after the JSON document", self._at, "the end of the file")

    def _take(self, sign: str, expected: str) -> None:
        if self._next() != sign:
            raise self._error("not JSON" if self._text else "an empty file", self._at, expected)
        self._at += 1

    def _next(self) -> str:
        """The next character that is no white space; empty at the end."""
        if self._at < len(self._text) and (sign := self._text[self._at]) > " ":
            return sign
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Read on, at least as much as is waiting; false at the end of the file."""
        if self._ended:
            return False
        waiting = len(self._text) - self._at
        if waiting > LARGEST_VALUE:
            raise self._error("a value that is too large", self._at, f"{LARGEST_VALUE:,} characters at most")
        self._position(self._at)
        data = self._source.read(max(_WINDOW, waiting))
        self._ended = not data
        try:
            text = self._decode_bytes(data, self._ended)
        except UnicodeDecodeError as error:
            self._text = self._text[self._at :] + error.object[: error.start].decode()
            self._moved()
            actual = f"byte 0x{error.object[error.start]:02X}"
            raise self._error("not UTF-8", len(self._text), "UTF-8 text", actual) from None
        self._text = self._text[self._at :] + text
        self._moved()
        self._bytes = np.frombuffer(self._text.encode(), dtype=np.uint8) if self._text.isascii() else _NO_BYTES
        return bool(text) or self._more()

    def _moved(self) -> None:
        """Count positions from the cursor, where the text now begins."""
        self._begin -= self._at
        self._at = self._counted = 0

    def _position(self, index: int) -> tuple[int, int]:
        """Line and column of an index at or after the last one that was counted."""
        ends = self._text.count("\n", self._counted, index)
        if ends:
            self._lines += ends
            self._begin = self._text.rfind("\n", self._counted, index) + 1
        self._counted = index
        return self._lines, index - self._begin + 1

    def _error(self, problem: str, index: int, expected: str, actual: str | None = None) -> InputError:
        line, column = self._position(index)
        rest = beginning_of(self._text[index : index + _SHOWN + 1])
        return InputError(
            problem, file=self._name, line=line, column=column, found=actual or (repr(rest) if rest else "its end"),
            expected=expected, advice=None if rest else _DOWNLOAD,
        )  # fmt: skip


def beginning_of(text: str) -> str:
    """The text for a message, cut if it is long."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
